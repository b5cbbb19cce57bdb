// Persistence: OpenCode is killed during its work, and two OpenCode servers share one project.

import assert from "node:assert/strict"
import { test } from "node:test"
import { Stack } from "callstack-core"
import {
  answers,
  byTask,
  call,
  contextOf,
  done,
  framesOf,
  makeProject,
  scenario,
  serve,
  startModel,
  task,
  until,
  WITH_SHORT_LEASES,
} from "./harness/index.js"

test("after a kill during the work and a restart, the tree is complete and the work continues", async (t) => {
  const never = new Promise(() => undefined)
  const { model, server, project, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("stack_frame_plan_children", { children: [task("Catalogue"), task("Cart")] }),
        call("stack_frame_activate", { sessionID: "f2" }),
        call("stack_frame_activate", { sessionID: "f3" }),
        // The call that was interrupted may have any answer: the agent looks at the status and continues.
        call("stack_status"),
        call("stack_frame_activate", { sessionID: "f3" }),
        (request) => ({ text: answers(request)[0] ?? "" }),
      ],
      "frame f2": [call("stack_frame_pop", done("Articles are listed"))],
      "frame f3": [
        call("stack_add_decision", { decision: "Carts last a week" }),
        (request) =>
          request.messages.some(({ text }) => text.includes("was interrupted"))
            ? call("stack_frame_pop", done("Totals are right"))
            : { after: never },
        call("stack_frame_pop", done("Totals are right")),
      ],
    }),
    { plugin: WITH_SHORT_LEASES },
  )
  void server.prompt("Build a shop").catch(() => undefined)
  await until("the cart is worked on", () => frames().get("Cart")?.decisions.length === 1)
  // The usage of the step that has just ended may be recorded between the reading and the kill.
  const tree = () => [...frames().values()].map(({ usage: _, holder: __, ...frame }) => frame)
  const before = tree()
  await server.kill("SIGKILL")
  assert.deepEqual(tree(), before, "the tree is what it was")
  assert.deepEqual(
    before.map(({ title, status }) => `${title} ${status}`),
    ["Test in_progress", "Catalogue completed", "Cart in_progress"],
  )

  await until("the lease of its host has ended", () => (frames().get("Cart")?.holder?.until ?? 0) < Date.now())
  const again = await serve(project)
  t.after(() => again.stop())
  const root = before[0]?.sessionID ?? ""
  const { text } = await again.prompt("Go on", root)
  assert.match(text, /^f3 \(Cart\) is completed\.\nResults: Totals are right\n/)
  assert.match(contextOf(model.work(root).at(-1)).volatile, /<current-frame id="f1"/)
  const after = frames()
  assert.deepEqual(
    [...after.values()].map(({ title, status }) => `${title} ${status}`),
    ["Test in_progress", "Catalogue completed", "Cart completed"],
  )
  assert.equal(after.get("Cart")?.sessionID, before[2]?.sessionID, "in its own session")
  assert.deepEqual(after.get("Cart")?.decisions, ["Carts last a week"])
})

test("two servers on one project share its tree without losing a change", async (t) => {
  const record = (name: string) =>
    Array.from({ length: 10 }, (_, step) => call("stack_frame_plan_children", { children: [task(`${name} ${step}`)] }))
  const model = await startModel(
    byTask({
      First: record("one"),
      Second: record("two"),
      Look: [call("stack_status", { all: true }), (request) => ({ text: answers(request)[0] ?? "" })],
    }),
  )
  t.after(() => model.stop())
  const project = makeProject(model.url)
  // Start them one after the other: the first one creates OpenCode's own database.
  const first = await serve(project)
  t.after(() => first.stop())
  const second = await serve(project)
  t.after(() => second.stop())
  await Promise.all([first.prompt("First"), second.prompt("Second")])
  const titles = [...framesOf(project).keys()]
  for (const name of ["one", "two"])
    for (let step = 0; step < 10; step++) assert.ok(titles.includes(`${name} ${step}`), `${name} ${step}`)
  const { text } = await first.prompt("Look")
  assert.match(text, /one 9[\s\S]*two 9|two 9[\s\S]*one 9/, "each sees what the other has done")
  const stack = Stack.open(project.stack)
  t.after(() => stack.close())
  assert.equal(stack.frames({ status: "planned" }).length, 20)
  assert.equal(stack.frames().filter(({ parentSessionID }) => parentSessionID === undefined).length, 3)
})
