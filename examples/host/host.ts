// A host: one agent, whose conversation goes through the frames of a stack. Its model is a script; put yours into `ask`.
//
//     node host.ts

import { type Context, type Effect, fold, Stack, type Tool } from "callstack-core"

const SESSION = "chat"
/** What the own tool of this host answers. */
const ORDERS = "order 1: a lamp, 40 EUR, paid\n"

interface Message {
  role: "user" | "assistant" | "tool"
  content?: string | undefined
  tool_call_id?: string
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[]
}

const stack = Stack.inMemory() // or Stack.open(".callstack"), then it lasts

// The agent works on all its frames in one conversation, which this host folds.
stack.configure({ calls: { in: "conversation" } })
const tools = stack.tools()

// A session begins, and a person writes: the session is a frame now.
const wish = "Write a report on the shop"
perform(stack.report({ kind: "sessionCreated", sessionID: SESSION, title: wish }))
perform(stack.report({ kind: "message", sessionID: SESSION, messageID: "m1", role: "user", text: wish }))
const messages: Message[] = [{ role: "user", content: wish }]

for (let request = 1; ; request++) {
  // Before each request: the context of the frame in which the conversation is, and the folded conversation.
  const context = stack.sessionContext(SESSION)
  if (context === undefined) throw new Error("the session has no frame")
  const folded = fold("chat", JSON.stringify({ messages })).request
  const reply = ask(request, context, folded, tools)
  const [sent, all] = [folded, JSON.stringify({ messages })].map((text) => Buffer.byteLength(text))
  console.log(`request ${request}: ${sent} of ${all} bytes of messages`)
  messages.push(reply)

  for (const call of reply.tool_calls ?? []) {
    messages.push({ role: "tool", tool_call_id: call.id, content: carryOut(call.function) })
  }
  if (reply.tool_calls === undefined) break
}
perform(stack.report({ kind: "sessionIdle", sessionID: SESSION }))
console.log(stack.outline())
stack.close()

/** What the library asks the host to do. A host with several sessions also creates, prompts and aborts them here. */
function perform(effects: Effect[]): void {
  for (const effect of effects) {
    if (effect.kind === "log") console.error(effect.level, effect.message, effect.data["handle"] ?? "")
  }
}

/** Carries out a tool call. Returns a text for the model, also if the library has refused the call. */
function carryOut(call: { name: string; arguments: string }): string {
  if (call.name === "read_orders") {
    perform(stack.report({ kind: "toolExecuted", sessionID: SESSION, tool: call.name, answer: ORDERS }))
    return ORDERS.repeat(50)
  }
  const answer = stack.tool(SESSION, call)
  perform(answer.effects)
  return answer.text ?? ""
}

/** The model. `stable` of the context belongs into the system prompt, `volatile` after the newest message. */
function ask(request: number, _context: Context, _messages: string, _tools: Tool[]): Message {
  if (request === 1) {
    const criteria = { successCriteria: "Known", successCriteriaCompacted: "Known" }
    return called("stack_frame_push", { title: "Count the orders", ...criteria })
  }
  if (request === 2) return called("read_orders", {})
  if (request === 3) {
    const results = "There are 42 orders, 3 of them unpaid."
    return called("stack_frame_pop", { status: "completed", results, resultsCompacted: "42 orders" })
  }
  return { role: "assistant", content: "The shop has 42 orders." }
}

function called(name: string, args: object): Message {
  const call = { id: `call_${name}`, type: "function" as const, function: { name, arguments: JSON.stringify(args) } }
  return { role: "assistant", tool_calls: [call] }
}
