// What frames may spend: turns, dollars and tokens; and what they have cost.

import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { type Answer, call, type ModelRequest, pop, push, running, stack, type World } from "./harness/index.js"

const read = (_: ModelRequest, { folder }: World): Answer => ({
  calls: [call("Read", { file_path: join(folder, "a.ts") })],
})
const activate = (sessionID: string, more: object = {}) => ({
  calls: [stack("frame_activate", { sessionID, ...more })],
})

/** Keeps the newest result of a tool. */
function noting(results: string[], answer: Answer) {
  return ({ news }: ModelRequest): Answer => {
    results.push(...news.map(({ text }) => text))
    return answer
  }
}

test("a frame that loops is stopped after its turns, and goes on with as many again", () => {
  const results: string[] = []
  return running(
    {
      f1: [
        { calls: [push("Loop")] },
        noting(results, activate("f2")),
        noting(results, { calls: [pop("It was a loop")] }),
      ],
      f2: [read, read, read, read, { calls: [pop("Read it often")] }],
    },
    async ({ flame, world }) => {
      writeFileSync(join(world.folder, "a.ts"), "// nothing\n")
      const { frame } = await flame.run("Look")
      assert.equal(frame.results, "It was a loop")
      assert.match(results[0] ?? "", /f2 \(Loop\) is blocked[\s\S]*maximum number of turns \(3\)[\s\S]*as many again/)
      assert.match(results[1] ?? "", /f2 \(Loop\) is completed[\s\S]*Read it often/)
    },
    { maxTurns: 3 },
  )
})

test("a frame over its dollars is stopped with all below it, and its parent learns why", () => {
  const results: string[] = []
  return running(
    {
      f1: [activate("f2"), noting(results, { calls: [pop("Too expensive")] })],
      f2: [{ calls: [push("Below")] }],
      f3: [{ ...read({} as ModelRequest, { folder: "." } as World), usage: { output: 100_000 } }],
    },
    async ({ flame, events }) => {
      const root = flame.plan({ goal: "Spend little" })
      flame.plan({ goal: "Spend", parent: root, maxBudgetUsd: 0.5 })
      const { frame } = await flame.activate(root)
      assert.equal(frame.results, "Too expensive")
      for (const handle of ["f2", "f3"]) assert.equal(flame.stack.frame(handle).status, "blocked")
      console.log(
        results,
        flame.stack.frame("f2").results,
        flame.stack.frame("f3").results,
        flame.usage(root),
        events.filter((e) => e.kind === "overspent"),
      )
    },
  )
})

test("a subtree over its tokens is stopped and keeps what it has", () => {
  const results: string[] = []
  return running(
    {
      f1: [activate("f2"), noting(results, { calls: [pop("Too long")] })],
      f2: [{ text: "First the words", calls: [push("Below")] }],
      f3: [
        {
          ...read({} as ModelRequest, { folder: "." } as World),
          text: "I have begun",
          usage: { input: 300, cacheRead: 700 },
        },
        { hang: "stream", text: "never whole" },
      ],
    },
    async ({ flame, events }) => {
      const root = flame.plan({ goal: "Talk little" })
      flame.plan({ goal: "Talk", parent: root, maxTokens: 1000 })
      const { frame } = await flame.activate(root)
      assert.equal(frame.results, "Too long")
      console.log(
        results,
        flame.stack.frame("f2").results,
        flame.stack.frame("f3").results,
        flame.usage(root),
        events.filter((e) => e.kind === "overspent"),
      )
    },
  )
})
