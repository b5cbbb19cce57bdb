// The conversation of a session: compactions, and what a person does with it in pi.

import assert from "node:assert/strict"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { fileURLToPath } from "node:url"
import { Stack } from "callstack-core"
import {
  call,
  EXTENSION,
  framesOf,
  type Model,
  makeWorld,
  pop,
  print,
  push,
  type Request,
  type Rpc,
  serve,
  startModel,
  type Turn,
  texts,
  until,
  type World,
} from "./harness/index.js"

const NAVIGATOR = fileURLToPath(new URL("harness/navigator.js", import.meta.url))

/** A running pi with a model. */
async function chat(
  t: TestContext,
  turns: readonly Turn[],
  settings?: object,
): Promise<{ model: Model; world: World; pi: Rpc }> {
  const model = await startModel(turns, summary)
  t.after(() => model.close())
  const world = makeWorld(model.url, { extensions: [EXTENSION, NAVIGATOR], ...(settings && { settings }) })
  return { model, world, pi: serve(t, world) }
}

/** The requests for summaries, and the answers to them. */
const summary = ({ items }: Request) => ({
  text: `The cart adds up in euros; tests of taxes are left (${items.length}).`,
})

/** The newest request for work. */
function newest({ requests }: Model): Request {
  const request = requests.findLast(({ tools }) => tools.length > 0)
  if (request === undefined) throw new Error("there is no request")
  return request
}

/** The statuses of frames, by title. */
function statuses(world: World): Record<string, string> {
  return Object.fromEntries([...framesOf(world)].map(([title, { status }]) => [title, status]))
}

/** Returns a turn that runs a command whose output has a word. */
function look(word: string): Turn {
  return { ...call("bash", { command: `echo ${word}` }), text: `I look at ${word}.` }
}

test("a compaction sums up the folded conversation with what the frame needs, and becomes its results so far", async (t) => {
  const { model, world, pi } = await chat(
    t,
    [
      push("Cart"),
      look("about-the-cart"),
      pop("Cart::total()"),
      call("stack_add_decision", { decision: "Prices are integers" }),
      call("read", { path: "shop.md" }),
      push("Taxes"),
      look("about-taxes"),
      { text: "I wait." },
    ],
    { compaction: { enabled: false, keepRecentTokens: 1 } },
  )
  await pi.prompt("Build a shop where customers can pay")
  await pi.send({ type: "compact", customInstructions: "Keep the prices." })
  const asked = texts(model.requests.find(({ tools }) => tools.length === 0) as Request)
  assert.match(asked, /Results: Cart::total\(\)/)
  assert.doesNotMatch(asked, /about-the-cart/)
  assert.match(asked, /about-taxes[\s\S]*Keep the prices\.[\s\S]*The frame: Taxes/)
  assert.equal(framesOf(world).get("Taxes")?.results?.startsWith("The cart adds up in euros"), true)

  await pi.prompt("Go on")
  const { stable, volatile } = { stable: newest(model).system, volatile: newest(model).items.at(-1)?.text ?? "" }
  assert.match(stable, /<title>Taxes<\/title>|Build a shop/)
  assert.match(volatile, /<stack-now>[\s\S]*<current-frame id="f3"/)
  await pi.send({ type: "compact" })
  const summaries = model.requests.filter(({ tools }) => tools.length === 0)
  assert.equal(summaries.length, 2, "one request for each summary")
  const entries = (await pi.send({ type: "get_messages" }))["messages"] as { role: string; summary?: string }[]
  assert.match(
    entries.find(({ role }) => role === "compactionSummary")?.summary ?? "",
    /shop\.md/,
    "the files of the one before",
  )
})

test("the agent asks for a compaction, which begins when it is idle", async (t) => {
  const settings = { compaction: { enabled: false, keepRecentTokens: 1 } }
  const turns = [push("Cart"), call("stack_frame_summarize", { note: "before the taxes" }), { text: "Summed up." }]
  const { model, world, pi } = await chat(t, turns, settings)
  await pi.prompt("Build a shop")
  await until("the summary is there", () => framesOf(world).get("Cart")?.results?.startsWith("The cart adds up"))
  assert.match(texts(model.requests.at(-1) as Request), /Special request: before the taxes/)
  // Without an interface pi ends first, and says nothing about it.
  const other = await startModel(turns)
  t.after(() => other.close())
  const { stdout, stderr } = await print(makeWorld(other.url, { settings }), "Build a shop")
  assert.deepEqual([stdout, stderr], ["Summed up.\n", ""])
})

test("pi goes on with a session in its frame", async (t) => {
  const model = await startModel([
    push("Cart"),
    { text: "Half of it." },
    pop("Cart::total()"),
    { text: "All of it." },
    { text: "New." },
  ])
  t.after(() => model.close())
  const world = makeWorld(model.url)
  await print(world, "Build a shop")
  assert.deepEqual(statuses(world), { "Build a shop": "in_progress", Cart: "in_progress" })
  await print(world, "--continue", "Go on")
  assert.deepEqual(statuses(world), { "Build a shop": "in_progress", Cart: "completed" })
  await print(world, "Write a blog")
  assert.deepEqual(statuses(world), { "Build a shop": "in_progress", Cart: "completed", "Write a blog": "in_progress" })
})

test("who goes back is in the frame of then; what was begun since is blocked, and lost results are shown", async (t) => {
  const { model, world, pi } = await chat(t, [
    push("Cart"),
    look("step-one"),
    push("Totals"),
    pop("Totals::sum()"),
    push("Taxes"),
    { text: "I am in the taxes." },
    // After the person has gone back.
    { text: "I am in the cart." },
    call("stack_frame_activate", { sessionID: "f4" }),
    pop("Taxes are right"),
    pop("The cart is right"),
    { text: "Done with the cart." },
  ])
  await pi.prompt("Build a shop")
  assert.equal(pi.status(), "f4 Taxes (2 of 2)")
  await pi.type("/go-to step-one")
  assert.equal(pi.status(), "f2 Cart")
  assert.deepEqual(statuses(world), {
    "Build a shop": "in_progress",
    Cart: "in_progress",
    Totals: "completed",
    Taxes: "blocked",
  })
  await pi.prompt("Do it otherwise")
  const request = newest(model)
  assert.doesNotMatch(texts(request), /Totals works/)
  assert.match(texts(request), /The person has gone back to this point of the conversation\./)
  assert.match(request.system + texts(request), /Totals::sum\(\)/)
  await pi.prompt("Now the taxes")
  assert.deepEqual(statuses(world), {
    "Build a shop": "in_progress",
    Cart: "completed",
    Totals: "completed",
    Taxes: "completed",
  })
  const told = model.requests.filter((request) => texts(request).includes("The person has gone back")).length
  assert.equal(told, model.requests.length - 6, "it stays in the conversation")
  assert.doesNotMatch(texts(newest(model)), /step-one/)
})

test("a copy of a session works on a frame of its own, and is told so", async (t) => {
  const { model, world, pi } = await chat(t, [
    push("Cart"),
    { text: "Half of it." },
    call("stack_status"),
    { text: "A copy." },
  ])
  await pi.prompt("Build a shop")
  await pi.send({ type: "clone" })
  await pi.prompt("Build another shop")
  assert.match(texts(newest(model)), /This conversation was copied from another session\./)
  assert.match(texts(newest(model)), /This session works on f3 \(Build another shop\)/)
  assert.deepEqual(statuses(world), {
    "Build a shop": "in_progress",
    Cart: "in_progress",
    "Build another shop": "in_progress",
  })
  await pi.prompt("Go on")
  assert.equal(texts(newest(model)).split("was copied").length, 2, "it is told once")
})

test("a session that is opened again, and a new one", async (t) => {
  const { world, pi } = await chat(t, [
    push("Cart"),
    { text: "Half of it." },
    { text: "A blog." },
    pop("Cart::total()"),
    { text: "All of it." },
  ])
  await pi.prompt("Build a shop")
  const { sessionFile } = await pi.send({ type: "get_state" })
  await pi.send({ type: "new_session" })
  assert.equal(pi.status(), undefined)
  await pi.prompt("Write a blog")
  assert.equal(pi.status(), "f3 Write a blog")
  await pi.send({ type: "switch_session", sessionPath: sessionFile })
  assert.equal(pi.status(), "f2 Cart")
  await pi.prompt("Go on")
  assert.deepEqual(statuses(world), { "Build a shop": "in_progress", Cart: "completed", "Write a blog": "in_progress" })
  assert.equal(pi.errors(), "")
})

test("two programs work on one project, each in its frame", async (t) => {
  const model = await startModel([])
  t.after(() => model.close())
  const world = makeWorld(model.url)
  const [one, two] = [serve(t, world), serve(t, world)]
  await Promise.all([one.prompt("Build a shop"), two.prompt("Write a blog")])
  assert.deepEqual(statuses(world), { "Build a shop": "in_progress", "Write a blog": "in_progress" })
  assert.deepEqual([one.status()?.slice(3), two.status()?.slice(3)], ["Build a shop", "Write a blog"])
})

test("a name of the session is that of its frame, until something is planned", async (t) => {
  const { world, pi } = await chat(t, [])
  await pi.prompt("Build a shop where customers can pay")
  await pi.send({ type: "set_session_name", name: "Shop" })
  await pi.prompt("Go on")
  assert.deepEqual(statuses(world), { Shop: "in_progress" })
})

test("the stack has the same frames when pi has been killed", async (t) => {
  const { world, pi } = await chat(t, [push("Cart"), { ...look("nothing"), wait: 60_000 }])
  const working = pi.prompt("Build a shop").catch(() => undefined)
  while (statuses(world)["Cart"] === undefined) await new Promise((resolve) => setTimeout(resolve, 50))
  await pi.stop("SIGKILL")
  await working
  assert.deepEqual(statuses(world), { "Build a shop": "in_progress", Cart: "in_progress" })
  using stack = Stack.open(world.stack)
  assert.equal(stack.frame("Cart").parentSessionID, stack.frame("f1").sessionID)
  assert.equal(readdirSync(join(world.stack)).includes("stack.db"), true)
})
