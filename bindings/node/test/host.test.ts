// A host with sessions: events, effects, tools, and contexts of sessions; and the class that carries effects out.

import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import {
  type Effect,
  Host,
  type HostActions,
  type HostEvent,
  type HostLogLevel,
  type HostSettings,
  type SessionMessage,
  Stack,
  type ToolNames,
  type ToolQuery,
} from "callstack-core"
import { fails, folder } from "./common.js"

const pick = <Kind extends Effect["kind"]>(effects: readonly Effect[], kind: Kind) =>
  effects.filter((effect): effect is Extract<Effect, { kind: Kind }> => effect.kind === kind)

function shop(stack = Stack.open(folder())): Stack {
  assert.deepEqual(stack.configure({ calls: { maxDepth: 1 }, autonomy: { level: "manual" } }), [])
  stack.report({ kind: "sessionCreated", sessionID: "ses_1", title: "Shop" })
  stack.report({ kind: "message", sessionID: "ses_1", messageID: "m1", role: "user", text: "Build a shop" })
  return stack
}

test("a push runs in its own session, and its results answer it", () => {
  const stack = shop()
  const task = { title: "Cart 🛒", successCriteria: "Totals", successCriteriaCompacted: "totals" }
  const { text, call, isError, effects } = stack.tool("ses_1", { name: "stack_frame_push", arguments: task })
  assert.deepEqual([text, isError], [undefined, false])
  assert.ok(call !== undefined)
  assert.deepEqual(pick(effects, "createSession"), [
    { kind: "createSession", call, parentID: "ses_1", title: "Cart 🛒" },
  ])
  const [prompt] = pick(stack.report({ kind: "callStarted", call, sessionID: "ses_2" }), "prompt")
  assert.match(prompt?.text ?? "", /frame f2: Cart 🛒/)
  const tooDeep = stack.tool("ses_2", { name: "stack_frame_push", arguments: task })
  assert.ok(tooDeep.isError)
  assert.match(tooDeep.text ?? "", /the maximum depth is 1/)
  const pop = { status: "completed", results: "It adds up", resultsCompacted: "adds up" }
  stack.tool("ses_2", { name: "stack_frame_pop", arguments: pop })
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

test("a conversation goes through frames, and back to where a person sets it", () => {
  const stack = shop()
  assert.deepEqual(stack.configure({ calls: { in: "conversation" } }), [])
  assert.deepEqual([stack.place("ses_1"), stack.place("nobody")], ["f1", undefined])
  const task = { title: "Cart", successCriteria: "Totals", successCriteriaCompacted: "totals" }
  const { text = "" } = stack.tool("ses_1", { name: "stack_frame_push", arguments: task })
  assert.match(text, /\nYou are in f2 \(Cart\)\.$/)
  stack.report({ kind: "sessionSetBack", sessionID: "ses_1", answers: [text] })
  assert.equal(stack.place("ses_1"), "f2")
  stack.report({ kind: "sessionSetBack", sessionID: "ses_1", answers: [] })
  assert.deepEqual([stack.place("ses_1"), stack.frame("f2").status], ["f1", "blocked"])
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
    assert.equal(parameters["type"], "object", name)
    assert.ok(description.length > 20, name)
  }
})

test("a host offers the standard tools, all, or those of a list", () => {
  const stack = shop()
  const all = Stack.tools().map(({ name }) => name)
  const offered = () => stack.tools().map(({ name }) => name)
  assert.ok(offered().includes("stack_frame_push") && offered().length < 16)
  assert.deepEqual(stack.configure({ tools: ["stack_heap_alloc", "stack_tree"] }), [])
  assert.deepEqual(offered(), ["stack_tree", "stack_heap_alloc"])
  assert.match(stack.tools()[1]?.description ?? "", /until it is freed/)
  assert.deepEqual(stack.configure({ tools: "all" }), [])
  assert.deepEqual(offered(), all)
  const [problem] = stack.configure({ tools: ["stack_frame_posh"] })
  assert.match(problem ?? "", /`tools`: unknown tool `stack_frame_posh`/)
  stack.close()
})

test("descriptions of tools mention the names of the host", () => {
  const tools = Stack.tools()
  assert.deepEqual(Stack.tools({}), tools)
  assert.deepEqual(Stack.tools({ names: {} }), tools)
  const allocate = (names: ToolNames) =>
    Stack.tools({ names }).find(({ name }) => name === "stack_heap_alloc")?.description
  assert.match(allocate({ prefix: "mcp__callstack__" }) ?? "", /until mcp__callstack__stack_heap_free\./)
  assert.match(allocate({ heapFree: "forget" }) ?? "", /until forget\./)
  assert.match(allocate({ heapFree: null }) ?? "", /until it is freed\./)

  const unnamed = Stack.tools({ names: "none" })
  assert.deepEqual(
    unnamed.map(({ name }) => name),
    tools.map(({ name }) => name),
  )
  for (const { description, parameters } of unnamed) {
    assert.doesNotMatch(description + JSON.stringify(parameters), /stack_/)
  }
  fails(() => Stack.tools({ names: { posh: "a" } as unknown as ToolNames }), "json")
  fails(() => Stack.tools(null as unknown as ToolQuery), "json")
  const error = fails(() => Stack.tools({ names: { push: "" } }), "setting")
  assert.equal(error.details.name, "tools.push")
})

test("invalid events and settings are rejected", () => {
  const stack = shop()
  fails(() => stack.report({ kind: "sessionExploded" } as unknown as HostEvent), "json")
  assert.match(stack.configure({ calls: { maxDepth: -1 } })[0] ?? "", /`calls.maxDepth`/)
  assert.match(stack.tool("ses_1", { name: "stack_frame_posh" }).text ?? "", /there is no such tool/)
  // Model APIs deliver the arguments as a JSON text.
  const push = (args: string) => stack.tool("ses_1", { name: "stack_frame_push", arguments: args })
  assert.equal(push('{"title": "Mail", "successCriteria": "Sent"}').isError, false)
  for (const broken of ["{", '{"title": 5}', "[]", ""]) {
    const { isError, text = "" } = push(broken)
    assert.ok(isError && !/struct|FlatNewFrame|String/.test(text), text)
  }
  stack.close()
})

const CART = { title: "Cart", successCriteria: "Totals", successCriteriaCompacted: "totals" }

/** A host whose sessions are records in memory. A test replaces what a session does with its prompt. */
class Sessions implements HostActions {
  readonly host: Host
  readonly titles = new Map<string, string>()
  readonly prompts: { sessionID: string; text: string; callerID: string }[] = []
  readonly aborted: string[] = []
  readonly compacted: string[] = []
  readonly lines: string[] = []
  /** What a session does with a prompt. */
  work: (sessionID: string) => Promise<void> = () => Promise.resolve()

  constructor(stack: Stack, settings: HostSettings = {}) {
    this.host = new Host(stack, this)
    this.host.configure({ calls: { maxDepth: 1 }, autonomy: { level: "manual" }, ...settings })
  }

  push(signal?: AbortSignal): ReturnType<Host["tool"]> {
    return this.host.tool("ses_1", "stack_frame_push", CART, signal)
  }

  log(level: HostLogLevel, message: string): void {
    this.lines.push(`${level}: ${message}`)
  }

  createSession(parentID: string, title: string): Promise<string> {
    const sessionID = `ses_${this.titles.size + 2}`
    this.titles.set(sessionID, `${parentID} ${title}`)
    return Promise.resolve(sessionID)
  }

  describeSession(): Promise<undefined> {
    return Promise.resolve(undefined)
  }

  messages(): Promise<SessionMessage[]> {
    return Promise.resolve([{ id: "m2", role: "assistant", text: "Half of the totals work" }])
  }

  prompt(sessionID: string, text: string, callerID: string): Promise<void> {
    this.prompts.push({ sessionID, text, callerID })
    return this.work(sessionID)
  }

  abort(sessionID: string): Promise<void> {
    this.aborted.push(sessionID)
    return Promise.resolve()
  }

  compact(sessionID: string): Promise<boolean> {
    this.compacted.push(sessionID)
    return Promise.resolve(false)
  }
}

/** Starts such a host, and keeps the process awake: the timer of a host does not. */
function sessions(t: TestContext, settings?: HostSettings): Sessions {
  const awake = setInterval(() => undefined, 1000)
  const started = new Sessions(shop(Stack.inMemory()), settings)
  t.after(() => {
    clearInterval(awake)
    started.host.close()
  })
  return started
}

test("Host creates a session for a push, prompts it, and answers the tool call at its end", async (t) => {
  const shop = sessions(t)
  shop.work = async (sessionID) => {
    const pop = { status: "completed", results: "It adds up", resultsCompacted: "adds up" }
    assert.equal((await shop.host.tool(sessionID, "stack_frame_pop", pop)).isError, false)
  }
  const { text, isError } = await shop.push()
  assert.equal(isError, false)
  assert.match(text, /^f2 \(Cart\) is completed\.\nResults: It adds up\n/)
  assert.deepEqual([...shop.titles], [["ses_2", "ses_1 Cart"]])
  assert.deepEqual(
    shop.prompts.map(({ sessionID, callerID }) => [sessionID, callerID]),
    [["ses_2", "ses_1"]],
  )
  assert.match(shop.prompts[0]?.text ?? "", /frame f2: Cart/)
  assert.equal(shop.host.stack.frame("f2").sessionID, "ses_2")
  assert.match(shop.host.context("ses_1")?.volatile ?? "", /<current-frame id="f1"/)
  assert.ok(shop.lines.includes("info: Frame completed"), shop.lines.join("\n"))
})

test("Host answers a push whose prompt rejects with the error and the last words", async (t) => {
  const shop = sessions(t)
  shop.work = () => Promise.reject(new Error("the model is overloaded"))
  const { text } = await shop.push()
  assert.match(
    text,
    /^f2 \(Cart\) is blocked\.\nResults so far: \[[^\]]*the model is overloaded[^\]]*\] Half of the totals/,
  )
})

test("Host answers a push whose session cannot be created", async (t) => {
  const shop = sessions(t)
  shop.createSession = () => Promise.reject(new Error("the disk of the host is full"))
  const { text } = await shop.push()
  assert.match(text, /the disk of the host is full/)
  assert.deepEqual(shop.prompts, [])
})

test("Host ends the session of a tool call that is aborted, at once or later", async (t) => {
  const shop = sessions(t)
  const abort = new AbortController()
  let end: () => void = () => undefined
  shop.work = () => {
    abort.abort()
    return new Promise((resolve) => (end = resolve))
  }
  shop.abort = (sessionID) => {
    shop.aborted.push(sessionID)
    return Promise.resolve(end())
  }
  const { text } = await shop.push(abort.signal)
  assert.deepEqual(shop.aborted, ["ses_2"])
  assert.match(text, /^f2 \(Cart\) is blocked\.\nResults so far: \[[^\]]*its caller was aborted/)
  const again = await shop.push(abort.signal)
  assert.match(again.text, /^f3 \(Cart\) could not be started: its caller was aborted\./)
  assert.equal(shop.prompts.length, 1)
})

test("Host reports a compaction that fails, and the child is salvaged without a summary", async (t) => {
  const shop = sessions(t)
  shop.compact = (sessionID) => {
    shop.compacted.push(sessionID)
    return Promise.reject(new Error("no model for summaries"))
  }
  const { text } = await shop.push()
  assert.deepEqual(shop.compacted, ["ses_2"])
  assert.match(text, /^f2 \(Cart\) is blocked\.\nResults so far: \[[^\]]*\] Half of the totals work/)
  await new Promise(setImmediate)
  assert.ok(shop.lines.includes("error: compaction failed: no model for summaries"), shop.lines.join("\n"))
})

test("Host polls when a time limit has passed, and an abort that fails does not keep the answer back", async (t) => {
  const shop = sessions(t, { calls: { timeLimit: 20 } })
  let end: () => void = () => undefined
  shop.work = () => new Promise((resolve) => (end = resolve))
  shop.abort = () => {
    end()
    return Promise.reject(new Error("no such session"))
  }
  const { text } = await shop.push()
  assert.match(text, /^f2 \(Cart\) is blocked\.\nResults so far: \[[^\]]*its time limit of 20 ms was exceeded/)
  assert.ok(shop.lines.includes("error: abortSession failed: no such session"), shop.lines.join("\n"))
})

test("Host polls again after a poll that failed", async (t) => {
  const shop = sessions(t, { calls: { timeLimit: 20 } })
  let end: () => void = () => undefined
  shop.work = () => new Promise((resolve) => (end = resolve))
  shop.abort = () => Promise.resolve(end())
  const { stack } = shop.host
  const poll = stack.poll.bind(stack)
  stack.poll = () => {
    stack.poll = poll
    throw new Error("the disk is full")
  }
  const { text } = await shop.push()
  assert.match(text, /its time limit of 20 ms was exceeded/)
  assert.ok(shop.lines.includes("error: poll failed: the disk is full"), shop.lines.join("\n"))
})

test("Host answers a push that the engine cannot record", async (t) => {
  const shop = sessions(t)
  const { host } = shop
  shop.createSession = () => {
    host.stack.close()
    return Promise.resolve("ses_2")
  }
  const { text } = await shop.push()
  assert.match(text, /It could not be recorded: this stack has been closed/)
})

test("a closed Host does nothing, and can be closed again", async (t) => {
  const shop = sessions(t)
  shop.host.close()
  shop.host.close()
  await shop.host.report({ kind: "sessionIdle", sessionID: "ses_1" })
  await shop.host.poll()
  assert.equal(shop.host.context("ses_1"), undefined)
  assert.match((await shop.push()).text, /^stack_frame_push: this stack has been closed/)
  assert.deepEqual(shop.prompts, [])
})
