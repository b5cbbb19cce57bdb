// Calls that must not compile. `npm run build` checks this file: a line below @ts-expect-error that compiles is an error.
// Nothing in here runs.

import { CallstackError, Stack, unknownKey } from "callstack-core"
import type { Address, Native } from "#internal/native.js"

export function calls(native: Native, stack: Address): void {
  native.run("flush", stack)
  native.run("summarize", stack, "f1", "results", undefined)
  native.run("run_answer", stack, "f1", "call_1", "answer", 0)
  const texts: [string, string, string, string] = native.fourTexts("context", stack, "f1", undefined)
  const parts: [string, string] | undefined = native.maybeTwoTexts("session_context", stack, "ses_1")
  const values: [string, bigint] = [native.text("tools", undefined), native.value("open", undefined, ".", undefined)]

  // @ts-expect-error: an argument is missing
  native.run("add_decision", stack, "f1")
  // @ts-expect-error: an argument is superfluous
  native.run("activate", stack, "f1", "f2")
  // @ts-expect-error: the first two arguments are texts
  native.run("add_decision", stack, 1, "decision")
  // @ts-expect-error: the status is a number
  native.text("pop", stack, "f1", "completed", "results", undefined)
  // @ts-expect-error: the frame must not be NULL
  native.run("activate", stack, undefined)
  // @ts-expect-error: a function that does not exist
  native.run("acivate", stack, "f1")
  // @ts-expect-error: a function that takes a stack
  native.run("flush", undefined)
  // @ts-expect-error: a function that takes no stack
  native.text("settings", stack)
  // @ts-expect-error: a function without outputs has no text
  native.text("activate", stack, "f1")
  // @ts-expect-error: a function that answers a value has no text
  native.text("refresh", stack)
  // @ts-expect-error: a function that answers a text has no value
  native.value("info", stack)
  // @ts-expect-error: a function that answers a text answers something
  native.run("info", stack)
  // @ts-expect-error: a function that answers two texts
  native.fourTexts("session_context", stack, "ses_1")
  console.log(texts, parts, values)
}

export function records(stack: Stack): void {
  const frame = stack.frame("f1")
  const results: string | undefined = frame.results
  const total: number = Stack.settings().budget.total
  const decisions: string[] = stack.history({ kind: "decisionAdded" }).map((event) => event.decision)
  const estimate: unknown = unknownKey(frame, "estimate")

  // @ts-expect-error: a typo
  frame.resutls
  // @ts-expect-error: a typo as an index
  frame["resutls"]
  // @ts-expect-error: `results` is declared and needs no accessor
  unknownKey(frame, "results")
  // @ts-expect-error: a typo in the state
  stack.state().rootFramesIDs
  // @ts-expect-error: a typo in a record of the state
  stack.state().frames["ses_1"]?.resutls
  for (const event of stack.history()) {
    // @ts-expect-error: not every event has a decision
    event.decision
    if (event.kind === "decisionAdded") console.log(event.decision.length)
    // @ts-expect-error: there is no such kind
    if (event.kind === "decisionsAdded") continue
  }
  // @ts-expect-error: a typo in the details of an error
  new CallstackError("io", "message").details.pth
  // @ts-expect-error: `needed` may be undefined
  const needed: number = new CallstackError("budget_too_small", "message").details.needed
  // @ts-expect-error: there is no such status
  stack.setStatus("f1", "done")
  // @ts-expect-error: a frame has a title
  stack.push({ sessionID: "ses_1" })
  // @ts-expect-error: there is no tool of that name
  Stack.tools({ posh: "begin_task" })
  // @ts-expect-error: a stack in memory has no durability
  Stack.inMemory({ durability: "full" })
  console.log(results, estimate, needed, total, decisions)
}
