// Two root sessions in one project.

import assert from "node:assert/strict"
import { test } from "node:test"
import { answers, byTask, call, contextOf, done, scenario, task } from "./harness/index.js"

test("two roots at once: neither lands in the tree of the other", async (t) => {
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  const { server, frames, model } = await scenario(
    t,
    byTask({
      "Build a shop": [
        // The bank was the last to work when these calls arrive.
        { ...call("stack_frame_plan_children", { children: [task("Cart")] }), after: held },
        call("stack_frame_push", task("Pay")),
        call("stack_status"),
        (request) => ({ text: answers(request)[0] ?? "" }),
      ],
      "Build a bank": [
        call("stack_frame_push", task("Vault")),
        (request) => ({ text: answers(request)[0] ?? "" }),
        call("stack_status", { all: true }),
        (request) => ({ text: answers(request)[0] ?? "" }),
      ],
      Pay: [call("stack_frame_pop", done("Cards work"))],
      Vault: [call("stack_frame_pop", done("The vault is closed"))],
    }),
  )
  const shop = (await server.client.session.create({ body: { title: "Shop" } })).data?.id ?? ""
  const bank = (await server.client.session.create({ body: { title: "Bank" } })).data?.id ?? ""
  const shopping = server.prompt("Build a shop", shop)
  try {
    assert.match((await server.prompt("Build a bank", bank)).text, /The vault is closed/)
  } finally {
    release()
  }
  const { text } = await shopping
  const found = frames()
  assert.deepEqual(
    ["Shop", "Bank", "Vault", "Cart", "Pay"].map((title) => found.get(title)?.parentSessionID),
    [undefined, undefined, bank, shop, shop],
  )
  assert.match(text, /Shop {2}<-- ACTIVE/, "the mark is the caller's")
  assert.match(text, /^Trees of other sessions: 1 \(1 in_progress\); stack_status with "all": true shows them\.$/m)
  assert.doesNotMatch(text, /Bank|Vault/)
  const { stable, volatile } = contextOf(model.work(shop).at(-1))
  assert.doesNotMatch(stable + volatile, /Bank|Vault/)
  const all = (await server.prompt("Go on", bank)).text
  for (const title of ["Shop", "Cart", "Pay", "Bank {2}<-- ACTIVE", "Vault"]) assert.match(all, new RegExp(title))
})
