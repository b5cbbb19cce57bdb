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
    const handle = /<current-frame id="(f\d)"/.exec(volatile)?.[1] ?? "none"
    assert.doesNotMatch(stable, new RegExp(`<frame id="${handle}"`), "both parts are of one frame")
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

test("subagents are finished with their answers before the next request of their parent", async (t) => {
  const { model, server, frames } = await scenario(
    t,
    byTask({
      "Look around": [
        {
          calls: [
            { tool: "task", arguments: ONE },
            { tool: "task", arguments: TWO },
          ],
        },
        { text: "Seen" },
      ],
      "Inspect the parser": [{ text: "The parser has three modules" }],
      "Inspect the printer": [{ text: "The printer has two modules" }],
    }),
    { plugin: [PLUGIN, { subagents: { idleCompletionDelay: 3_600_000 } }] },
  )
  const { sessionID } = await server.prompt("Look around")
  const { stable, volatile } = contextOf(model.work(sessionID).at(-1))
  assert.doesNotMatch(volatile, /Child f\d|in_progress: finish/)
  assert.doesNotMatch(stable, /modules/, "the conversation has the answers")
  const found = [...frames().values()].filter(({ parentSessionID }) => parentSessionID === sessionID)
  assert.deepEqual(found.map(({ status, results }) => [status, results]).sort(), [
    ["completed", "The parser has three modules"],
    ["completed", "The printer has two modules"],
  ])
})

test("a task whose session is resumed by its ID has a second frame, with the second answer", async (t) => {
  const { server, frames } = await scenario(
    t,
    byTask({
      "Look around": [
        call("task", ONE),
        (request) => {
          const task_id = /<task id="(ses_\w+)"/.exec(answers(request)[0] ?? "")?.[1]
          return call("task", { ...ONE, prompt: "And the lexer?", task_id })
        },
        { text: "Seen" },
      ],
      "Inspect the parser": [{ text: "The parser has three modules" }, { text: "The lexer has nine kinds of tokens" }],
    }),
    { plugin: [PLUGIN, { subagents: { idleCompletionDelay: 3_600_000 } }] },
  )
  const { sessionID } = await server.prompt("Look around")
  const found = [...frames().values()].filter(({ parentSessionID }) => parentSessionID === sessionID)
  assert.deepEqual(
    found.map(({ status, successCriteria, results }) => [status, successCriteria, results]),
    [
      ["completed", "Inspect the parser", "The parser has three modules"],
      ["completed", "And the lexer?", "The lexer has nine kinds of tokens"],
    ],
  )
})

test("a subagent that fails is blocked with what it has left, and its parent is told", async (t) => {
  const { model, server, frames } = await scenario(
    t,
    byTask({
      "Look around": [call("task", ONE), (request) => ({ text: answers(request)[0] ?? "" })],
      "Inspect the parser": [
        { text: "I look into the parser", ...call("stack_add_decision", { decision: "The parser stays" }) },
        { status: 401, text: "the key has expired" },
      ],
    }),
    { plugin: [PLUGIN, { subagents: { idleCompletionDelay: 3_600_000 } }] },
  )
  const { sessionID, text } = await server.prompt("Look around")
  assert.match(text, /Subagent failed/)
  const child = await until("its messages are read", () => {
    const found = [...frames().values()].find(({ parentSessionID }) => parentSessionID === sessionID)
    return found?.status === "blocked" && found
  })
  assert.match(
    child.results ?? "",
    /^\[auto-completed: the tool that started it has failed: .*the key has expired; it worked for [^\]]*\] I look/,
  )
  assert.deepEqual(child.decisions, ["The parser stays"])
  assert.equal(model.failures.length, 0)
})

test("a subagent that is aborted with its parent is blocked, not finished", async (t) => {
  const { model, server, frames } = await scenario(
    t,
    byTask({
      "Look around": [call("task", ONE), { text: "Seen" }],
      "Inspect the parser": [
        call("stack_add_decision", { decision: "The parser stays" }),
        { text: "Too late", after: new Promise(() => undefined) },
      ],
    }),
    { plugin: [PLUGIN, { subagents: { idleCompletionDelay: 3_600_000 } }] },
  )
  const { data: session } = await server.client.session.create({ body: { title: "Test" } })
  const sessionID = session?.id ?? ""
  const prompted = server.prompt("Look around", sessionID)
  await until("the subagent waits for its second reply", () =>
    model.requests.some(({ messages }) => messages[0]?.text.includes("Inspect") && messages.length > 2),
  )
  await server.client.session.abort({ path: { id: sessionID } })
  await prompted
  const child = await until("its frame is blocked", () => {
    const found = [...frames().values()].find(({ parentSessionID }) => parentSessionID === sessionID)
    return found?.status === "blocked" && found
  })
  assert.match(child.results ?? "", /^\[auto-completed: the tool that started it has failed: .*abort/i)
})
