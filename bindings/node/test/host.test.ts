// A host with sessions: events, effects, tools, and contexts of sessions.

import assert from "node:assert/strict"
import { test } from "node:test"
import { type Effect, type HostEvent, Stack, type ToolNames } from "callstack-core"
import { fails, folder } from "./common.js"

const pick = <Kind extends Effect["kind"]>(effects: readonly Effect[], kind: Kind) =>
  effects.filter((effect): effect is Extract<Effect, { kind: Kind }> => effect.kind === kind)

function shop(): Stack {
  const stack = Stack.open(folder())
  assert.deepEqual(stack.configure({ calls: { maxDepth: 1 }, autonomy: { level: "manual" } }), [])
  stack.report({ kind: "sessionCreated", sessionID: "ses_1", title: "Shop" })
  stack.report({ kind: "message", sessionID: "ses_1", messageID: "m1", role: "user", text: "Build a shop" })
  return stack
}

test("a push runs in its own session, and its results answer it", () => {
  const stack = shop()
  const task = { title: "Cart 🛒", successCriteria: "Totals", successCriteriaCompacted: "totals" }
  const { text, call, isError, effects } = stack.tool("ses_1", "stack_frame_push", task)
  assert.deepEqual([text, isError], [undefined, false])
  assert.ok(call !== undefined)
  assert.deepEqual(pick(effects, "createSession"), [
    { kind: "createSession", call, parentID: "ses_1", title: "Cart 🛒" },
  ])
  const [prompt] = pick(stack.report({ kind: "callStarted", call, sessionID: "ses_2" }), "prompt")
  assert.match(prompt?.text ?? "", /frame f2: Cart 🛒/)
  const tooDeep = stack.tool("ses_2", "stack_frame_push", task)
  assert.ok(tooDeep.isError)
  assert.match(tooDeep.text ?? "", /the maximum depth is 1/)
  stack.tool("ses_2", "stack_frame_pop", { status: "completed", results: "It adds up", resultsCompacted: "adds up" })
  const [answer] = pick(stack.report({ kind: "callEnded", call }), "answer")
  assert.equal(answer?.call, call)
  assert.match(answer?.text ?? "", /^f2 \(Cart 🛒\) is completed\.\nResults: It adds up\n/)
  const messages = [{ id: "m1", role: "user", text: "Go", parts: [{ type: "text", text: "Go" }] }]
  stack.report({ kind: "sessionMessages", sessionID: "ses_2", messages })
  stack.report({
    kind: "sessionMessages",
    sessionID: "ses_2",
    messages: [...messages, { id: "m2", role: "assistant", text: "Done" }],
  })
  assert.deepEqual(
    stack.readLog("f2").lines.map(({ entry }) => (entry as { id?: string }).id),
    ["m1", "m2"],
  )
  stack.close()
})

test("a session has a context in two parts, or none", () => {
  const stack = shop()
  const context = stack.sessionContext("ses_1")
  assert.match(context?.stable ?? "", /^<stack-context>/)
  assert.match(context?.volatile ?? "", /^<stack-now>[\s\S]*<current-frame id="f1"/)
  assert.equal(stack.sessionContext("nobody"), undefined)
  assert.ok((stack.deadline() ?? Infinity) <= Date.now())
  assert.deepEqual(
    pick(stack.poll(), "log").map(({ message }) => message),
    ["Context generated"],
  )
  stack.close()
})

test("there are 39 tools, with schemas", () => {
  const tools = Stack.tools()
  assert.equal(tools.length, 39)
  for (const { name, parameters, description } of tools) {
    assert.equal(parameters.type, "object", name)
    assert.ok(description.length > 20, name)
  }
})

test("a host offers the standard tools, all, or those of a list", () => {
  const stack = shop()
  const all = Stack.tools().map(({ name }) => name)
  const offered = () => stack.offeredTools().map(({ name }) => name)
  assert.ok(offered().includes("stack_frame_push") && offered().length < 16)
  assert.deepEqual(stack.configure({ tools: ["stack_heap_alloc", "stack_tree"] }), [])
  assert.deepEqual(offered(), ["stack_tree", "stack_heap_alloc"])
  assert.match(stack.offeredTools()[1]?.description ?? "", /until it is freed/)
  assert.deepEqual(stack.configure({ tools: "all" }), [])
  assert.deepEqual(offered(), all)
  const [problem] = stack.configure({ tools: ["stack_frame_posh"] })
  assert.match(problem ?? "", /`tools`: unknown tool `stack_frame_posh`/)
  stack.close()
})

test("descriptions of tools mention the names of the host", () => {
  const tools = Stack.tools()
  assert.deepEqual(Stack.tools({}), tools)
  const allocate = (names: ToolNames) => Stack.tools(names).find(({ name }) => name === "stack_heap_alloc")?.description
  assert.match(allocate({ prefix: "mcp__callstack__" }) ?? "", /until mcp__callstack__stack_heap_free\./)
  assert.match(allocate({ heapFree: "forget" }) ?? "", /until forget\./)
  assert.match(allocate({ heapFree: null }) ?? "", /until it is freed\./)

  const unnamed = Stack.tools("none")
  assert.deepEqual(
    unnamed.map(({ name }) => name),
    tools.map(({ name }) => name),
  )
  for (const { description, parameters } of unnamed) {
    assert.doesNotMatch(description + JSON.stringify(parameters), /stack_/)
  }
  fails(() => Stack.tools({ posh: "a" } as unknown as ToolNames), "json")
  fails(() => Stack.tools(null as unknown as ToolNames), "json")
  const error = fails(() => Stack.tools({ push: "" }), "setting")
  assert.equal(error.details.name, "tools.push")
})

test("invalid events and settings are rejected", () => {
  const stack = shop()
  fails(() => stack.report({ kind: "sessionExploded" } as unknown as HostEvent), "json")
  assert.match(stack.configure({ calls: { maxDepth: -1 } })[0] ?? "", /`calls.maxDepth`/)
  assert.match(stack.tool("ses_1", "stack_frame_posh").text ?? "", /there is no such tool/)
  stack.close()
})
