// What a person sees and types: slash commands, the status line, the calls of tools, in pi's modes and at a terminal.

import assert from "node:assert/strict"
import { test } from "node:test"
import {
  call,
  framesOf,
  makeWorld,
  pop,
  print,
  push,
  type Request,
  serve,
  sitDown,
  startModel,
  type Turn,
  texts,
  until,
} from "./harness/index.js"

const planned: Turn[] = [
  call("stack_frame_plan_children", {
    children: ["Cart", "Mail"].map((title) => ({ title, successCriteria: title, successCriteriaCompacted: title })),
    begin: true,
  }),
  { text: "I begin with the cart." },
]

test("a person sees the tree and the usage, and that costs no request", async (t) => {
  const model = await startModel(planned)
  t.after(() => model.close())
  const pi = serve(t, makeWorld(model.url))
  await pi.prompt("Build a shop")
  const requests = model.requests.length
  const tree = await pi.type("/stack")
  assert.match(tree.text, /^\[>\] f1 Build a shop\n\|-- \[>\] f2 Cart {2}<-- ACTIVE\n`-- \[ \] f3 Mail\n/)
  assert.match((await pi.type("/stack f3")).text, /Criteria: Mail/)
  assert.match((await pi.type("/stack-status")).text, /works on f2 \(Cart\)/)
  assert.match((await pi.type("/stack-usage")).text, /f1 and below +requests.*\nscripted\/scripted +2 /)
  assert.equal(model.requests.length, requests)
  const { commands } = (await pi.send({ type: "get_commands" })) as {
    commands: { name: string; description: string }[]
  }
  assert.equal(
    commands.find(({ name }) => name === "stack-answer")?.description,
    "Answer a blocked frame, so that it can resume: FRAME ANSWER",
  )
  await pi.prompt("Go on")
  assert.doesNotMatch(texts(model.requests.at(-1) as Request), /with the command/)
})

test("the agent learns with its next request what a person has changed", async (t) => {
  const model = await startModel(planned)
  t.after(() => model.close())
  const world = makeWorld(model.url)
  const pi = serve(t, world)
  await pi.prompt("Build a shop")
  assert.match((await pi.type("/stack-plan Taxes: VAT is right")).text, /f4 \(Taxes\)/)
  assert.match((await pi.type("/stack-pop f2 Cart::total()")).text, /f2 is not done: open or planned below it: f4/)
  assert.match((await pi.type("/stack-pop f2 anyway Cart::total()")).text, /f2 \(Cart\) is completed/)
  assert.equal(pi.status(), "f1 Build a shop")
  assert.match((await pi.type("/stack-push Search")).text, /f5 \(Search\) has begun/)
  assert.equal(pi.status(), "f5 Search (3 of 3)")
  assert.match((await pi.type("/stack-push Index: It finds words")).text, /f6 \(Index\) has begun/)
  const refused = await pi.type("/stack-activate f9")
  assert.deepEqual(
    [refused.level, refused.text.startsWith("[stack] stack_frame_activate: no frame matches")],
    ["error", true],
  )
  assert.match((await pi.type("/stack-answer f3")).text, /Nothing was done\. Usage: \/stack-answer FRAME ANSWER/)
  await pi.prompt("Go on")
  const told = texts(model.requests.at(-1) as Request)
  assert.match(
    told,
    /has used the command \/stack-plan\.[\s\S]*f4 \(Taxes\)[\s\S]*\/stack-pop\.[\s\S]*\/stack-push\.[\s\S]*It finds words[\s\S]*You are in f6 \(Index\)\./,
  )
  assert.match(
    told,
    /\/stack-pop\. They have written:\nf2 anyway Cart::total\(\)\n/,
    "the answer does not have the results",
  )
  assert.match(told, /\/stack-activate\. They have written:\nf9\nIt was refused, and nothing has changed:\n/)
  assert.doesNotMatch(told, /stack-answer\./)
  assert.deepEqual(
    [...framesOf(world)].map(([title, { status }]) => [title, status]),
    [
      ["Build a shop", "in_progress"],
      ["Cart", "completed"],
      ["Mail", "planned"],
      ["Taxes", "planned"],
      ["Search", "in_progress"],
      ["Index", "in_progress"],
    ],
  )
})

test("what a person changes while the agent works reaches its next request", async (t) => {
  const model = await startModel([
    push("Cart"),
    { ...call("bash", { command: "true" }), wait: 1500 },
    pop("Cart::total()"),
  ])
  t.after(() => model.close())
  const pi = serve(t, makeWorld(model.url))
  const working = pi.prompt("Build a shop")
  await until("the agent is in the frame", () => model.requests.length === 2)
  await pi.type("/stack-plan Mail")
  await working
  assert.match(texts(model.requests[2] as Request), /has used the command \/stack-plan\./)
})

test("pi -p: a command is answered without a model", async (t) => {
  const model = await startModel([])
  t.after(() => model.close())
  const { stderr } = await print(makeWorld(model.url), "/stack all")
  assert.match(stderr, /No frames yet/i)
  assert.equal(model.requests.length, 0)
})

test("at a terminal: the status line, the calls of tools, and commands that complete frames", async (t) => {
  const model = await startModel([
    push("Cart"),
    call("bash", { command: "echo about-the-cart" }),
    pop("Cart::total() adds up"),
    { text: "The cart is there." },
  ])
  t.after(() => model.close())
  const world = makeWorld(model.url)
  const person = sitDown(t, world)
  await person.waitFor(/scripted/)
  await person.write("Build a shop")
  await person.waitFor(/The cart is there\./)
  await person.waitFor(/^ *stack_frame_push Cart/)
  await person.waitFor(/^ *f2 Cart$/)
  await person.waitFor(/f2 Cart → completed: Cart::total\(\) adds up/)
  await person.waitFor(/^ *f1 Build a shop$/)
  assert.ok(!person.sees().some((line) => line.includes("You are in f1")), "the whole answer is hidden")
  person.type("\x0f")
  await person.waitFor(/You are in f1 \(Build a shop\)\./)
  person.type("\x0f")
  await person.waitForNo(/You are in f1/)
  person.type("/stack ca")
  await person.waitFor(/^\W*f2 Cart$/)
  person.type("\t\r")
  await person.waitFor(/Criteria: Cart works/)
  await person.write("/stack-push Mail")
  await person.waitFor(/^ *f3 Mail \(2 of 2\)$/)
  person.type("\x04")
  assert.equal(await person.ended(), 0)
  assert.equal(framesOf(world).get("Mail")?.status, "in_progress")
})

test("at a terminal: a person goes back in the tree of the conversation", async (t) => {
  const model = await startModel([
    { text: "What shall I build first?" },
    push("Cart"),
    { text: "Half of the cart." },
    { text: "Then the mail." },
  ])
  t.after(() => model.close())
  const world = makeWorld(model.url)
  const person = sitDown(t, world)
  await person.waitFor(/scripted/)
  await person.write("Build a shop")
  await person.waitFor(/What shall I build first\?/)
  await person.write("Basket first")
  await person.waitFor(/Half of the cart\./)
  await person.waitFor(/^ *f2 Cart$/)
  await person.write("/tree")
  await person.waitFor(/Session Tree/)
  person.type("basket")
  await person.waitFor(/user: Basket first/)
  person.type("\r")
  await person.waitFor(/Summarize branch\?/)
  await person.waitFor(/→ No summary/)
  person.type("\r")
  await person.waitFor(/^ *f1 Build a shop$/)
  assert.equal(framesOf(world).get("Cart")?.status, "blocked")
  person.type("\x04")
})

test("at a terminal: without the native library pi says why, and works", async (t) => {
  const model = await startModel([{ text: "Still here." }])
  t.after(() => model.close())
  const person = sitDown(t, makeWorld(model.url, { env: { CALLSTACK_LIBRARY: "/nowhere/libcallstack.so" } }))
  await person.waitFor(/\[stack\] disabled, pi continues without it/)
  await person.write("/stack")
  await person.waitFor(/there is no call stack here/)
  await person.write("Build a shop")
  await person.waitFor(/Still here\./)
  person.type("\x04")
})
