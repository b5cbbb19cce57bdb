// Push and activate as calls: the child works in its own session, and its results answer the parent's tool call.

import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { type FrameRecord, Stack, type StackState } from "callstack-core"
import { answers, byTask, call, contextOf, done, PLUGIN, readJson, scenario, task, until } from "./harness/index.js"
import { shop } from "./harness/shop.js"

test("children are planned and run, and the parent and the siblings get their results", async (t) => {
  const { model, server, project, frames, logged } = await scenario(t, shop)
  const { sessionID, text } = await server.prompt("Build a shop")
  assert.equal(text, "The shop is open.")

  const root = model.work(sessionID)
  assert.equal(root.length, 5)
  assert.match(
    answers(root[2])[0] ?? "",
    /^f2 \(Catalogue\) is completed\.\nResults: Articles are in src\/catalogue\.ts: articles[^\n]*12 tests\.\nArtifacts: src\/catalogue\.ts\nDecisions: Prices are integers: cents\nNext: stack_frame_activate f3 \(Cart\)\.$/,
  )
  assert.match(answers(root[3])[0] ?? "", /^f3 \(Cart\) is completed\.\nResults: Totals are right\n/)

  const children = [...new Set(model.requests.map((request) => request.sessionID))].filter((id) => id !== sessionID)
  assert.equal(children.length, 3)
  const [catalogue, cart, totals] = children.map((id) => model.work(id))
  assert.match(contextOf(catalogue?.[0]).stable, /<stack-context>[\s\S]*<ancestors count="1">\n<frame id="f1"/)
  assert.doesNotMatch(contextOf(catalogue?.[0]).stable, /completed-siblings|<dependencies>/)
  assert.match(
    contextOf(cart?.[0]).stable,
    /<completed-siblings>\n<frame id="f2" status="completed"[\s\S]*price\(id\) in cents/,
  )
  assert.match(contextOf(cart?.[0]).volatile, /<stack-now>[\s\S]*<current-frame id="f3"[\s\S]*<title>Cart<\/title>/)
  assert.match(
    contextOf(totals?.[0]).stable,
    /<inherited-dependencies of="f3">\n<frame id="f2" status="completed"[\s\S]*price\(id\) in cents/,
    "what an ancestor depends on is in the context of the frames below it",
  )
  assert.match(
    cart?.[0]?.messages[0]?.text ?? "",
    /^Your task is frame f3: Cart\nIt is done when: Cart works, with tests/,
  )

  const found = frames()
  const status = (title: string) => [found.get(title)?.status, found.get(title)?.parentSessionID]
  assert.deepEqual(
    [status("Test"), status("Catalogue"), status("Cart")],
    [
      ["completed", undefined],
      ["completed", sessionID],
      ["completed", sessionID],
    ],
  )
  assert.deepEqual(found.get("Catalogue")?.artifacts, ["src/catalogue.ts"])
  assert.deepEqual(found.get("Catalogue")?.decisions, ["Prices are integers: cents"])
  assert.ok(existsSync(join(project.path, "src/catalogue.ts")))

  await server.stop()
  const read = (...path: string[]) => readFileSync(join(project.stack, ...path), "utf8")
  const state = readJson<StackState>(read("state.json"))
  assert.deepEqual(
    Object.values(state.frames).map((frame) => frame.status),
    ["completed", "completed", "completed", "completed"],
  )
  assert.deepEqual(state.rootFrameIDs, [sessionID])
  assert.deepEqual(Object.keys(state.frames), [sessionID, ...children])
  for (const [id, words] of [
    [sessionID, "Build a shop"],
    [children[0], "stack_add_decision"],
    [children[1], "Your task is frame f3"],
  ]) {
    assert.equal(readJson<FrameRecord>(read("frames", `${id}.json`)).sessionID, id)
    assert.ok(read("logs", `${id}.jsonl`).includes(String(words)), `the log of ${id} has no ${words}`)
  }
  for (const line of ["Frame created", "Frame planned", "Frame activated", "Frame completed", "Context generated"]) {
    await logged(line)
  }
})

// The example of the specification, section 5: in B1 the context holds the results of A, a finished sibling
// of B, and nothing of A1 and A2.
test("a grandchild sees the results of its parent's siblings, and nothing of what is below them", async (t) => {
  const { model, server, frames } = await scenario(
    t,
    byTask({
      "Build App": [
        call("stack_frame_push", task("Auth")),
        call("stack_frame_push", task("API Routes")),
        { text: "The app is built" },
      ],
      "frame f2": [
        call("stack_frame_push", task("Hash passwords")),
        call("stack_frame_push", task("Sign tokens")),
        call("stack_frame_pop", done("JWT with refresh tokens; middleware require")),
      ],
      "frame f3": [call("stack_frame_pop", done("Argon2 in hash.ts"))],
      "frame f4": [call("stack_frame_pop", done("Keys rotate in keys.ts"))],
      "frame f5": [
        call("stack_frame_plan_children", { children: [task("CRUD Endpoints"), task("Pagination")] }),
        call("stack_frame_activate", { sessionID: "f6" }),
        call("stack_frame_pop", done("Routes work")),
      ],
      "frame f6": [call("stack_frame_pop", done("GET, POST, PUT, DELETE"))],
    }),
  )
  await server.prompt("Build App")
  const { stable, volatile } = contextOf(model.work(frames().get("CRUD Endpoints")?.sessionID ?? "")[0])
  assert.match(
    stable,
    /<ancestor-siblings beside="f5">\n<frame id="f2" status="completed">\n<title>Auth<\/title>\n<results>JWT with refresh tokens; middleware require<\/results>/,
  )
  assert.doesNotMatch(stable + volatile, /Hash passwords|Argon2|Sign tokens|keys\.ts|"f3"|"f4"/)
})

test("a child two levels deep returns through both levels", async (t) => {
  const { model, server, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("stack_frame_push", task("Outer")),
        (request) => ({ text: `root: ${answers(request)[0]}` }),
      ],
      "frame f2": [
        call("stack_frame_push", task("Inner")),
        (request) => call("stack_frame_pop", done(`outer got: ${answers(request)[0]?.split("\n")[1]}`)),
      ],
      "frame f3": [call("stack_frame_pop", done("the inner result"))],
    }),
  )
  const { text } = await server.prompt("Build a shop")
  assert.match(text, /^root: f2 \(Outer\) is completed\.\nResults: outer got: Results: the inner result\n/)
  const found = frames()
  assert.equal(found.get("Inner")?.parentSessionID, found.get("Outer")?.sessionID)
  assert.match(contextOf(model.work(found.get("Inner")?.sessionID ?? "")[0]).stable, /<ancestors count="2">/)
})

test("a child that never pops, and one that meets an error, are salvaged, and the parent continues", async (t) => {
  const script = byTask({
    "Build a shop": [
      call("stack_frame_push", task("Forgetful")),
      (request) => {
        assert.match(
          answers(request)[0] ?? "",
          /^f2 \(Forgetful\) is blocked\.\nResults so far: \[auto-completed: its session ended without stack_frame_pop; it worked for \d+ m?s: \d messages?, 1 tool call; artifacts: lexer\.ts\] The lexer reads names and numbers\n/,
        )
        return call("stack_frame_push", task("Unlucky"))
      },
      (request) => {
        assert.match(
          answers(request)[0] ?? "",
          /^f3 \(Unlucky\) is blocked\.\nResults so far: \[auto-completed: its session ended with an error: [^\]]*no such model/,
        )
        return call("stack_frame_activate", { sessionID: "f2" })
      },
      (request) => ({ text: answers(request)[0] ?? "" }),
    ],
    "frame f2": [call("write", { filePath: "lexer.ts", content: "" }), { text: "The lexer works" }],
    "frame f3": [{ status: 400, text: "no such model" }],
  })
  const { server, frames, logged } = await scenario(
    t,
    (request) => {
      // The summary has replaced the messages before it.
      const goesOn = request.messages
        .slice(-2)
        .some(({ text }) => text.includes("Your work on frame f2 was interrupted"))
      return goesOn ? call("stack_frame_pop", done("Lexer and parser work")) : script(request)
    },
    { summary: () => ({ text: "The lexer reads names and numbers" }) },
  )
  const { text, error } = await server.prompt("Build a shop")
  assert.equal(error, undefined)
  assert.match(
    text,
    /^f2 \(Forgetful\) is completed\.\nResults: Lexer and parser work\n/,
    "it went on in its own session",
  )
  const found = frames()
  assert.deepEqual([found.get("Forgetful")?.status, found.get("Unlucky")?.status], ["completed", "blocked"])
  assert.deepEqual(found.get("Forgetful")?.artifacts, ["lexer.ts"])
  await logged("Frame salvaged")
})

// The child waits twice: for its parent, which asks the person, and for a person who answers from another
// process.
test("a blocked child asks, its parent answers, another process answers, and it goes on", async (t) => {
  const asking = {
    status: "blocked",
    question: "Which VAT rate? Ask the user",
    results: "Net totals work",
    resultsCompacted: "net",
  }
  const { model, server, project, frames, logged } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("stack_frame_push", task("Taxes")),
        (request) => ({ text: answers(request)[0] ?? "" }),
        call("stack_frame_activate", { sessionID: "f2", answer: "20 %" }),
        (request) => ({ text: answers(request).at(-1) ?? "" }),
        { text: "The shop is open" },
      ],
      "frame f2": [
        call("stack_frame_pop", asking),
        { text: "I wait for the rate" },
        call("stack_frame_pop", { ...asking, question: "And for books?" }),
        { text: "I wait again" },
        call("stack_frame_pop", done("VAT of 20 %, of 7 % for books")),
        { text: "Done" },
      ],
    }),
  )
  const first = await server.prompt("Build a shop")
  assert.match(
    first.text,
    /^f2 \(Taxes\) is blocked\.\nIt waits for: Which VAT rate\? Ask the user\nResults so far: Net totals work\nNext: stack_frame_activate f2 with the answer/,
  )
  assert.equal(frames().get("Taxes")?.results, "Net totals work", "nothing is salvaged")
  const second = await server.prompt("20 %, says the user", first.sessionID)
  assert.match(second.text, /^f2 \(Taxes\) is blocked\.\nIt waits for: And for books\?\n/)
  const child = () => model.work(frames().get("Taxes")?.sessionID ?? "")
  const prompts = child().flatMap((request) => request.messages.map((message) => message.text))
  assert.ok(
    prompts.some((text) => text.startsWith("Frame f2 was blocked: Which VAT rate? Ask the user\nThe answer: 20 %")),
    "the session is prompted with the question and the answer",
  )

  const other = Stack.open(project.stack)
  other.answer("f2", "7 %")
  other.close()
  await until("the child has gone on and popped, and its turn has ended", () => {
    const child = frames().get("Taxes")
    return child?.status === "completed" && child.holder?.released !== undefined
  })
  const contexts = child()
    .map((request) => contextOf(request).volatile)
    .join("\n")
  assert.match(contexts, /<question>And for books\?<\/question>\n<answer>7 %<\/answer>/)
  await server.prompt("What is there now?", first.sessionID)
  assert.match(
    contextOf(model.work(first.sessionID).at(-1)).volatile,
    /<ended-child id="f2"[^>]*>[^<]*of 7 % for books/,
  )
  await logged("Frame answered")
})

test("a child that is aborted, and one over its time limit, are salvaged, and the parent continues", async (t) => {
  const never = new Promise(() => undefined)
  const { model, server, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("stack_frame_push", task("Slow", { timeLimit: 4000 })),
        (request) => {
          assert.match(
            answers(request)[0] ?? "",
            /^f2 \(Slow\) is blocked\.\nResults so far: \[auto-completed: its time limit of 4000 ms was exceeded; it worked for [^\]]*\] First steps are done\n/,
          )
          return call("stack_frame_push", task("Endless"))
        },
        { text: "I am here again" },
        { text: "I am here again" },
      ],
      "frame f2": [
        { text: "First steps are done", calls: [{ tool: "stack_status", arguments: {} }] },
        { after: never },
      ],
      "frame f3": [{ after: never }],
    }),
  )
  const first = server.prompt("Build a shop")
  const { sessionID } = await until("the endless child is asked", () =>
    model.requests.find((request) => request.messages[0]?.text.includes("frame f3")),
  )
  const root = model.requests[0]?.sessionID ?? ""
  await server.client.session.abort({ path: { id: root } })
  await first
  await until("it is salvaged", () => frames().get("Endless")?.status === "blocked")
  assert.match(frames().get("Endless")?.results ?? "", /^\[auto-completed: its caller was aborted; it /)
  assert.notEqual(sessionID, root)
  const { text } = await server.prompt("Go on", root)
  assert.equal(text, "I am here again")
})

test("a child in the background does not block its parent", async (t) => {
  let finish: () => void = () => undefined
  const wait = new Promise<void>((resolve) => (finish = resolve))
  const { server, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("stack_frame_push", task("Behind", { background: true })),
        (request) => ({ text: answers(request)[0] ?? "" }),
      ],
      "frame f2": [{ ...call("stack_frame_pop", done("Done behind")), after: wait }],
    }),
  )
  const { text } = await server.prompt("Build a shop")
  assert.match(text, /^f2 \(Behind\) is being started in the background/)
  assert.equal(frames().get("Behind")?.status, "in_progress")
  finish()
  await until("it is done", () => frames().get("Behind")?.status === "completed")
})

test("the depth of calls is limited, and a rejected call creates no frame", async (t) => {
  const { server, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [call("stack_frame_push", task("Child")), (request) => ({ text: answers(request)[0] ?? "" })],
      "frame f2": [
        call("stack_frame_push", task("Grandchild")),
        (request) => call("stack_frame_pop", done(answers(request)[0] ?? "", "failed")),
      ],
    }),
    { plugin: [PLUGIN, { calls: { maxDepth: 1 } }] },
  )
  const { text } = await server.prompt("Build a shop")
  assert.match(
    text,
    /^f2 \(Child\) is failed\.\nResults: stack_frame_push: no frame can be started below frame f2, because the maximum depth is 1/,
  )
  assert.deepEqual([...frames().keys()], ["Test", "Child"])
})
