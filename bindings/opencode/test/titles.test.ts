// What a person sees of the stack's tools: the titles of their calls.

import assert from "node:assert/strict"
import { test } from "node:test"
import type { ToolPart } from "@opencode-ai/sdk"
import {
  byTask,
  call,
  done,
  makeProject,
  run,
  type Server,
  scenario,
  startModel,
  task,
  WITH_ALL_TOOLS,
} from "./harness/index.js"

/** Returns the tool calls of a session. */
async function callsOf({ client }: Server, sessionID: string): Promise<ToolPart[]> {
  const { data = [] } = await client.session.messages({ path: { id: sessionID } })
  return data.flatMap(({ parts }) => parts.filter((part) => part.type === "tool"))
}

function titleOf(part: ToolPart | undefined): string | undefined {
  return part !== undefined && "title" in part.state ? part.state.title : undefined
}

test("the title of a call says what it was about and how that has ended", async (t) => {
  const { server, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("stack_frame_plan_children", { children: [task("Cart"), task("Taxes"), task("Mail")] }),
        call("stack_frame_activate", { sessionID: "f2" }),
        call("stack_frame_push", task("Stock")),
        call("stack_frame_push", task("Print", { background: true })),
        call("stack_frame_activate", { sessionID: "f9" }),
        call("stack_frame_details", { frameID: "Cart" }),
        call("stack_frame_log", { tail: 1 }),
        call("stack_get_state"),
        call("stack_add_decision", { decision: "Prices are in cents" }),
        call("stack_tree"),
      ],
      "frame f2": [call("stack_frame_pop", done("src/cart.rs: Cart::total()")), { text: "Done" }],
      "frame f5": [
        call("stack_frame_pop", { ...done("Half of it", "blocked"), question: "Which shelf?" }),
        { text: "I wait" },
      ],
      "frame f6": [{ after: new Promise(() => undefined) }],
    }),
    { plugin: WITH_ALL_TOOLS },
  )
  const { sessionID: root } = await server.prompt("Build a shop")
  assert.deepEqual((await callsOf(server, root)).map(titleOf), [
    "3 frames below f1",
    "f2 Cart → completed: src/cart.rs: Cart::total()",
    "f5 Stock → blocked: Which shelf?",
    "f6 Print in the background",
    "stack_frame_activate: no frame matches `f9`: it is not a handle, a title, an ID or its beginning; give a handle such as f1",
    "f2 Cart",
    "f1 Test",
    "",
    "f1 (Test): the decision is recorded.",
    "6 frames: 2 planned, 2 in_progress, 1 completed, 1 blocked",
  ])
  const [pop] = await callsOf(server, frames().get("Cart")?.sessionID ?? "")
  assert.equal(titleOf(pop), "f2 Cart → completed: src/cart.rs: Cart::total()")
})

test("opencode run prints the titles, as one line without control characters", async (t) => {
  const model = await startModel(
    byTask({
      "Build a shop": [call("stack_frame_push", task("Cart \u001b]0;owned\u0007 \u202eof\nall")), { text: "Open" }],
      "frame f2": [call("stack_frame_pop", done(`It adds up\n${"and more ".repeat(100)}`))],
    }),
  )
  t.after(() => model.stop())
  const printed = await run(makeProject(model.url), "Build a shop, please")
  const line = printed.split("\n").find((line) => line.includes("stack_frame_push")) ?? printed
  assert.match(line, /f2 Cart \]0;owned \ufffdof all → completed: It adds up and more .*…/)
  for (const hidden of ["owned\u0007", "\u202e"]) assert.ok(!line.includes(hidden), JSON.stringify(line))
})

test("the terminal interface, which shows no titles, gets the outcome of a call as a notice", async (t) => {
  const { server } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("stack_frame_push", task("Cart")),
        call("stack_frame_push", task("Mail", { background: true })),
        call("stack_status"),
      ],
      "frame f2": [call("stack_frame_pop", done("It adds up")), { text: "Done" }],
    }),
  )
  const { data: session } = await server.client.session.create({ body: { title: "Test" } })
  const root = session?.id ?? ""
  const { stream } = await server.client.event.subscribe()
  const notices: string[] = []
  const ended = (async () => {
    for await (const event of stream) {
      if (event.type === "tui.toast.show") notices.push(event.properties.message)
      if (event.type === "session.idle" && event.properties.sessionID === root) return
    }
  })()
  await server.prompt("Build a shop", root)
  await ended
  assert.deepEqual(notices, ["f2 Cart → completed: It adds up"])
})
