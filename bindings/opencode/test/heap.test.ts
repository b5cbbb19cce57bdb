// The heap: requests contain an agent's chunks word for word, even after the conversation has been compacted.

import assert from "node:assert/strict"
import { test } from "node:test"
import {
  byTask,
  call,
  contextOf,
  done,
  type ModelRequest,
  type Reply,
  scenario,
  task,
  until,
  WITH_ALL_TOOLS,
} from "./harness/index.js"

const SUMMARY = "Lexer and parser are written in src, the printer is left; run the tests with make test"

/** Texts that are easily damaged in transport: markup, quotes, line ends, white space, other scripts. */
const CHUNKS = {
  grammar: 'expr := term ("+" term)*  \n\tterm := <number> | "&" name\n\n  -- trailing space \n',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the text holds the source of a template on purpose
  "api-contract": "POST /orders?a=1&b=2 -> 201 {\"id\": 7}\r\nif (a < b && !c) { return `${x}` } // 'quoted' \\n",
  Überblick: "解析器完成 👩‍👩‍👧‍👦 naïve\u00a0— שלום <![CDATA[ not the end ]] >",
}

const model = { providerID: "scripted", modelID: "main" }
const allocations = Object.entries(CHUNKS).map(([name, content]) => ({
  tool: "stack_heap_alloc",
  arguments: { name, content },
}))
const registers = {
  tool: "stack_registers_update",
  arguments: { R4_CONSTRAINTS: "never change the ABI", R2_NEXT: "the printer" },
}

/** Returns a text as the content of an XML element, with as few entities as possible. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("]]>", "]]&gt;").replaceAll("\r\n", "\n")
}

/** Checks that the stable part contains every chunk word for word, and the volatile part the registers. */
function assertSeesAll(request: ModelRequest | undefined) {
  const { stable, volatile } = contextOf(request)
  for (const [name, content] of Object.entries(CHUNKS)) {
    assert.ok(stable.includes(`>${escaped(content)}</chunk>`), `${name} is not there word for word:\n${stable}`)
  }
  assert.match(volatile, /<R2_NEXT>the printer<\/R2_NEXT>\n<R4_CONSTRAINTS>never change the ABI<\/R4_CONSTRAINTS>/)
}

test("chunks and registers survive a manual compaction word for word", async (t) => {
  const {
    model: asked,
    server,
    frames,
    log,
  } = await scenario(
    t,
    (request) => {
      const newest = request.messages.findLast(({ text }) => !text.startsWith("<stack-now"))
      const turns: Record<string, Reply> = {
        "Build a compiler": { calls: [...allocations, registers] },
        "Write it anew": call("stack_heap_write", { name: "grammar", content: "other" }),
        "Free one": call("stack_heap_free", { name: "api-contract" }),
      }
      const asked = Object.keys(turns).find((text) => newest?.role === "user" && newest.text.startsWith(text))
      return turns[asked ?? ""] ?? { text: "Going on" }
    },
    { summary: () => ({ text: SUMMARY }), plugin: WITH_ALL_TOOLS },
  )
  const { sessionID } = await server.prompt("Build a compiler")
  assertSeesAll(asked.work(sessionID)[1])
  await server.client.session.summarize({ path: { id: sessionID }, body: model })
  await until("the summary is stored", () => frames().get("Test")?.results === SUMMARY)
  await server.prompt("Go on", sessionID)
  const after = asked.work(sessionID).at(-1)
  assert.ok(
    after?.messages.every(({ role }) => role !== "tool"),
    "the conversation was compacted",
  )
  assertSeesAll(after)

  await server.prompt("Write it anew", sessionID)
  assert.match(contextOf(asked.work(sessionID).at(-1)).stable, /<chunk name="grammar"[^>]*>other<\/chunk>/)
  await server.prompt("Free one", sessionID)
  const { stable } = contextOf(asked.work(sessionID).at(-1))
  assert.ok(!stable.includes("api-contract") && stable.includes("Überblick"), stable)
  assert.ok(!log().includes("Refused"))
})

test("chunks and registers survive an automatic compaction word for word", async (t) => {
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
        ? { calls: [...allocations, registers], charge: { uncachedInput: 199_000 } }
        : { text: "Going on" }
    },
    { summary: () => ({ text: SUMMARY }), plugin: WITH_ALL_TOOLS },
  )
  const { sessionID } = await server.prompt("Build a compiler")
  await until("the summary is stored", () => frames().get("Test")?.results === SUMMARY)
  await until("the work goes on", () =>
    asked
      .work(sessionID)
      .at(-1)
      ?.messages.some((message) => message.text.includes(SUMMARY)),
  )
  assertSeesAll(asked.work(sessionID).at(-1))
})

test("all frames of a tree see its chunks; a frame and the frames below it see the frame's chunks", async (t) => {
  const {
    model: asked,
    server,
    frames,
  } = await scenario(t, (request) => {
    const text = request.messages.map((message) => message.text).join("\n")
    const count = request.messages.filter(({ role }) => role === "assistant").length
    if (text.includes("frame f2")) {
      const notes = { tool: "stack_heap_alloc", arguments: { name: "notes", content: "of the child", scope: "frame" } }
      const shared = { tool: "stack_heap_alloc", arguments: { name: "shared", content: "by the child for all" } }
      return count === 0
        ? { calls: [notes, shared] }
        : count === 1
          ? call("stack_frame_pop", done("Kept"))
          : { text: "Done" }
    }
    const turns = [
      call("stack_heap_alloc", { name: "plan", content: "of the root" }),
      call("stack_frame_push", task("Child")),
      call("stack_heap_read", {}),
    ]
    return turns[count] ?? { text: "All done" }
  })
  const { sessionID } = await server.prompt("Build it")
  const child = frames().get("Child")
  assert.deepEqual(
    child?.heap?.map(({ name }) => name),
    ["notes"],
  )
  const seen = contextOf(asked.work(child?.sessionID ?? "")[1]).stable
  for (const content of ["of the root", "of the child", "by the child for all"])
    assert.ok(seen.includes(content), content)
  const last = asked.work(sessionID).at(-1)
  const { stable } = contextOf(last)
  assert.ok(stable.includes("by the child for all") && !stable.includes("of the child]]"), stable)
  assert.match(
    last?.messages.map(({ text }) => text).join("\n") ?? "",
    /- plan \(of f1, 11 characters\)\n- shared \(of f1, 20 characters\)/,
  )
})

test("a chunk that does not fit is listed with a note and can be read", async (t) => {
  const long = "0123456789abcdef".repeat(2_000)
  const { model: asked, server } = await scenario(
    t,
    byTask({
      "Keep it": [
        call("stack_heap_alloc", { name: "long", content: long, description: "all numbers" }),
        call("stack_heap_read", { name: "long" }),
        { text: "Read" },
      ],
    }),
  )
  const { sessionID } = await server.prompt("Keep it")
  const [, second, third] = asked.work(sessionID)
  assert.match(
    contextOf(second).stable,
    /<chunk name="long" frame="f1" characters="32000" description="all numbers"\/>\n<note>Chunks without text did not fit: stack_heap_read shows them.<\/note>\n<warning>WARNING: the heap is 27000 characters past its ceiling/,
  )
  assert.ok(
    third?.messages.some(({ text }) => text.includes(long)),
    "the answer has all of it",
  )
})
