// The harness itself: Anthropic's own client understands the model, and a world leaves nothing behind.

import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { test } from "node:test"
import { query, type SDKMessage } from "@anthropic-ai/claude-agent-sdk"
import Anthropic from "@anthropic-ai/sdk"
import {
  type Answer,
  call,
  callstack,
  frameOf,
  lines,
  type Model,
  makeWorld,
  type Script,
  startModel,
  transcriptLines,
  until,
  type World,
  within,
} from "./harness/index.js"

/** A model for the time of a test, and Anthropic's own client of it. */
async function withClient(script: Script, use: (client: Anthropic, model: Model) => Promise<void>): Promise<void> {
  const model = await startModel(script)
  try {
    await use(new Anthropic({ baseURL: model.url, apiKey: "none", maxRetries: 0 }), model)
  } finally {
    await model.close()
  }
  assert.deepEqual(model.failures, [])
}

const ASK = { model: "any", max_tokens: 9, system: "Be brief", messages: [{ role: "user" as const, content: "Hello" }] }
const TOOLS = [{ name: "mcp__stack__push", input_schema: { type: "object" as const } }]
const push = call("mcp__stack__push", { goal: "x".repeat(150) })

/** Runs a session in a world and returns its lines. */
async function session({ folder }: World, prompt: string, more: object = {}): Promise<string[]> {
  const options = {
    cwd: folder,
    model: "claude-sonnet-5",
    tools: [],
    settingSources: [],
    strictMcpConfig: true,
    ...more,
  }
  const messages: SDKMessage[] = []
  for await (const message of query({ prompt, options })) messages.push(message)
  return lines(messages)
}

test("Anthropic's own client reads messages and streams of the model", () => {
  const text = "plain ".repeat(30)
  const script: Script = ({ tools }) =>
    tools.length === 0
      ? { text }
      : { thinking: "Hm", text: "I push", calls: [push], usage: { input: 7, output: 5, cacheRead: 3, cacheWrite: 2 } }
  return withClient(script, async (client, model) => {
    const { content } = await client.messages.create(ASK)
    assert.deepEqual(
      content.map((block) => block.type === "text" && block.text),
      [text],
    )
    assert.equal(await client.messages.stream(ASK).finalText(), text)
    const asked = { ...ASK, tools: TOOLS }
    for (const message of [await client.messages.create(asked), await client.messages.stream(asked).finalMessage()]) {
      const [thinking, words, use] = message.content
      assert.equal(thinking?.type === "thinking" && thinking.thinking, "Hm")
      assert.equal(words?.type === "text" && words.text, "I push")
      assert.deepEqual(use?.type === "tool_use" && [use.name, use.input], ["mcp__stack__push", push.args])
      assert.equal(message.stop_reason, "tool_use")
      const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = message.usage
      assert.deepEqual(
        [input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens],
        [7, 5, 3, 2],
      )
    }
    const { input_tokens } = await client.messages.countTokens({ model: "any", messages: ASK.messages })
    assert.ok(input_tokens > 0)
    assert.deepEqual(
      model.requests.map(({ stream }) => stream),
      [false, true, false, true, false],
    )
    assert.equal(model.asked.length, 4)
    assert.deepEqual(model.charged(), { input: 214, output: 30, cacheRead: 6, cacheWrite: 4 })
  })
})

test("a request is read: its system prompt, calls, results and frame", () =>
  withClient(
    () => undefined,
    async (client, model) => {
      const use = (id: string) => ({ type: "tool_use" as const, id, name: "mcp__stack__push", input: { goal: id } })
      const result = (tool_use_id: string, content: string, is_error: boolean) => ({
        type: "tool_result" as const,
        tool_use_id,
        content: `${content}\n<system-reminder>Tokens</system-reminder>`,
        is_error,
      })
      const system = ["First", '<current-frame id="f2" status="in_progress">']
      const messages = [
        ...ASK.messages,
        { role: "assistant" as const, content: [use("a")] },
        { role: "user" as const, content: [result("a", "No", true)] },
        { role: "assistant" as const, content: [use("b")] },
        { role: "user" as const, content: [result("b", "Yes", false), { type: "text" as const, text: "Go on" }] },
      ]
      await client.messages.create(
        { ...ASK, system: system.map((text) => ({ type: "text", text })), messages, tools: TOOLS },
        { headers: { "x-claude-code-session-id": "s1" } },
      )
      const [request] = model.asked
      assert.ok(request)
      assert.deepEqual([request.system, request.systemBlocks], [system.join("\n"), system])
      assert.equal(frameOf(request), "f2")
      assert.deepEqual(
        request.uses.map(({ id, name, input }) => [id, name, input]),
        [
          ["a", "mcp__stack__push", { goal: "a" }],
          ["b", "mcp__stack__push", { goal: "b" }],
        ],
      )
      const [no, yes] = [
        { id: "a", name: "mcp__stack__push", text: "No", isError: true },
        { id: "b", name: "mcp__stack__push", text: "Yes", isError: false },
      ]
      assert.deepEqual([request.results, request.news], [[no, yes], [yes]])
      assert.deepEqual([request.lastUser, request.tools], ["Yes\nGo on", ["mcp__stack__push"]])
      assert.deepEqual([request.session, request.isCompaction], ["s1", false])
      assert.deepEqual(model.charged("s1"), { input: 100, output: 10, cacheRead: 0, cacheWrite: 0 })
      assert.equal(model.charged("s2").input, 0)
    },
  ))

test("the model fails, falls silent and drops connections", async () => {
  let answer: Answer = {}
  await withClient(
    () => answer,
    async (client, model) => {
      answer = { status: 529, text: "Too busy", headers: { "retry-after": "7" } }
      await assert.rejects(client.messages.create(ASK), (error) => {
        assert.ok(error instanceof Anthropic.APIError)
        assert.deepEqual([error.status, error.headers?.get("retry-after")], [529, "7"])
        assert.match(error.message, /overloaded_error.*Too busy/)
        return true
      })
      assert.equal(model.asked[0]?.charged, undefined)

      for (const drop of ["headers", "stream"] as const) {
        answer = { drop, text: "partial" }
        await assert.rejects(client.messages.stream(ASK).finalText())
      }
      assert.deepEqual(
        model.asked.slice(1).map(({ charged }) => charged?.output),
        [undefined, 1],
      )

      for (const hang of ["headers", "stream"] as const) {
        answer = { hang, text: "partial" }
        const stream = client.messages.stream(ASK)
        const words: string[] = []
        stream.on("text", (text) => words.push(text))
        const ended = assert.rejects(stream.finalText())
        const request = await model.waitFor(({ number }) => number === (hang === "headers" ? 4 : 5))
        if (hang === "stream") await until(() => words.length > 0, "the partial text has come")
        stream.abort()
        await ended
        await until(() => request.gaveUp, "the model has noticed that its client gave up")
        assert.deepEqual(words, hang === "headers" ? [] : ["partial"])
      }
    },
  )
})

test("a request can be held back, and waited for", () => {
  const held: ((answer: Answer) => void)[] = []
  return withClient(
    () => new Promise((resolve) => held.push(resolve)),
    async (client, model) => {
      const answered = client.messages.create(ASK)
      await model.waitFor(({ lastUser }) => lastUser === "Hello")
      const never = model.waitFor(() => false, 1)
      await assert.rejects(never, /^Error: 1 ms have passed/)
      for (const answer of held) answer({ text: "at last" })
      assert.equal((await answered).stop_reason, "end_turn")
    },
  )
})

test("a session runs in its world, and its transcript is found there", () =>
  within(
    () => ({ text: "Hello too" }),
    async (world) => {
      const sessionId = "11111111-2222-4333-8444-555555555555"
      assert.deepEqual(await session(world, "Hello", { sessionId }), ["assistant: Hello too"])
      assert.ok(existsSync(world.transcript(sessionId)))
      assert.deepEqual(await transcriptLines(world, sessionId), ["user: Hello", "assistant: Hello too"])
      assert.equal(world.model.asked[0]?.session, sessionId)
      await world.settled()
    },
  ))

test("no process, file or variable is left of a world", { skip: process.platform !== "linux" }, async () => {
  const before = { ...process.env }
  process.env["ANTHROPIC_OF_A_PERSON"] = "theirs"
  const world = await makeWorld(() => ({ hang: "headers" }))
  assert.equal(process.env["ANTHROPIC_OF_A_PERSON"], undefined)
  assert.equal(process.env["CLAUDE_CONFIG_DIR"], world.env["CLAUDE_CONFIG_DIR"])
  await assert.rejects(
    makeWorld(() => undefined),
    /^Error: this process has a world already/,
  )
  const ended = assert.rejects(session(world, "Hello"), /SIGKILL/)
  await world.model.waitFor(() => true)
  assert.ok(world.processes().length > 0)
  await assert.rejects(world.settled(0, 1), /more than 0 processes are left:\n\d+: .*claude/)
  await world.end()
  assert.deepEqual(world.processes(), [])
  await ended
  assert.ok(!existsSync(world.root))
  assert.equal(process.env["ANTHROPIC_OF_A_PERSON"], "theirs")
  delete process.env["ANTHROPIC_OF_A_PERSON"]
  assert.deepEqual({ ...process.env }, before)
})

test("a world ends with a process that a signal ends", { skip: process.platform !== "linux" }, async () => {
  const code = `
    import { spawn } from "node:child_process"
    import { makeWorld } from ${JSON.stringify(import.meta.resolve("./harness/index.js"))}
    const { root } = await makeWorld(() => undefined)
    spawn("sleep", ["60"], { stdio: "inherit", detached: true }).on("spawn", () => console.log(root))`
  const host = spawn(process.execPath, ["--input-type=module", "--eval", code], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  const [root] = (await once(host.stdout, "data")).map((chunk) => String(chunk).trim())
  assert.ok(root !== undefined && existsSync(root))
  host.kill("SIGTERM")
  // The output is closed when both processes have ended: the host and the process that it has begun.
  const [status] = await once(host, "close")
  assert.equal(status, 1)
  assert.ok(!existsSync(root))
})

test("a world fails its test with the error of its script", async () => {
  const script = () => {
    throw new Error("no such frame")
  }
  const ask = async ({ model }: World) => {
    const response = await fetch(`${model.url}/v1/messages`, { method: "POST", body: "{}" })
    assert.equal(response.status, 400)
  }
  await assert.rejects(within(script, ask), /^Error: no such frame$/)
  const fail = async (world: World) => {
    await ask(world)
    throw new Error("of the test")
  }
  await assert.rejects(within(script, fail), (error) => {
    assert.ok(error instanceof AggregateError)
    assert.deepEqual(error.errors.map(String), ["Error: no such frame", "Error: of the test"])
    return true
  })
})

test("the program callstack runs in the folder of a world", () =>
  within(
    () => undefined,
    async ({ folder }) => {
      const begun = await callstack(folder, "push", "--new", "Build a shop")
      assert.deepEqual([begun.code, begun.stderr], [0, ""])
      assert.match((await callstack(folder, "tree")).stdout, /Build a shop/)
      const failed = await callstack(folder, "show", "f9")
      assert.notEqual(failed.code, 0)
      assert.match(failed.stderr, /f9/)
    },
  ))
