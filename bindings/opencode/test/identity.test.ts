// What a root is about: it follows the session's title and newest task until an actor sets it.

import assert from "node:assert/strict"
import { test } from "node:test"
import { byTask, call, contextOf, done, PLUGIN, scenario, task, until } from "./harness/index.js"

test("a frame takes its title from its session, and its criteria from the task", async (t) => {
  const { server, frames } = await scenario(t, () => ({ text: "Seen" }))
  const { data: session } = await server.client.session.create({ body: {} })
  await server.prompt("Look at the parser of options and tell me", session?.id)
  // OpenCode asks a model for the title while the first message is answered.
  const frame = await until("the frame has the title of the session", () => frames().get("A title"))
  assert.equal(frame.successCriteria, "Look at the parser of options and tell me")
  assert.equal(frame.placeholder, true)
})

test("a root is about the newest task until something is pushed below it", async (t) => {
  const { model, server, frames } = await scenario(
    t,
    byTask({
      hello: [{ text: "Hi" }, call("stack_frame_push", task("Cart")), { text: "Built" }, { text: "It is red" }],
      Cart: [call("stack_frame_pop", done("The cart works"))],
    }),
  )
  const { data: session } = await server.client.session.create({ body: {} })
  const sessionID = session?.id ?? ""
  await server.prompt("hello", sessionID)
  await until("the frame has the title of the session", () => frames().get("A title"))
  const greeting = contextOf(model.work(sessionID)[0])
  assert.doesNotMatch(
    greeting.volatile,
    /Nothing is planned yet|<next-action>/,
    "a greeting is nothing to plan or finish",
  )
  await server.prompt("please build a shop", sessionID)
  assert.match(contextOf(model.work(sessionID)[1]).volatile, /Nothing is planned yet/)
  assert.equal(contextOf(model.work(sessionID)[1]).stable, greeting.stable)
  const child = model.requests.find(({ messages }) => messages[0]?.text.includes("Cart"))
  assert.match(
    contextOf(child).stable,
    /<ancestors count="1">\n<frame id="f1" status="in_progress">\n<title>please build a shop<\/title>/,
  )
  await server.prompt("What colour does the cart have?", sessionID)
  const root = frames().get("please build a shop")
  assert.deepEqual([root?.successCriteria, root?.placeholder], ["please build a shop", undefined])
})

test("an agent sets what its frame is about", async (t) => {
  const { server, frames } = await scenario(
    t,
    byTask({ hello: [call("stack_frame_identify", { title: "Shop", successCriteria: "It sells" }), { text: "Hi" }] }),
    { plugin: [PLUGIN, { tools: ["standard", "stack_frame_identify"] }] },
  )
  const { sessionID } = await server.prompt("hello")
  await server.prompt("please build a blog", sessionID)
  assert.deepEqual(
    [...frames().values()].map(({ title, successCriteria }) => [title, successCriteria]),
    [["Shop", "It sells"]],
  )
})
