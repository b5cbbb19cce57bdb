// The extension in the real pi: requests, records of the work, settings, and failures.

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Stack } from "callstack-core"
import {
  call,
  framesOf,
  type Model,
  makeWorld,
  pop,
  print,
  push,
  type Request,
  serve,
  startModel,
  type Turn,
  texts,
  until,
  type WorldOptions,
} from "./harness/index.js"

/** Runs pi once with a prompt. */
async function work(test: { after(end: () => unknown): void }, turns: readonly Turn[], options?: WorldOptions) {
  const model = await startModel(turns)
  test.after(() => model.close())
  const world = makeWorld(model.url, options)
  const ended = await print(world, "Build a shop, please")
  return { model, world, ...ended }
}

/** The context in a request: the part in the system prompt, and the part after the newest message. */
function contextOf({ system, items }: Request): { stable: string; volatile: string } {
  const [stable = ""] = /<stack-context>[\s\S]*<\/stack-context>/.exec(system) ?? []
  const [volatile = ""] = /^<stack-now>[\s\S]*<\/stack-now>/.exec(items.at(-1)?.text ?? "") ?? []
  return { stable, volatile }
}

/** The words from a list that an agent reads in each request. */
function read(model: Model, words: readonly string[]): string[][] {
  return model.requests.map((request) => words.filter((word) => texts(request).includes(word)))
}

test("pi -p: a finished frame is a call and its results, and the console has the answer alone", async (t) => {
  const { model, world, stdout, stderr, code } = await work(t, [
    push("Cart"),
    call("bash", { command: "echo what-a-cart-is" }),
    pop("Cart::total() in src/cart.ts"),
    { text: "The shop is open." },
  ])
  assert.deepEqual([stdout, stderr, code], ["The shop is open.\n", "", 0])
  const words = ["f2 (Cart) has begun", "what-a-cart-is", "Results: Cart::total() in src/cart.ts"]
  assert.deepEqual(read(model, words), [[], words.slice(0, 1), words.slice(0, 2), words.slice(2)])
  const frames = framesOf(world)
  assert.deepEqual(
    [...frames.values()].map(({ title, status }) => [title, status]),
    [
      ["Build a shop, please", "in_progress"],
      ["Cart", "completed"],
    ],
  )
  const offered = model.requests[0]?.tools ?? []
  using stack = Stack.inMemory()
  for (const { name } of stack.tools()) assert.ok(offered.includes(name), `${name} is not in the request`)
})

for (const api of ["anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai"] as const) {
  test(`${api}: each request begins with the one before, up to what was folded`, async (t) => {
    const turns = ["Cart", "Mail"].flatMap((title) => [
      { ...push(title), text: `Now the ${title}.` },
      { ...call("bash", { command: `echo about-${title}` }), reasoning: "I look.", text: "I look." },
      pop(`${title} is done`),
    ])
    const { model, stdout } = await work(t, turns, { api })
    assert.equal(stdout, "Done.\n")
    const bodies = model.requests.map(({ items }) => items.map((item) => JSON.stringify({ ...item, id: "" })))
    const [last = []] = bodies.slice(-1)
    assert.ok(last.some((item) => item.includes("Mail is done")) && !last.some((item) => item.includes("about-")))
    bodies.slice(1).forEach((body, index) => {
      const before = (bodies[index] ?? []).filter((item) => !item.includes("<stack-now>"))
      const same = before.findIndex((item, place) => item !== body[place])
      // At a pop the answer of the push changes.
      const isFolded = index === 2 || index === 5
      assert.equal(same < 0, !isFolded, `request ${index + 1}:\n${body.join("\n")}`)
      if (isFolded) assert.match(before[same] ?? "", /has begun/)
    })
  })
}

test("the context is in the system prompt, which keeps its bytes, and behind the newest message", async (t) => {
  const { model } = await work(t, [
    call("stack_frame_plan_children", {
      children: ["Cart", "Mail"].map((title) => ({ title, successCriteria: "", successCriteriaCompacted: "" })),
    }),
    call("stack_frame_activate", { sessionID: "f2" }),
    pop("Cart is done"),
  ])
  const contexts = model.requests.map(contextOf)
  assert.match(contexts[0]?.stable ?? "", /<stack-task-management>/)
  assert.equal(new Set(model.requests.map(({ system }) => system)).size, 1)
  assert.match(contexts[0]?.volatile ?? "", /<current-frame id="f1"/)
})

test("marks of a prompt cache stand before the text that changes with each request", async (t) => {
  const compat = { cacheControlFormat: "anthropic" }
  for (const options of [{}, { api: "openai-completions", model: { compat } }] as const) {
    const { model } = await work(t, [push("Cart"), pop("Cart is done")], options)
    const [first, ...later] = model.requests.map(({ body }) => body["messages"] as { content: unknown }[])
    assert.match(JSON.stringify(first?.at(-1)), /stack-now/)
    assert.doesNotMatch(JSON.stringify(first?.at(-1)), /cache_control/)
    assert.match(JSON.stringify(first?.at(-2)), /"text":"Build a shop, please","cache_control"/)
    for (const messages of later)
      assert.equal(JSON.stringify(messages).split("cache_control").length, 2 + Number("model" in options))
  }
})

test("a text on the heap is in the system prompt of the next request", async (t) => {
  const { model } = await work(t, [
    call("stack_heap_alloc", { name: "style", content: "Prices are integers." }),
    call("bash", { command: "true" }),
  ])
  assert.deepEqual(
    model.requests.map(({ system }) => system.includes("Prices are integers.")),
    [false, true, true],
  )
})

test("files that tools write become artifacts of the frame in which the conversation is", async (t) => {
  const { world } = await work(
    t,
    [
      call("write", { path: "src/shop.ts", content: "1" }),
      push("Cart"),
      call("write", { path: "@src/cart.ts", content: "2" }),
      call("edit", { path: "src/shop.ts", edits: [{ oldText: "1", newText: "3" }] }),
      call("edit", { path: "src/none.ts", edits: [{ oldText: "1", newText: "3" }] }),
      call("read", { path: "src/cart.ts" }),
      pop("Cart is done"),
      call("write", { path: "/tmp/callstack-pi-outside.txt", content: "4" }),
    ],
    {},
  )
  const frames = framesOf(world)
  assert.deepEqual(frames.get("Cart")?.artifacts, ["src/cart.ts", "src/shop.ts"])
  assert.deepEqual(frames.get("Build a shop, please")?.artifacts, ["src/shop.ts", "/tmp/callstack-pi-outside.txt"])
})

test("each request counts in the frame in which it was made, with its tokens", async (t) => {
  const { model, world } = await work(t, [
    push("Cart"),
    call("bash", { command: "true" }),
    pop("Cart is done"),
    { status: 400, message: "this is refused" },
  ])
  const usage = (title: string) => {
    using stack = Stack.open(world.stack)
    return stack.usage(framesOf(world).get(title)?.handle ?? "").own
  }
  const bills = model.requests.map(({ bill }) => bill)
  const sum = (key: "read" | "write" | "uncached", from: number, to: number) =>
    bills.slice(from, to).reduce((total, bill) => total + (bill?.[key] ?? 0), 0)
  const [cart] = usage("Cart")
  assert.deepEqual(
    [cart?.model, cart?.requests, cart?.failed, cart?.cacheRead, cart?.cacheWrite, cart?.uncachedInput],
    ["scripted/scripted", 2, 0, sum("read", 1, 3), sum("write", 1, 3), sum("uncached", 1, 3)],
  )
  const [shop] = usage("Build a shop, please")
  assert.deepEqual([shop?.requests, shop?.failed, shop?.cacheWrite], [2, 1, bills[0]?.write])
})

test("the log of a frame has what was said in it", async (t) => {
  const { world } = await work(t, [
    push("Cart"),
    { ...call("bash", { command: "echo out-of-cart" }), text: "I look." },
    pop("Cart is done"),
  ])
  using stack = Stack.open(world.stack)
  const log = JSON.stringify(stack.readLog("Cart"))
  assert.match(log, /I look\./)
  assert.match(log, /out-of-cart/)
  assert.doesNotMatch(JSON.stringify(stack.readLog("f1")), /out-of-cart/)
})

test("calls that cannot wait for a session of their own are planned", async (t) => {
  const { model } = await work(t, [{ calls: [...(push("Cart").calls ?? []), ...(push("Mail").calls ?? [])] }])
  assert.match(
    texts(model.requests.at(-1) as Request),
    /f2 \(Cart\) has begun[\s\S]*f3 \(Mail\) could not be started: .*\. It is planned/,
  )
  const properties = JSON.stringify(model.requests[0]?.body["tools"])
  assert.doesNotMatch(properties, /"background"/)
})

test("a refused call is an error for the model", async (t) => {
  const { model } = await work(t, [
    call("stack_frame_activate", { sessionID: "f9" }),
    call("stack_frame_push", { title: "Cart" }),
  ])
  const results = model.requests.at(-1)?.results ?? []
  assert.deepEqual(
    results.map(({ isError }) => isError),
    [true, true],
  )
  assert.match(results[0]?.text ?? "", /no frame matches `f9`/)
})

test("words that a person writes while the agent works stay where they are", async (t) => {
  const model = await startModel([
    push("Cart"),
    { ...call("bash", { command: "echo secret" }), wait: 1500 },
    pop("Cart is done"),
    push("Mail"),
  ])
  t.after(() => model.close())
  const pi = serve(t, makeWorld(model.url))
  const working = pi.prompt("Build a shop, please")
  await until("the agent is in the frame", () => model.requests.length === 2)
  await pi.send({ type: "steer", message: "Use integers for prices." })
  await working
  const last = texts(model.requests.at(-1) as Request)
  assert.match(last, /Use integers for prices\./)
  assert.doesNotMatch(last, /secret/)
})

test("a turn begins with a thought where the provider wants that, which only its request says", async (t) => {
  for (const [id, keeps] of [
    ["claude-sonnet-4-5", true],
    ["claude-opus-4-6", false],
  ] as const) {
    const model = await startModel([
      { ...push("Cart"), reasoning: "Where to begin?" },
      { ...call("bash", { command: "echo files" }), wait: 1500, reasoning: "What is there?" },
      { ...call("bash", { command: "true" }), reasoning: "They want integers." },
      pop("Cart::total()"),
      call("bash", { command: "echo later" }),
    ])
    t.after(() => model.close())
    const pi = serve(t, makeWorld(model.url, { model: { id, reasoning: true } }), "--model", id, "--thinking", "low")
    const working = pi.prompt("Build a shop")
    await until("the agent is in the frame", () => model.requests.length === 2)
    await pi.send({ type: "steer", message: "Use integers for prices." })
    await working
    const items = model.requests.at(-1)?.items ?? []
    const words = items.findIndex(({ text }) => text === "Use integers for prices.")
    assert.equal(items[words + 1]?.text === "They want integers.", keeps, JSON.stringify(items, null, 1))
    assert.ok(!JSON.stringify(items).includes("What is there?"))
  }
})

test("settings of the project come before those of all projects, and what is wrong in them is said", async (t) => {
  const model = await startModel([])
  t.after(() => model.close())
  const files = {
    ".pi/callstack.json": JSON.stringify({
      folder: "work/stack",
      tools: ["standard", "stack_tree"],
      calls: { in: "session", maxDepth: 0 },
      hue: 1,
    }),
  }
  const world = makeWorld(model.url, { files })
  writeFileSync(join(world.agent, "callstack.json"), JSON.stringify({ folder: "elsewhere", tools: "all" }))
  const { stderr } = await print(world, "Build a shop, please")
  assert.match(stderr, /^\[stack\] .*hue/m)
  const tools = model.requests[0]?.tools ?? []
  assert.ok(tools.includes("stack_tree") && !tools.includes("stack_registers_update"), tools.join(", "))
  assert.equal(framesOf({ ...world, stack: join(world.path, "work/stack") }).size, 1)
  writeFileSync(join(world.agent, "callstack.json"), "{")
  assert.match((await print(world, "Go on")).stderr, /^\[stack\] .*agent\/callstack\.json is ignored: /m)
})

test("without the native library pi continues without the stack", async (t) => {
  const { model, stdout, stderr, code } = await work(t, [{ text: "Still here" }], {
    env: { CALLSTACK_LIBRARY: "/nowhere/libcallstack.so" },
  })
  assert.deepEqual([stdout, code], ["Still here\n", 0])
  assert.match(
    stderr,
    /^\[stack\] disabled, pi continues without it: the native library of callstack-core was not found.*\/nowhere\/libcallstack\.so/,
  )
  assert.deepEqual(model.requests[0]?.tools, ["read", "bash", "edit", "write"])
})

test("a stack that cannot be opened is left unchanged, and pi continues", async (t) => {
  const model = await startModel([{ text: "Still here" }])
  t.after(() => model.close())
  const world = makeWorld(model.url)
  mkdirSync(world.stack, { recursive: true })
  writeFileSync(join(world.stack, "stack.db"), "this is no database, whatever its name says")
  const { stdout, stderr } = await print(world, "Build a shop, please")
  assert.equal(stdout, "Still here\n")
  assert.match(stderr, /disabled, pi continues without it: .*stack\.db is damaged/)
})

test("it loads as npm installs it, without scripts", async (t) => {
  const packages = mkdtempSync(join(tmpdir(), "callstack-packages-"))
  const names = ["pi-callstack", "callstack-core", "callstack-core-linux-x64"]
  execFileSync("node", [fileURLToPath(new URL("../../../scripts/pack.mjs", import.meta.url)), packages, ...names])
  const files = names.map((name) => join(packages, `${name}-0.1.0.tgz`))
  execFileSync("npm", ["install", "--prefix", packages, "--ignore-scripts", "--no-audit", "--no-fund", ...files], {
    stdio: "ignore",
  })
  const extensions = [join(packages, "node_modules", "pi-callstack")]
  const { world, stdout, stderr } = await work(t, [push("Cart"), pop("Cart is done"), { text: "Open." }], {
    extensions,
  })
  assert.deepEqual([stdout, stderr], ["Open.\n", ""])
  assert.equal(framesOf(world).get("Cart")?.status, "completed")
})
