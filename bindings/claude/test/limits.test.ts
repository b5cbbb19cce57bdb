// What frames may spend: turns, dollars and tokens; and what they have cost.

import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import type { ModelUsage } from "callstack-core"
import { Flame } from "callstack-flame"
import {
  type Answer,
  call,
  type ModelRequest,
  pop,
  priceOf,
  push,
  running,
  stack,
  type Usage,
  until,
  type World,
} from "./harness/index.js"

const read = (_: ModelRequest, { folder }: World): Answer => ({
  calls: [call("Read", { file_path: join(folder, "a.ts") })],
})
const activate = (sessionID: string): Answer => ({ calls: [stack("frame_activate", { sessionID })] })

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

test("a long conversation in a longer window is not told to end", () => {
  const seen: string[] = []
  const long = { input: 95_000 }
  const noted = (request: ModelRequest, answer: Answer): Answer => {
    seen.push(JSON.stringify(request))
    return { ...answer, usage: long }
  }
  const looking = (request: ModelRequest, world: World): Answer => noted(request, read(request, world))
  const ending = (request: ModelRequest): Answer => noted(request, { calls: [pop("Read it")] })
  return running({ f1: [looking, looking, looking, ending] }, async ({ flame, world }) => {
    writeFileSync(join(world.folder, "a.ts"), "// nothing\n")
    const { frame } = await flame.run("Look")
    assert.equal(frame.status, "completed")
    assert.equal(seen.length, 4)
    const told = seen.filter((request) => /STACK SUGGESTION: (?!start a child)/.test(request))
    assert.equal(told.length, 0, told[0])
  })
})

test("a frame over its dollars is stopped with all below it, and its parent learns why", () => {
  const results: string[] = []
  return running(
    {
      f1: [activate("f2"), noting(results, activate("f2")), noting(results, { calls: [pop("Too expensive")] })],
      f2: [{ calls: [push("Below")] }],
      f3: [(request, world) => ({ ...read(request, world), usage: { output: 100_000 } })],
    },
    async ({ flame, world, events }) => {
      const root = flame.plan({ goal: "Spend little" })
      flame.plan({ goal: "Spend", parent: root, maxBudgetUsd: 0.5 })
      const { frame } = await flame.activate(root)
      assert.equal(frame.results, "Too expensive")
      const spent = /its budget of 0.5 US dollars is spent: 1.0\d+ with all frames below it/
      for (const handle of ["f2", "f3"]) {
        assert.equal(flame.stack.frame(handle).status, "blocked")
        assert.match(flame.stack.frame(handle).results ?? "", spent)
      }
      assert.match(results[0] ?? "", spent)
      // When the frame is begun again, it costs no request.
      assert.match(results[1] ?? "", spent)
      assert.equal(world.model.asked.length, 5)
      const over = events.flatMap((event) => (event.kind === "overspent" ? [event.frame] : []))
      assert.deepEqual(over, ["f2"])
      const { ownCostUsd, totalCostUsd } = flame.usage("f2")
      assert.ok(ownCostUsd < 0.01 && totalCostUsd > 1)
    },
  )
})

test("the dollars of sessions that run count, also those of a parent that waits", () =>
  running(
    {
      f1: [{ calls: [push("First")], usage: { output: 60_000 } }, { calls: [push("Second"), push("Third")] }],
      f2: [{ calls: [pop("First is done")], usage: { output: 1000 } }],
      f3: [read, { hang: "headers" }],
      f4: [(request, world) => ({ ...read(request, world), usage: { output: 60_000 } }), { hang: "headers" }],
    },
    async ({ flame, world }) => {
      writeFileSync(join(world.folder, "a.ts"), "// nothing\n")
      const { frame } = await flame.run("Spend a dollar")
      assert.match(frame.results ?? "", /its budget of 1 US dollars is spent: 1\.2/)
      for (const handle of ["f3", "f4"]) assert.equal(flame.stack.frame(handle).status, "blocked")
      const { totalCostUsd } = flame.usage("f1")
      assert.ok(totalCostUsd < 1.3, `${totalCostUsd} dollars were spent`)
    },
    { maxBudgetUsd: 1 },
  ))

test("what another process has spent counts, and its limits hold", () =>
  running({ f1: [{ calls: [pop("Done")] }] }, async ({ flame, world }) => {
    const root = flame.plan({ goal: "Share a budget", maxTokens: 5000 })
    const other = new Flame({ directory: world.folder, tools: ["Read"] })
    await other.activate(root)
    await other.close()
    flame.stack.refresh()
    await until(() => flame.usage(root).totalCostUsd > 0, "the cost is seen here")
    assert.deepEqual(flame.stack.frame(root).limits, { tools: ["Read"], maxTokens: 5000 })
    const offered = new Set(world.model.asked[0]?.tools)
    assert.deepEqual(
      ["Read", "Write", "Bash"].map((tool) => offered.has(tool)),
      [true, false, false],
    )
  }))

test("wrong limits are refused before anything is planned", () =>
  running({}, async ({ flame, world }) => {
    for (const limits of [{ maxTokens: Number.NaN }, { maxTurns: 0 }, { maxBudgetUsd: -1 }]) {
      assert.throws(() => flame.plan({ goal: "Nothing", ...limits }), /give a positive number/)
      assert.throws(() => new Flame({ directory: world.folder, ...limits }), /give a positive number/)
    }
    assert.throws(() => new Flame({ directory: world.folder, maxConcurrent: 1.5 }), /maxConcurrent|invalid/)
    assert.equal(flame.stack.handles().length, 0)
    await flame.close()
  }))

test("a subtree over its tokens is stopped and keeps what it has", () => {
  const results: string[] = []
  return running(
    {
      f1: [activate("f2"), noting(results, { calls: [pop("Too long")] })],
      f2: [{ text: "First the words", calls: [push("Below")] }],
      f3: [
        (request, world) => ({
          ...read(request, world),
          text: "I have begun",
          usage: { input: 300, cacheRead: 700 },
        }),
        { hang: "headers" },
      ],
    },
    async ({ flame, events }) => {
      const root = flame.plan({ goal: "Talk little" })
      flame.plan({ goal: "Talk", parent: root, maxTokens: 1000 })
      const { frame } = await flame.activate(root)
      assert.equal(frame.results, "Too long")
      const spent = /its budget of 1000 tokens is spent: 1120 with all frames below it/
      assert.match(results[0] ?? "", spent)
      const [above, below] = ["f2", "f3"].map((handle) => flame.stack.frame(handle).results ?? "")
      for (const text of [above, below]) assert.match(text ?? "", spent)
      assert.match(above ?? "", /\] First the words$/)
      assert.match(below ?? "", /\] I have begun$/)
      const over = events.flatMap((event) => (event.kind === "overspent" ? [event.frame] : []))
      assert.deepEqual(over, ["f2"])
    },
  )
})

function sumOf(usages: readonly ModelUsage[]): Usage {
  const sum = (key: "uncachedInput" | "output" | "cacheRead" | "cacheWrite") =>
    usages.reduce((total, usage) => total + usage[key], 0)
  return {
    input: sum("uncachedInput"),
    output: sum("output"),
    cacheRead: sum("cacheRead"),
    cacheWrite: sum("cacheWrite"),
  }
}

/** Checks the tokens and dollars of each frame, and of all together. */
function checkCosts(flame: Flame, { model }: World, handles: readonly string[]): void {
  for (const handle of handles) {
    const { own, ownCostUsd } = flame.usage(handle)
    const charged = model.charged(flame.stack.frame(handle).sessionID)
    assert.deepEqual(sumOf(own), charged, handle)
    assert.ok(Math.abs(ownCostUsd - priceOf(charged)) < 1e-5, `${handle}: ${ownCostUsd} for ${JSON.stringify(charged)}`)
  }
  const { total, totalCostUsd } = flame.usage("f1")
  assert.deepEqual(sumOf(total), model.charged())
  assert.ok(Math.abs(totalCostUsd - priceOf(model.charged())) < 1e-5)
}

test("frames cost what the model has charged, also for summaries and over resumes", () => {
  const summary = { summary: "Half of it is done, the rest is open", artifacts: [], decisions: [] }
  return running(
    {
      f1: [
        { calls: [push("Child")], usage: { input: 11, output: 12, cacheRead: 13, cacheWrite: 14 } },
        activate("f2"),
        { hang: "stream", text: "lost", usage: { input: 1000 } },
        { calls: [pop("At last")], usage: { input: 71, cacheRead: 700 } },
      ],
      f2: [
        { calls: [push("Below")], thinking: "Hm", usage: { input: 21, output: 22 } },
        { text: "Done, I think", usage: { input: 31, output: 32 } },
        { calls: [call("StructuredOutput", summary)], usage: { input: 41 } },
        { calls: [pop("Whole")], usage: { input: 51, cacheRead: 5000 } },
      ],
      f3: [{ calls: [pop("Below is done")], usage: { input: 61, cacheWrite: 9 } }],
    },
    async ({ flame, world, events }) => {
      const handles = ["f1", "f2", "f3"]
      const outcome = flame.run("Count")
      await until(() => events.some((event) => event.kind === "text" && event.text === "lost"), "f1 has said something")
      await flame.stop("enough")
      await outcome
      checkCosts(flame, world, handles)
      const requests = events.flatMap((event) => (event.kind === "usage" ? [event.request] : []))
      assert.equal(requests.length, world.model.asked.length)
      assert.equal(
        requests.reduce((sum, { output = 0 }) => sum + output, 0),
        world.model.charged().output,
      )

      const again = new Flame({ directory: world.folder, model: "claude-sonnet-5" })
      const [resumed] = await again.resume()
      assert.equal(resumed?.frame.results, "At last")
      checkCosts(again, world, handles)
      await again.close()
    },
  )
})
