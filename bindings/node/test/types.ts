// Calls that must not compile. `npm run build` checks this file: a line below @ts-expect-error that compiles is an error.
// Nothing in here runs.

import { CallstackError, Stack, unknownKey } from "callstack-core"
import type { HeldContext } from "#internal/held.js"
import type { Address, Native } from "#internal/native.js"

export function calls(native: Native, stack: Address): void {
  native.run("flush", stack)
  native.run("clear_cache", stack, undefined)
  native.run("run_answer", stack, "f1", '{"call": "call_1", "answer": "answer"}')
  const texts: [string, string] = native.twoTexts("settings")
  const parts: HeldContext | undefined = native.context("session_context", stack, "ses_1")
  const values: [string, bigint] = [native.text("tools", undefined), native.value("open", undefined, ".", undefined)]

  // @ts-expect-error: the first two arguments are texts
  native.run("add_decision", stack, 1, "decision")
  // @ts-expect-error: a record is passed as JSON
  native.text("pop", stack, "f1", { status: "completed" })
  // @ts-expect-error: a function that does not exist
  native.run("acivate", stack, "f1")
  // @ts-expect-error: a context is made of a stack
  native.context("context", undefined, "f1", undefined)
  // @ts-expect-error: a function that takes no stack
  native.twoTexts("settings", stack)
  console.log(texts, parts, values)
}

export function methods(stack: Stack): void {
  stack.summarize("f1", { results: "results", resultsCompacted: undefined })
  const stopped: string[] = stack.stopAll("reason")

  // @ts-expect-error: an argument is missing
  stack.addDecision("f1")
  // @ts-expect-error: an argument is superfluous
  stack.activate("f1", "f2")
  // @ts-expect-error: a frame is named by a text
  stack.addDecision(1, "decision")
  // @ts-expect-error: how a frame is popped is a record
  stack.pop("f1", "completed")
  // @ts-expect-error: the frame must be given
  stack.activate(undefined)
  // @ts-expect-error: a missing frame does not mean all frames
  stack.stop(undefined, "reason")
  // @ts-expect-error: a method that does not exist
  stack.acivate("f1")
  // @ts-expect-error: a method that returns nothing
  const nothing: string = stack.activate("f1")
  // @ts-expect-error: a method that returns a flag
  const flag: string = stack.refresh()
  // @ts-expect-error: a method that returns a record
  const record: bigint = stack.info()
  // @ts-expect-error: a session can have no context
  const context: { stable: string; volatile: string } = stack.sessionContext("ses_1")
  console.log(stopped, nothing, flag, record, context)
}

export function records(stack: Stack): void {
  const frame = stack.frame("f1")
  const results: string | undefined = frame.results
  const total: number = Stack.settings().budget.total
  const decisions: string[] = stack
    .history({ kind: "decisionAdded" })
    .flatMap((event) => (event.kind === "decisionAdded" ? event.decision : []))
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
  // @ts-expect-error: no event has this kind
  stack.history({ kind: "decisionsAdded" })
  // @ts-expect-error: a typo in the details of an error
  new CallstackError("io", "message").details.pth
  // @ts-expect-error: `needed` may be undefined
  const needed: number = new CallstackError("budget_too_small", "message").details.needed
  // @ts-expect-error: there is no such status
  stack.pop("f1", { status: "done" })
  // @ts-expect-error: a frame has a title
  stack.push({ sessionID: "ses_1" })
  // @ts-expect-error: there is no tool of that name
  Stack.tools({ names: { posh: "begin_task" } })
  // @ts-expect-error: a stack in memory has no durability
  Stack.inMemory({ durability: "full" })
  console.log(results, estimate, needed, total, decisions)
}
