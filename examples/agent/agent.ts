// An agent that manages its own memory: frames with conversations of their own, and a heap. Its model is a script; put yours into
// `ask`, and its tools into `execute`.
//
//     node agent.ts

import { type Reply, Stack } from "callstack-core"

const stack = Stack.inMemory() // or Stack.open(".callstack"), then the run continues after a crash
const task = "Add the numbers of the orders"
const run = stack.startRun({ task, tools: "- count(): returns the number of orders" })
let next = stack.advanceRun(run)
while (next.next !== "over") {
  if (next.next === "ask") {
    // The model is asked: the system prompt is the same in each step, the messages are those of the current frame.
    const { step, frame, messages } = next
    console.log(`step ${step} in ${frame}: ${messages.length} messages, ${JSON.stringify(messages).length} bytes`)
    stack.runReply(run, ask(step))
  } else {
    // A tool of yours. The calls that concern memory are carried out by the library.
    stack.runAnswer(run, { call: next.id, answer: execute(next.name) })
  }
  next = stack.advanceRun(run)
}
console.log(`${next.status}: ${next.results}`)
stack.close()

/** The model: it pushes a frame, counts there, keeps the number, pops the frame, and ends. */
function ask(step: number): Reply {
  const script: [string, object][] = [
    ["push_frame", { name: "count", objective: "Count the orders", return_spec: "the number" }],
    ["count", {}],
    ["heap_alloc", { name: "orders", content: "42" }],
    ["pop_frame", { result: "There are 42 orders." }],
    ["pop_frame", { result: "The sum is 42." }],
  ]
  const [name, args] = script[step - 1] ?? ["pop_frame", { result: "There is nothing left to do." }]
  return { calls: [{ id: `call_${step}`, name, arguments: JSON.stringify(args) }] }
}

/** The tools of the agent. */
function execute(name: string): string {
  return name === "count" ? "42" : "there is no such tool"
}
