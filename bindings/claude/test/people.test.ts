// The actions of a person in another terminal reach the sessions that run.

import assert from "node:assert/strict"
import { join } from "node:path"
import test from "node:test"
import {
  call,
  callstack,
  frameOf,
  type ModelRequest,
  pop,
  push,
  type Running,
  readJson,
  running,
  until,
} from "./harness/index.js"

/** Waits until a frame asks the model. */
function asks({ world }: Running, frame: string): Promise<ModelRequest> {
  return world.model.waitFor((request) => frameOf(request) === frame)
}

/** Checks that a request was given up, and that its frame made no more requests. */
async function isGivenUp({ world }: Running, request: ModelRequest): Promise<void> {
  await until(() => request.gaveUp === true, "the request is given up", 5000)
  const { session } = request
  assert.equal(world.model.asked.filter((other) => other.session === session).at(-1), request)
}

test("callstack stop, invalidate and pop reach sessions that run, and their parent goes on", () => {
  let results: string[] = []
  return running(
    {
      f1: [
        { calls: ["Stopped", "Invalidated", "Popped"].map((title) => push(title)) },
        ({ news }) => {
          results = news.map(({ text }) => text).sort()
          return { calls: [pop("Went on")] }
        },
      ],
      f2: [{ text: "I have half of it", hang: "stream" }],
      f3: [{ hang: "headers" }],
      f4: [{ hang: "headers" }],
    },
    async (all) => {
      const { flame, world } = all
      const outcome = flame.run("Be disturbed")
      const requests = await Promise.all(["f2", "f3", "f4"].map((frame) => asks(all, frame)))
      await until(
        () => all.events.some(({ kind, frame }) => kind === "text" && frame === "f2"),
        "f2 has said something",
      )
      const tree = await callstack(world.folder, "tree", "--json")
      const { data } = readJson<{ data: { counts: Record<string, number> } }>(tree.stdout)
      assert.deepEqual(data.counts, { in_progress: 4 })
      const commands = [
        ["stop", "f2", "--reason", "too slow"],
        ["invalidate", "f3", "not needed"],
        ["pop", "f4", "--results", "Done by hand"],
      ]
      for (const command of commands) {
        const { code, stderr } = await callstack(world.folder, ...command)
        assert.equal(code, 0, `${command.join(" ")}: ${stderr}`)
      }
      await Promise.all(requests.map((request) => isGivenUp(all, request)))
      const { frame } = await outcome
      assert.equal(frame.results, "Went on")
      assert.match(results[0] ?? "", /f2 \(Stopped\) is blocked[\s\S]*stopped: too slow[\s\S]*\] I have half of it/)
      assert.match(results[1] ?? "", /f3 \(Invalidated\) is invalidated/)
      assert.match(results[2] ?? "", /f4 \(Popped\) is completed[\s\S]*Done by hand/)
      const ended = all.events.flatMap((event) =>
        event.kind === "ended" ? [[event.frame, event.status, event.reason ?? event.results]] : [],
      )
      assert.deepEqual(ended, [
        ["f2", "blocked", "It was stopped: too slow"],
        ["f3", "invalidated", "not needed"],
        ["f4", "completed", "Done by hand"],
        ["f1", "completed", "Went on"],
      ])
    },
  )
})

test("a stop that a message of the stopped session finds first ends the run", () =>
  running(
    {
      f1: [
        async (_, { folder }) => {
          await callstack(folder, "stop", "f1", "--reason", "enough")
          return { text: "I go on", calls: [call("Read", { file_path: join(folder, "none.txt") })] }
        },
      ],
    },
    async ({ flame }) => {
      const { frame } = await flame.run("Be stopped")
      assert.equal(frame.status, "blocked")
      assert.match(frame.questions?.at(-1)?.question ?? "", /enough/)
    },
  ))
