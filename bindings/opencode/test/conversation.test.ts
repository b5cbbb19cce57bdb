// Frames in one conversation: a session works on all its frames itself, and its requests do not contain
// finished frames.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import type { ToolPart } from "@opencode-ai/sdk"
import {
  answers,
  byTask,
  call,
  contextOf,
  done,
  inOrder,
  type ModelRequest,
  readJson,
  scenario,
  serve,
  task,
  until,
  WIRES,
} from "./harness/index.js"

const read = (filePath: string) => call("read", { filePath })
const write = (filePath: string, content: string) => call("write", { filePath, content })
const texts = (request: ModelRequest | undefined) => request?.conversation ?? ""

for (const wire of Object.keys(WIRES) as (keyof typeof WIRES)[]) {
  test(`a finished frame is a call and its return (${wire})`, async (t) => {
    const { model, server, frames, project } = await scenario(
      t,
      inOrder([
        call("stack_frame_plan_children", { children: [task("Cart"), task("Pay")], begin: true }),
        read("cart.txt"),
        write("cart.ts", "export const total = 0\n"),
        call("stack_add_decision", { decision: "Prices are integers" }),
        call("stack_frame_pop", { ...done("Cart::total() in cart.ts"), next: "true" }),
        read("pay.txt"),
        call("stack_frame_pop", done("Payment works")),
        call("stack_frame_pop", done("The shop is open")),
        { text: "The shop is open." },
      ]),
      {
        wire,
        frames: "conversation",
        files: { "cart.txt": "nonsense of the cart", "pay.txt": "nonsense of the payment" },
      },
    )
    const { sessionID, text } = await server.prompt("Build a shop")
    assert.equal(text, "The shop is open.")
    const work = model.work(sessionID)
    assert.equal(work.length, 9)
    assert.equal(new Set(model.requests.map((request) => request.sessionID)).size, 1, "there is one session")
    assert.equal(new Set(work.map((request) => contextOf(request).stable)).size, 1, "the system prompt stays")

    const [planned, , , , , inPay, popped, over] = work.slice(1).map(texts)
    assert.match(planned ?? "", /Planned f2, f3, in this order\./)
    assert.match(texts(work[4]), /nonsense of the cart/)
    for (const request of [inPay, popped]) {
      assert.doesNotMatch(request ?? "", /nonsense of the cart/, "the stretch of f2 is gone")
      assert.match(
        request ?? "",
        /Cart::total\(\) in cart\.ts[\s\S]*Prices are integers|Prices are integers[\s\S]*Cart::total/,
      )
    }
    assert.match(inPay ?? "", /nonsense of the payment/)
    assert.doesNotMatch(popped ?? "", /nonsense/)
    assert.match(over ?? "", /The shop is open/)
    assert.doesNotMatch(over ?? "", /Payment works|Planned/, "the task has ended: its words and its results are left")

    const found = frames()
    assert.deepEqual(found.get("Cart")?.artifacts, ["cart.ts"])
    assert.deepEqual(found.get("Cart")?.decisions, ["Prices are integers"])
    assert.deepEqual(
      [...found.values()].map(({ status }) => status),
      ["completed", "completed", "completed"],
    )
    const log = readFileSync(join(project.stack, found.get("Cart")?.logPath ?? ""), "utf8")
    assert.match(
      log,
      /nonsense of the cart[\s\S]*stack_frame_pop/,
      "the log of a frame has what the conversation has forgotten",
    )
    assert.doesNotMatch(log, /nonsense of the payment/)
    const { data: messages = [] } = await server.client.session.messages({ path: { id: sessionID } })
    assert.ok(JSON.stringify(messages).includes("nonsense of the cart"), "the person still sees all of it")
  })
}

test("the next request begins with at least 97 % of the one before, and nothing follows the newest message", async (t) => {
  const { model, server } = await scenario(
    t,
    inOrder([
      call("stack_frame_push", task("Steps")),
      ...Array.from({ length: 20 }, (_, step) =>
        call("bash", { command: `head -c 2048 /dev/zero | tr '\\0' x; echo ${step}`, description: "Print" }),
      ),
      { text: "Done." },
    ]),
    { frames: "conversation" },
  )
  const { sessionID } = await server.prompt("Work")
  const requests = model.work(sessionID).slice(1).map(texts)
  let [same, all] = [0, 0]
  for (const [index, before] of requests.slice(0, -1).entries()) {
    const next = requests[index + 1] ?? ""
    let length = 0
    while (length < before.length && before[length] === next[length]) length++
    same += length
    all += before.length
  }
  const share = (100 * same) / all
  console.log(`prompt cache, one conversation: ${share.toFixed(2)} % of the bytes are kept`)
  assert.ok(share >= 97, `${share.toFixed(2)} % are kept`)
  assert.equal(contextOf(model.work(sessionID).at(-1)).volatile, "")
})

test("the second task of a session begins without the first one", async (t) => {
  const { model, server, frames } = await scenario(
    t,
    inOrder([
      read("shop.txt"),
      call("stack_frame_pop", done("The shop is in shop.ts")),
      { text: "The shop is open." },
      read("docs.txt"),
      { text: "The docs are written." },
    ]),
    { frames: "conversation", files: { "shop.txt": "nonsense of the shop", "docs.txt": "nonsense of the docs" } },
  )
  const { sessionID } = await server.prompt("Build a shop where customers can pay")
  await server.prompt("Now write the documentation for developers", sessionID)
  const last = texts(model.work(sessionID).at(-1))
  for (const left of [
    "Build a shop where",
    "The shop is in shop.ts",
    "The shop is open.",
    "Now write the",
    "nonsense of the docs",
  ]) {
    assert.ok(last.includes(left), `${left} is gone: ${last}`)
  }
  assert.doesNotMatch(last, /nonsense of the shop/)
  assert.equal([...frames().values()].filter(({ parentSessionID }) => parentSessionID === undefined).length, 2)
})

test("calls beside each other, and frames in the background, have sessions of their own", async (t) => {
  const script = byTask({
    "frame f3": [call("stack_frame_pop", done("Payment works")), { text: "Done" }],
    "frame f4": [call("stack_frame_pop", done("Mail works")), { text: "Done" }],
  })
  const root = inOrder([
    {
      calls: [
        { tool: "stack_frame_push", arguments: task("Cart") },
        { tool: "stack_frame_push", arguments: task("Pay") },
      ],
    },
    (request) => ({
      text: `asked ${answers(request).join(" | ")}`,
      ...call("stack_frame_push", task("Mail", { background: true })),
    }),
    call("stack_frame_pop", done("Totals are right")),
    { text: "Open" },
  ])
  const { model, server, frames } = await scenario(
    t,
    (request) => (request.messages[0]?.text.includes("Build a shop") ? root(request) : script(request)),
    { frames: "conversation" },
  )
  const { sessionID } = await server.prompt("Build a shop")
  await until("the frame in the background is done", () => frames().get("Mail")?.status === "completed")
  const told =
    model
      .work(sessionID)[1]
      ?.messages.map(({ text }) => text)
      .join("\n") ?? ""
  assert.match(told, /f2 \(Cart\) has begun/)
  assert.match(told, /f3 \(Pay\) is completed\.\nResults: Payment works/)
  const found = frames()
  assert.equal(found.get("Pay")?.parentSessionID, sessionID, "beside the other one")
  assert.equal(found.get("Cart")?.sessionID, `${sessionID}~f2`)
  assert.equal(found.get("Mail")?.parentSessionID, `${sessionID}~f2`)
})

test("after a restart the conversation goes on in its frame, and folds it", async (t) => {
  const { model, server, project, frames } = await scenario(
    t,
    inOrder([
      call("stack_frame_push", task("Cart")),
      read("cart.txt"),
      { text: "I stop here." },
      call("stack_frame_pop", done("The cart works")),
      { text: "Done." },
    ]),
    { frames: "conversation", files: { "cart.txt": "nonsense of the cart" } },
  )
  const { sessionID } = await server.prompt("Build a shop")
  await server.kill("SIGKILL")
  const again = await serve(project)
  t.after(() => again.stop())
  await again.prompt("Go on, please, with what is left", sessionID)
  const last = texts(model.work(sessionID).at(-1))
  assert.match(last, /The cart works/)
  assert.doesNotMatch(last, /nonsense of the cart/)
  assert.equal(frames().get("Cart")?.status, "completed")
  const log = readFileSync(join(project.stack, frames().get("Cart")?.logPath ?? ""), "utf8")
  const ids = log
    .trimEnd()
    .split("\n")
    .map((line) => readJson<{ id: string }>(line).id)
  assert.equal(new Set(ids).size, ids.length, "no message is logged twice")
})

test("what a person undoes, the conversation is not in any more", async (t) => {
  const { model, server, frames } = await scenario(
    t,
    inOrder([
      { text: "What shall I build?" },
      call("stack_frame_push", task("Cart")),
      { text: "I work on the cart." },
      call("stack_add_decision", { decision: "No cart" }),
      { text: "As you like." },
    ]),
    { frames: "conversation" },
  )
  const { sessionID } = await server.prompt("Build a shop where customers can pay")
  await server.prompt("Begin with the cart of the shop, please", sessionID)
  assert.equal(frames().get("Cart")?.status, "in_progress")
  const { data: messages = [] } = await server.client.session.messages({ path: { id: sessionID } })
  const undone = messages.findLast(({ info }) => info.role === "user")?.info.id ?? ""
  await server.client.session.revert({ path: { id: sessionID }, body: { messageID: undone } })
  await server.prompt("No cart, please: begin with the payment instead", sessionID)
  const found = frames()
  assert.equal(found.get("Cart")?.status, "blocked")
  assert.deepEqual(found.get("Test")?.decisions, ["No cart"], "the conversation is in the frame of the session again")
  assert.match(
    contextOf(model.work(sessionID).at(-1)).volatile,
    /its conversation does not hold its beginning any more/,
  )
})

test("a copy of a session is told that it is not in the frame of the other one", async (t) => {
  const decide = call("stack_add_decision", { decision: "Prices are integers" })
  const { model, server, frames } = await scenario(
    t,
    inOrder([
      call("stack_frame_push", task("Cart")),
      { text: "I work on the cart." },
      decide,
      decide,
      { text: "It is recorded." },
    ]),
    { frames: "conversation" },
  )
  const { sessionID } = await server.prompt("Build a shop where customers can pay")
  const { data: copy } = await server.client.session.fork({ path: { id: sessionID }, body: {} })
  assert.ok(copy)
  await server.prompt("Go on with the prices in this copy of the session", copy.id)
  const [first, second, third] = model.work(copy.id)
  assert.match(contextOf(first).volatile, /<current-frame/, "it says where the conversation is")
  assert.match(texts(second), /not in f2 \(Cart\) any more: another conversation works on it\. You are in f3/)
  assert.match(texts(third), /the decision is recorded\./)
  assert.deepEqual(frames().get("Cart")?.decisions, [])
  assert.equal(frames().get("Cart")?.status, "in_progress")
})

test("the titles of calls say which frame begins and how it has ended", async (t) => {
  const { server } = await scenario(
    t,
    inOrder([
      call("stack_frame_plan_children", { children: [task("Cart"), task("Pay")], begin: true }),
      call("stack_frame_pop", { ...done("The cart works"), next: "true" }),
      call("stack_frame_pop", done("Payment works")),
      call("stack_frame_push", task("Mail")),
      { text: "Open" },
    ]),
    { frames: "conversation" },
  )
  const { sessionID } = await server.prompt("Build a shop")
  const { data = [] } = await server.client.session.messages({ path: { id: sessionID } })
  const calls = data.flatMap(({ parts }) => parts.filter((part): part is ToolPart => part.type === "tool"))
  assert.deepEqual(
    calls.map(({ state }) => ("title" in state ? state.title : undefined)),
    [
      "2 frames below f1",
      "f2 Cart → completed: The cart works; begun: f3 Pay",
      "f3 Pay → completed: Payment works",
      "f4 Mail",
    ],
  )
})
