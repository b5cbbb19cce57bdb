// Folding from JavaScript: the library does it, the package carries it.

import assert from "node:assert/strict"
import { test } from "node:test"
import { contextChanges, fold, Stack } from "callstack-core"
import { call, fails, outcome, requestOfAFinishedFrame } from "./common.js"

const request = requestOfAFinishedFrame("Cart::total() 🛒")

test("a finished frame becomes a call and its return", () => {
  const folded = fold("chat", request)
  const { messages } = JSON.parse(folded.request)
  assert.equal(messages.length, 3)
  assert.match(messages[2].content, /^f1 \(Cart\) is completed\.\nResults: Cart::total\(\) 🛒\n/)
  const [stretch] = folded.report.stretches
  assert.deepEqual([stretch?.frame, stretch?.status, stretch?.items], ["f1", "completed", 3])
  const pointed = fold("chat", request, { pointer: "callstack log {frame}" })
  assert.match(pointed.request, /callstack log f1/)
})

test("what cannot be folded comes back", () => {
  for (const text of ["", "{", "[]", '{"messages":[]}']) {
    assert.deepEqual(fold("chat", text), { request: text, report: { stretches: [], turns: [] } })
  }
  assert.equal(fold("chat", request, { server: "other" }).request, request)
})

test("turns are folded on request", () => {
  const turn = (id: string) => [
    { role: "user", content: `words${id}` },
    { ...call(id, "x", { path: `src/${id}.ts` }), content: null },
    outcome(id, "nonsense ".repeat(50)),
    { role: "assistant", content: `answer${id}` },
  ]
  const messages = [...turn("1"), ...turn("2"), { role: "user", content: "now" }]
  const folded = fold("chat", JSON.stringify({ messages }), { turns: { floor: 10 } })
  assert.equal(JSON.parse(folded.request).messages.length, 5)
  assert.match(folded.request, /src\/2\.ts/)
  assert.deepEqual(
    folded.report.turns.map(({ turns }) => turns),
    [1, 1],
  )
})

test("wrong arguments are refused", () => {
  fails(() => fold("morse" as "chat", request), "setting")
  fails(() => fold("chat", request, { servers: "x" } as object), "json")
  fails(() => fold("chat", request, { tools: { push: "" } }), "setting")
})

test("a pop begins the next frame", () => {
  const stack = Stack.inMemory()
  const shop = stack.push({ title: "Build a shop" })
  const cart = stack.push({ title: "Cart", parent: shop })
  const pay = stack.plan({ title: "Pay", parent: shop, dependsOn: [cart] })
  const later = stack.plan({ title: "Later", parent: shop, dependsOn: [pay] })
  assert.deepEqual(fails(() => stack.begin(later), "not_ready").details.dependencies, [pay])
  fails(() => stack.pop(cart, { status: "completed", results: "Totals", next: later }), "not_ready")
  const popped = stack.pop(cart, { status: "completed", results: "Totals", resultsCompacted: "total()", next: true })
  assert.deepEqual([popped.next, popped.active, stack.frame(pay).status], [pay, pay, "in_progress"])
  assert.equal(stack.pop(pay, { status: "failed", results: "No", next: true }).next, undefined)
  const left = fails(() => stack.complete(shop, { results: "The shop is open" }), "parts_left")
  assert.deepEqual(left.details.left, [later])
  stack.invalidate(later, "Not now")
  stack.complete(shop, { results: "The shop is open" })
  assert.equal(stack.frame(shop).status, "completed")
  stack.close()
})

test("of a context only what has changed is told", () => {
  const frame = '<current-frame id="f1">\n<title>A shop with a cart, a till and a door</title>\n</current-frame>\n'
  const [before, now] = ["", "<next-action>Finish</next-action>\n"].map(
    (next) => `<stack-now>\n${next}${frame}</stack-now>\n`,
  ) as [string, string]
  const changed = '<stack-now shows="only what has changed">\n<next-action>Finish</next-action>\n</stack-now>\n'
  assert.equal(contextChanges(before, now), changed)
  assert.equal(contextChanges(now, now), "")
  assert.equal(contextChanges("", now), now)
})
