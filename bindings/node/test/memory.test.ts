// Agent memory: chunks on the heap, registers, and runs driven from JavaScript.

import assert from "node:assert/strict"
import { test } from "node:test"
import { type Next, type RunSettings, Stack } from "callstack-core"
import { fails, folder } from "./common.js"

test("a frame and the frames below it see its chunks verbatim", () => {
  const stack = Stack.inMemory()
  const shop = stack.push({ title: "Build a shop" })
  const cart = stack.push({ title: "Cart", parent: shop })
  const content = 'if (a < b && "c") 🛒\n'
  stack.allocateChunk(shop, { name: "prices", content, description: "rules" })
  stack.allocateChunk(cart, { name: "notes", content: "mine" })
  assert.deepEqual(
    stack.chunks(cart).map(({ handle, chunk }) => [handle, chunk.name, chunk.content, chunk.description]),
    [
      [shop, "prices", content, "rules"],
      [cart, "notes", "mine", undefined],
    ],
  )
  const context = stack.context(cart)
  assert.ok(context.stable.includes('>if (a &lt; b &amp;&amp; "c") 🛒\n</chunk>'))
  assert.deepEqual(
    stack.contextReport(cart).chunks?.map(({ name, shown }) => [name, shown]),
    [
      ["prices", "whole"],
      ["notes", "whole"],
    ],
  )
  stack.writeChunk(cart, { name: "prices", content: "in cents" })
  stack.freeChunk(cart, "notes")
  assert.deepEqual(
    stack.frame(shop).heap?.map((chunk) => chunk.content),
    ["in cents"],
  )
  assert.deepEqual(fails(() => stack.freeChunk(cart, "notes"), "unknown_chunk").details.known, ["prices"])
  fails(() => stack.allocateChunk(cart, { name: "prices", content: "" }), "chunk_exists")
  stack.close()
})

test("registers are truncated to their limits, and children inherit them", () => {
  const stack = Stack.inMemory()
  const shop = stack.push({ title: "Build a shop" })
  stack.updateRegisters(shop, { R1_PLAN: "1. cart", R3_PHASE: "é".repeat(61) })
  assert.deepEqual(stack.frame(shop).registers, { R1_PLAN: "1. cart", R3_PHASE: "é".repeat(60) })
  const cart = stack.push({ title: "Cart", parent: shop })
  assert.equal(stack.frame(cart).registers?.R3_PHASE, "entering: Cart")
  assert.match(stack.context(cart).volatile, /<R1_PLAN>1\. cart<\/R1_PLAN>/)
  fails(() => stack.updateRegisters(shop, { R9: "x" } as Record<string, string>), "json")
  stack.close()
})

test("a run is driven step by step, and continues after a restart", () => {
  const path = folder()
  let stack = Stack.open(path)
  const run = stack.startRun({ task: "Build a calculator", settings: { memory: "registers" } })
  const names = Stack.tools({ memory: { memory: "registers", sharedResults: false } }).map(({ name }) => name)
  assert.deepEqual(names, ["push_frame", "pop_frame", "heap_alloc", "heap_write", "heap_free", "update_registers"])
  assert.equal(Stack.tools({ memory: {} }).length, 6)

  const ask = (next: Next) => (next.next === "ask" ? next : assert.fail(`${next.next} instead of a question`))
  const call = (id: string, name: string, more: object) => ({ id, name, arguments: JSON.stringify(more) })
  const first = ask(stack.advanceRun(run))
  assert.match(first.messages[0]?.text ?? "", /^Build a calculator\n\n<memory>\nStep 1, frame f1/)
  stack.runReply(run, {
    text: "First the code",
    calls: [
      call("a", "update_registers", { R2_NEXT: "push" }),
      call("b", "push_frame", { name: "code", objective: "Write calc.py", context: "", return_spec: "" }),
    ],
  })
  const second = ask(stack.advanceRun(run))
  assert.deepEqual([second.frame, second.depth, second.messages.length], ["f2", 1, 1])
  stack.runTell(run, "Write tests too")
  second.messages = ask(stack.advanceRun(run)).messages
  assert.match(second.messages.at(-1)?.text ?? "", /^Write tests too/)
  stack.close()

  stack = Stack.open(path)
  assert.deepEqual(stack.advanceRun(run), second, "the same messages")
  stack.runReply(run, {
    calls: [call("c", "write_file", { path: "calc.py" }), call("d", "pop_frame", { result: "calc.py is there" })],
  })
  assert.deepEqual(stack.advanceRun(run), {
    next: "call",
    id: "c",
    name: "write_file",
    arguments: '{"path":"calc.py"}',
  })
  fails(() => stack.runReply(run, { text: "too early" }), "out_of_turn")
  stack.runAnswer(run, { call: "c", answer: "Written" })
  const third = ask(stack.advanceRun(run))
  assert.deepEqual([third.frame, third.depth], [run, 0])
  assert.match(third.messages.at(-1)?.text ?? "", /^Sub-task completed: Write calc\.py\nResult: calc\.py is there/)
  assert.deepEqual(stack.runStatus(run).steps, 2)
  assert.deepEqual(stack.runs(), [run])
  stack.runReply(run, { calls: [call("e", "pop_frame", { result: "Done" })] })
  assert.deepEqual(stack.advanceRun(run), { next: "over", status: "completed", results: "Done" })
  fails(() => stack.advanceRun("f2"), "no_run")
  stack.close()
})

test("a frame of a run begins with the results of the frames before it, unless the run says no", () => {
  const stack = Stack.inMemory()
  const beginning = (settings: RunSettings) => {
    const run = stack.startRun({ task: "Build a calculator", settings })
    const reply = (name: string, more: object) => {
      stack.runReply(run, { calls: [{ id: "a", name, arguments: JSON.stringify(more) }] })
      return stack.advanceRun(run)
    }
    reply("push_frame", { name: "code", objective: "Write calc.py" })
    stack.addArtifact(stack.runStatus(run).frame, "calc.py")
    reply("pop_frame", { result: "calc.py is there", ...(settings.sharedResults && { decisions: ["No rounding"] }) })
    const next = reply("push_frame", { name: "tests", objective: "Test calc.py" })
    assert.deepEqual(stack.runStatus(run).settings, { ...stack.runStatus(run).settings, ...settings })
    return next.next === "ask" ? (next.messages[0]?.text ?? "") : assert.fail(next.next)
  }
  const shared = beginning({ sharedResults: true, resultsBudget: 800 })
  assert.match(shared, /<results>calc\.py is there<\/results>\n<artifacts>calc\.py<\/artifacts>\n<decisions>/)
  assert.match(shared, /<\/stack-context>\n\nObjective: Test calc\.py/)
  assert.match(beginning({ sharedResults: false }), /^Objective: Test calc\.py/)
  stack.close()
})
