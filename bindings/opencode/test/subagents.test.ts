// Sessions that OpenCode's Task tool starts: each has its own frame, context and end.

import assert from "node:assert/strict"
import { test } from "node:test"
import { answers, byTask, call, contextOf, PLUGIN, scenario, task, until } from "./harness/index.js"

const ONE = { description: "look at the parser", prompt: "Inspect the parser", subagent_type: "general" }
const TWO = { description: "look at the printer", prompt: "Inspect the printer", subagent_type: "general" }

test("two subagents at once: each has its own context, a frame below the right parent, and an end", async (t) => {
  const { model, server, frames, logged } = await scenario(
    t,
    byTask({
      "Look around": [
        {
          calls: [
            { tool: "task", arguments: ONE },
            { tool: "task", arguments: TWO },
          ],
        },
        (request) => ({ text: answers(request).join("; ") }),
      ],
      "Inspect the parser": [
        call("stack_add_decision", { decision: "The parser stays" }),
        { text: "The parser has three modules" },
      ],
      "Inspect the printer": [
        call("stack_add_decision", { decision: "The printer goes" }),
        { text: "The printer has two modules" },
      ],
    }),
    { plugin: [PLUGIN, { subagents: { idleCompletionDelay: 300 } }] },
  )
  const { sessionID, text } = await server.prompt("Look around")
  assert.match(text, /three modules[\s\S]*two modules/)
  const root = frames().get("Test")
  const requests = model.requests.filter(({ purpose }) => purpose === "work")
  const handles = new Map<string, string>()
  for (const request of requests) {
    const { stable, volatile } = contextOf(request)
    const handle = /<stack-context session="(f\d)">/.exec(stable)?.[1] ?? "none"
    assert.match(volatile, new RegExp(`<stack-now session="${handle}">`), "both parts are of one frame")
    assert.equal(handles.get(request.sessionID) ?? handle, handle, "a session keeps its frame")
    handles.set(request.sessionID, handle)
  }
  assert.equal(new Set(handles.values()).size, 3, "no two sessions share a frame")
  assert.equal(handles.get(sessionID), "f1")

  const subagents = await until("both are done", () => {
    const found = [...frames().values()].filter((frame) => frame.sessionID !== root?.sessionID)
    return found.every(({ status }) => status === "completed") && found
  })
  assert.deepEqual(
    subagents.map(({ parentSessionID }) => parentSessionID),
    [sessionID, sessionID],
  )
  const about = (word: string) => subagents.find(({ title }) => title.includes(word))
  assert.deepEqual(
    [about("parser")?.results, about("parser")?.decisions],
    ["The parser has three modules", ["The parser stays"]],
  )
  assert.deepEqual(
    [about("printer")?.results, about("printer")?.decisions],
    ["The printer has two modules", ["The printer goes"]],
  )
  assert.equal(about("parser")?.successCriteria, "Inspect the parser")
  for (const line of ["Subagent detected", "Subagent completed"]) await logged(line)
  assert.equal(frames().get("Test")?.status, "in_progress")
})

test("with subagents disabled, sessions of the Task tool have neither frame nor context", async (t) => {
  const { model, server, frames } = await scenario(
    t,
    byTask({ "Look around": [call("task", ONE), { text: "Seen" }], "Inspect the parser": [{ text: "Three modules" }] }),
    { env: { STACK_SUBAGENT_ENABLED: "false" } },
  )
  await server.prompt("Look around")
  assert.deepEqual([...frames().keys()], ["Test"])
  const child = model.requests.find(({ messages }) => messages[0]?.text.includes("Inspect the parser"))
  assert.deepEqual(contextOf(child), { stable: "", volatile: "" })
})

test("a call by a subagent creates a frame below the subagent's frame", async (t) => {
  const { server, frames } = await scenario(
    t,
    byTask({
      "Look around": [call("task", ONE), { text: "Seen" }],
      "Inspect the parser": [
        call("stack_frame_push", task("Tokens")),
        (request) => ({ text: answers(request)[0] ?? "" }),
      ],
      Tokens: [call("stack_frame_pop", { status: "completed", results: "Nine kinds", resultsCompacted: "nine" })],
    }),
  )
  await server.prompt("Look around")
  const found = frames()
  const subagent = [...found.values()].find(({ title }) => title.includes("parser"))
  assert.equal(found.get("Tokens")?.parentSessionID, subagent?.sessionID)
  assert.equal(found.get("Tokens")?.results, "Nine kinds")
})
