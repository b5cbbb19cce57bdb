// Parallel tool calls lose no change.

import assert from "node:assert/strict"
import { test } from "node:test"
import { answers, byTask, call, done, scenario, task } from "./harness/index.js"

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

test("ten steps of parallel artifacts and decisions record all 20", async (t) => {
  const { server, frames } = await scenario(
    t,
    byTask({
      Record: numbers(10).map((step) => ({
        calls: [
          { tool: "stack_add_artifact", arguments: { artifact: `artifact-${step}` } },
          { tool: "stack_add_decision", arguments: { decision: `decision ${step}` } },
        ],
      })),
    }),
  )
  await server.prompt("Record")
  const frame = frames().get("Test")
  assert.deepEqual(
    frame?.artifacts,
    numbers(10).map((step) => `artifact-${step}`),
  )
  assert.deepEqual(
    frame?.decisions,
    numbers(10).map((step) => `decision ${step}`),
  )
})

test("twenty parallel pushes: every child has its own session, and every call gets its own answer", async (t) => {
  const pushes = numbers(20).map((number) => ({ tool: "stack_frame_push", arguments: task(`Part ${number}!`) }))
  const children = numbers(20).map(
    (number) => [`Part ${number}!`, [call("stack_frame_pop", done(`part ${number} is done`))]] as const,
  )
  const { model, server, frames } = await scenario(
    t,
    byTask({
      "Build it": [{ calls: pushes }, (request) => ({ text: answers(request).join("\n") })],
      ...Object.fromEntries(children),
    }),
  )
  const { sessionID, text } = await server.prompt("Build it")
  const found = frames()
  assert.equal(found.size, 21)
  const sessions = new Set<string>()
  for (const number of numbers(20)) {
    const frame = found.get(`Part ${number}!`)
    assert.deepEqual(
      [frame?.status, frame?.results, frame?.parentSessionID],
      ["completed", `part ${number} is done`, sessionID],
    )
    assert.match(text, new RegExp(`\\(Part ${number}!\\) is completed\\.\\nResults: part ${number} is done\\n`))
    sessions.add(frame?.sessionID ?? "")
  }
  assert.equal(sessions.size, 20)
  assert.equal(new Set(model.requests.map((request) => request.sessionID)).size, 21)
})
