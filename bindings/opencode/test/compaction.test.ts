// Compaction, manual and automatic: its prompt, the information that survives, and summaries that are rejected.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { answers, byTask, call, contextOf, done, scenario, task, until } from "./harness/index.js"

const SUMMARY = "Lexer and parser are written in src, the printer is left; run the tests with make test"

/** A script that plans and records, and continues after its conversation was replaced by a summary. */
const build = byTask({
  "Build a compiler": [
    {
      calls: [
        { tool: "stack_frame_plan_children", arguments: { children: [task("Printer")] } },
        { tool: "stack_add_decision", arguments: { decision: "Recursive descent" } },
      ],
    },
    { text: "Planned" },
    { text: "Going on" },
  ],
  "": [{ text: "Going on" }, { text: "Going on" }],
})

const model = { providerID: "scripted", modelID: "main" }

test("a manual compaction asks for what the frame needs; tasks and decisions survive it", async (t) => {
  const {
    model: asked,
    server,
    project,
    frames,
    logged,
  } = await scenario(t, build, { summary: () => ({ text: SUMMARY }) })
  const { sessionID } = await server.prompt("Build a compiler")
  await server.client.session.summarize({ path: { id: sessionID }, body: model })
  await until("the summary is stored", () => frames().get("Test")?.results === SUMMARY)

  const request = asked.requests.find(({ purpose }) => purpose === "summary")
  const text = request?.messages.map((message) => message.text).join("\n") ?? ""
  assert.match(
    text,
    /The conversation has grown too long[\s\S]*The frame: Test\nIts success criteria: Build a compiler\nDecisions \(already recorded, do not repeat them\): Recursive descent\n/,
  )
  assert.deepEqual(contextOf(request), { stable: "", volatile: "" }, "a summary has no context")

  await server.prompt("Go on", sessionID)
  const next = contextOf(asked.work(sessionID).at(-1))
  for (const part of ["Printer", "Recursive descent", "Lexer and parser are written"]) {
    assert.ok(next.volatile.includes(part), `${part} is not in\n${next.volatile}`)
  }
  assert.equal(frames().get("Test")?.status, "in_progress")
  assert.match(
    readFileSync(join(project.stack, "logs", `${sessionID}.jsonl`), "utf8"),
    /Build a compiler[\s\S]*stack_frame_plan/,
  )
  for (const line of ["Compaction started", "Summary extracted", "Frame summarized"]) await logged(line)
})

test("a parent sees the results of its children again once its conversation is compacted, and not before", async (t) => {
  const names = ["Lexer", "Parser", "Printer"]
  const { model: asked, server } = await scenario(
    t,
    byTask({
      "Build a compiler": [...names.map((name) => call("stack_frame_push", task(name))), { text: "Three are done" }],
      "frame f2": [call("stack_frame_pop", done("Tokens in lexer.ts"))],
      "frame f3": [call("stack_frame_pop", done("Trees in parser.ts"))],
      "frame f4": [call("stack_frame_pop", done("Code in printer.ts"))],
      "": [{ text: "Going on" }],
    }),
    { summary: () => ({ text: SUMMARY }) },
  )
  const { sessionID } = await server.prompt("Build a compiler")
  const before = asked.work(sessionID).map((request) => contextOf(request))
  assert.equal(before.length, 4)
  for (const { stable, volatile } of before) assert.doesNotMatch(stable + volatile, /finished-children|lexer\.ts/)

  await server.client.session.summarize({ path: { id: sessionID }, body: model })
  const summary = asked.requests.find(({ purpose }) => purpose === "summary")
  assert.match(
    summary?.messages.map((message) => message.text).join("\n") ?? "",
    /Newest finished child frames \(their results stay in your context, do not repeat them\): f2 Lexer; f3 Parser; f4 Printer\n/,
  )
  await server.prompt("Go on", sessionID)
  const { stable } = contextOf(asked.work(sessionID).at(-1))
  assert.match(
    stable,
    /<finished-children>[\s\S]*Tokens in lexer\.ts[\s\S]*Trees in parser\.ts[\s\S]*Code in printer\.ts[\s\S]*<\/finished-children>/,
  )
})

test("OpenCode compacts a full context automatically, and the frame continues", async (t) => {
  const {
    model: asked,
    server,
    frames,
  } = await scenario(
    t,
    (request) => {
      const isFirst = request.messages.every(({ role }) => role !== "assistant")
      const isOriginal = request.messages[0]?.text === "Build a compiler"
      return isFirst && isOriginal
        ? { ...call("stack_frame_plan_children", { children: [task("Printer")] }), charge: { uncachedInput: 199_000 } }
        : { text: "Going on" }
    },
    { summary: () => ({ text: SUMMARY }) },
  )
  const { sessionID } = await server.prompt("Build a compiler")
  await until("the summary is stored", () => frames().get("Test")?.results === SUMMARY)
  await until("the work goes on", () =>
    asked
      .work(sessionID)
      .at(-1)
      ?.messages.some((message) => message.text.includes(SUMMARY)),
  )
  const { volatile } = contextOf(asked.work(sessionID).at(-1))
  assert.match(volatile, /Printer/)
  assert.doesNotMatch(volatile, /STACK SUGGESTION/, "the conversation was full before the compaction, not after it")
})

test("an empty summary is rejected, and the frame keeps its results", async (t) => {
  const summaries = [SUMMARY, "Done.", SUMMARY.replace("printer", "formatter")]
  const { server, frames, logged } = await scenario(t, build, { summary: () => ({ text: summaries.shift() ?? "" }) })
  const { sessionID } = await server.prompt("Build a compiler")
  const compact = () => server.client.session.summarize({ path: { id: sessionID }, body: model })
  await compact()
  await until("the summary is stored", () => frames().get("Test")?.results === SUMMARY)
  await server.prompt("Go on", sessionID)
  await compact()
  await logged("Summary refused")
  assert.equal(frames().get("Test")?.results, SUMMARY)
  await server.prompt("Go on", sessionID)
  await compact()
  await until("a better one is taken", () => frames().get("Test")?.results?.includes("formatter"))
})

test("a requested checkpoint is made when the session is idle", async (t) => {
  const {
    model: asked,
    server,
    frames,
  } = await scenario(
    t,
    byTask({ "Build a compiler": [call("stack_frame_summarize", { note: "Mind the seed 42" }), { text: "Asked" }] }),
    { summary: () => ({ text: SUMMARY }) },
  )
  await server.prompt("Build a compiler")
  await until("the summary is stored", () => frames().get("Test")?.results === SUMMARY)
  const request = asked.requests.find(({ purpose }) => purpose === "summary")
  assert.match(
    request?.messages.map(({ text }) => text).join("\n") ?? "",
    /A checkpoint was requested[\s\S]*Special request: Mind the seed 42\n/,
  )
})

test("a child whose summary fails is salvaged with its last words, and its parent goes on", async (t) => {
  const { server, frames } = await scenario(
    t,
    byTask({
      "Build a compiler": [call("stack_frame_push", task("Lexer")), (request) => ({ text: answers(request)[0] ?? "" })],
      "frame f2": [{ text: "The lexer reads names" }],
    }),
    { summary: () => ({ status: 400, text: "no summaries today" }) },
  )
  const { text } = await server.prompt("Build a compiler")
  assert.match(text, /^f2 \(Lexer\) is blocked\.\nResults so far: \[[^\]]*\] The lexer reads names/)
  assert.equal(frames().get("Lexer")?.status, "blocked")
})

test("a child that is compacted during its work keeps its frame and finishes it", async (t) => {
  const { server, frames } = await scenario(
    t,
    (request) => {
      const text = request.messages.map((message) => message.text).join("\n")
      if (text.includes("frame f2") || text.includes(SUMMARY)) {
        const isFirst = request.messages.every(({ role }) => role !== "assistant")
        if (isFirst && !text.includes(SUMMARY))
          return { ...call("stack_add_decision", { decision: "Two passes" }), charge: { uncachedInput: 199_000 } }
        return text.includes("is completed") ? { text: "Done" } : call("stack_frame_pop", done("The compiler compiles"))
      }
      return request.messages.some(({ role }) => role === "tool")
        ? { text: "All done" }
        : call("stack_frame_push", task("Compiler"))
    },
    { summary: () => ({ text: SUMMARY }) },
  )
  const { text } = await server.prompt("Build it")
  assert.equal(text, "All done")
  const frame = frames().get("Compiler")
  assert.deepEqual(
    [frame?.status, frame?.results, frame?.decisions],
    ["completed", "The compiler compiles", ["Two passes"]],
  )
})
