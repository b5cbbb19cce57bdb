// The plugin of Claude Code, in the real program with a scripted model: frames of subagents, the context of
// the frame in requests, and a compaction.

import assert from "node:assert/strict"
import { copyFileSync, mkdirSync } from "node:fs"
import { delimiter, join } from "node:path"
import test from "node:test"
import { query } from "@anthropic-ai/claude-agent-sdk"
import {
  type Answer,
  call,
  callstack,
  type ModelRequest,
  makeWorld,
  PROGRAM,
  readJson,
  type World,
} from "./harness/index.js"

const PLUGIN = join(import.meta.dirname, "../../../claude-code")
const TOOL = "mcp__plugin_callstack_callstack__"

/** Runs a prompt in a session with the plugin, and returns the ID of the session. */
async function run(world: World, prompt: string, resume?: string): Promise<string> {
  const bin = join(world.root, "bin")
  mkdirSync(bin, { recursive: true })
  copyFileSync(PROGRAM, join(bin, "callstack"))
  let session = ""
  const messages = query({
    prompt,
    options: {
      cwd: world.folder,
      env: { ...world.env, PATH: `${bin}${delimiter}${world.env["PATH"] ?? ""}` },
      model: "claude-sonnet-5",
      plugins: [{ type: "local", path: PLUGIN }],
      settingSources: [],
      permissionMode: "acceptEdits",
      allowedTools: ["mcp__plugin_callstack_callstack", "Agent", "Write"],
      ...(resume === undefined ? {} : { resume }),
    },
  })
  for await (const message of messages) if ("session_id" in message && message.session_id) session = message.session_id
  return session
}

const on = (tool: string, given: object): Answer => ({ calls: [call(TOOL + tool, given)] })

/** The frames of the stack by title. */
async function frames(world: World): Promise<Record<string, Record<string, unknown>>> {
  const { stdout } = await callstack(world.folder, "export")
  const state = readJson<{ frames: Record<string, unknown>[] | Record<string, Record<string, unknown>> }>(stdout)
  return Object.fromEntries(Object.values(state.frames).map((frame) => [String(frame["title"]), frame]))
}

const said = (request: ModelRequest): string => JSON.stringify(request.messages)

test("subagents work in frames of their own, and the frame of a session outlives its conversation", async () => {
  const world = await makeWorld((request, { folder }) => {
    const first = said({ ...request, messages: request.messages.slice(0, 1) })
    const count = request.results.length
    if (first.includes("Your task on the call stack is frame f2")) {
      if (count === 0) return on("activate", { frame: "f2" })
      if (count === 1) return { calls: [call("Write", { file_path: join(folder, "cart.ts"), content: "export {}" })] }
      if (count === 2) return on("pop", { status: "completed", results: "cart.ts adds up" })
      return { text: "The cart is done" }
    }
    if (first.includes("Look at the mail")) {
      if (count === 0) return on("record", { decisions: ["Mail is sent by the provider, because it retries"] })
      return { text: "The mail works" }
    }
    if (request.isCompaction) return { text: "The shop is half done." }
    if (said(request).includes("Go on now")) return { text: "Later" }
    if (count === 0) return on("push", { title: "Shop", successCriteria: "All pay" })
    if (count === 1) return on("push", { title: "Cart", successCriteria: "Totals are right", handOver: true })
    if (count === 2) {
      const prompt = request.news[0]?.text ?? ""
      const agent = (description: string, prompt: string) =>
        call("Agent", { description, prompt, subagent_type: "general-purpose" })
      return { calls: [agent("Make the cart", prompt), agent("Check the mail", "Look at the mail")] }
    }
    return { text: "I wait" }
  })
  try {
    const session = await run(world, "Build a shop")
    let found = await frames(world)
    // The frame that was made for the subagent before its prompt was known, if there is one.
    const { "general-purpose": early, ...others } = found
    assert.ok(early === undefined || early["status"] === "invalidated")
    assert.deepEqual(Object.fromEntries(Object.entries(others).map(([title, { status }]) => [title, status])), {
      Shop: "in_progress",
      Cart: "completed",
      "Check the mail": "completed",
    })
    assert.deepEqual([found["Cart"]?.["results"], found["Cart"]?.["artifacts"]], ["cart.ts adds up", ["cart.ts"]])
    const mail = found["Check the mail"]
    assert.deepEqual(
      [mail?.["results"], mail?.["decisions"], mail?.["successCriteria"]],
      ["The mail works", ["Mail is sent by the provider, because it retries"], "Look at the mail"],
    )

    const before = world.model.asked.length
    await run(world, "Go on now", session)
    const resumed = said(world.model.asked[before] as ModelRequest)
    assert.match(resumed, /You are in frame f1 \(Shop\) of the call stack/)
    assert.match(resumed, /cart\.ts adds up/)
    assert.match(resumed, /<stack-now>/)

    // The agent was reminded of its open frame at the end of the first turn, but not at the end of the second
    // turn.
    const conversation = (world.model.asked.at(-1) as ModelRequest).messages
    const reminders = conversation.filter(({ text }) => /^Stop hook feedback:.*This is said once/s.test(text))
    assert.equal(reminders.length, 1, "the number of reminders in the conversation")

    const compacted = world.model.asked.length
    await run(world, "/compact", session)
    const asked = world.model.asked.slice(compacted).find((request) => request.isCompaction)
    assert.match(said(asked as ModelRequest), /The summary must keep what is recorded nowhere/)
    const after = world.model.asked.length
    await run(world, "Go on now", session)
    const next = said(world.model.asked[after] as ModelRequest)
    assert.match(next, /The shop is half done\./)
    assert.doesNotMatch(next, /I wait/, "the conversation before the compaction is gone")
    assert.match(next, /You are in frame f1 \(Shop\)/)
    assert.match(next, /cart\.ts adds up/)
    found = await frames(world)
    assert.equal(found["Shop"]?.["status"], "in_progress")
  } finally {
    await world.end()
  }
})

test("a project without a stack stays as it is", async () => {
  const world = await makeWorld(() => ({ text: "Hello" }))
  try {
    await run(world, "Hello")
    assert.equal(
      world.model.asked.some((request) => said(request).includes("call stack of this project")),
      false,
    )
    assert.notEqual((await callstack(world.folder, "tree")).code, 0, "no stack was made")
  } finally {
    await world.end()
  }
})
