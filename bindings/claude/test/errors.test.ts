// Errors of the API, of connections, processes, files and installations: what a parent, a person and a
// program learn about them.

import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { chmodSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, test } from "node:test"
import { promisify } from "node:util"
import { Stack } from "callstack-core"
import { Flame } from "callstack-flame"
import { agent, startHost, type Work, workOf } from "./harness/hosts.js"
import { type Answer, call, frameOf, type ModelRequest, type World, within } from "./harness/index.js"
import { pop, push, withFlame } from "./harness/scripts.js"

const NO_PRLIMIT = process.platform !== "linux"
const NO_OTHER_USER = NO_PRLIMIT || process.getuid?.() !== 0
const unhandled: unknown[] = []
process.on("unhandledRejection", (error) => unhandled.push(error))
after(() => assert.deepEqual(unhandled, []))

test("what goes wrong in children for good are the results of the parent's calls, and it goes on", () => {
  const failures: Record<string, Answer> = {
    Server: { status: 500, text: "out of order" },
    Connection: { drop: "headers" },
    Stream: { drop: "stream", text: "half a" },
    Model: { status: 404, text: "model: claude-none" },
    Window: { status: 400, text: "prompt is too long: 300000 tokens > 200000 maximum" },
    Process: { hang: "headers" },
  }
  const titles = Object.keys(failures)
  const tree: Work = { title: "Root", children: titles.map((title) => ({ title })) }
  const script = (request: ModelRequest): Answer | undefined => {
    const title = workOf(tree, request)?.title ?? ""
    if (title !== "Root") return failures[title]
    if (request.results.length === 0) return { calls: titles.map((title) => push(title)) }
    return { calls: [pop("I went on")] }
  }
  return withFlame(
    script,
    async ({ flame, world, events }) => {
      const running = flame.run("Root")
      const { session } = await world.model.waitFor((request) => workOf(tree, request)?.title === "Process")
      await promisify(execFile)("pkill", ["-KILL", "-f", `session-id=${session}`])
      const { frame } = await running
      assert.equal(frame.results, "I went on")
      const results = world.model.asked.at(-1)?.results ?? []
      const said = Object.fromEntries(
        results.map(({ text }) => [/^f\d+ \((\w+)\) is blocked\./.exec(text)?.[1], text.split("\n")[1] ?? ""]),
      )
      assert.match(said["Server"] ?? "", /its session ended with an error: API Error: 500 out of order/)
      assert.match(said["Connection"] ?? "", /its session ended with an error: .*ECONNRESET/)
      assert.match(said["Stream"] ?? "", /half a/)
      assert.match(said["Model"] ?? "", /its session ended with an error: .*selected model \(claude-sonnet-5\)/)
      assert.match(said["Window"] ?? "", /its session ended with an error: Prompt is too long/)
      assert.match(said["Process"] ?? "", /its session ended with an error: .*SIGKILL/)
      const retries = events.flatMap((event) => (event.kind === "retry" ? [event.status] : []))
      assert.ok(retries.includes(500))
    },
    { maxConcurrent: 0, claude: { env: { CLAUDE_CODE_MAX_RETRIES: "1" } } },
  )
})

test("a refused key stops all frames at once", () => {
  const tree: Work = { title: "Root", isParallel: true, children: [{ title: "One" }, { title: "Two" }] }
  const script = (request: ModelRequest, world: World): Answer | undefined =>
    frameOf(request) === "f1" ? agent(tree, request, world) : { status: 401, text: "invalid x-api-key" }
  return withFlame(script, async ({ flame, world, events }) => {
    const { frame, waiting } = await flame.run("Root")
    assert.deepEqual(waiting, [])
    assert.match(frame.results ?? "", /the API refuses the key: set ANTHROPIC_API_KEY to a valid one/)
    assert.deepEqual(
      flame.stack.frames().map(({ status }) => status),
      ["blocked", "blocked", "blocked"],
    )
    for (const handle of ["f1", "f2", "f3"]) {
      const asked = world.model.asked.filter((request) => frameOf(request) === handle)
      assert.ok(asked.length <= 2, `${handle} has asked ${asked.length} times`)
    }
    assert.ok(events.some((event) => event.kind === "retry" && event.status === 401))
  })
})

test("no key and a refused key or account are named as such, with what to do; a refused region is not", async () => {
  const account = /the API refuses the key or the account: API Error: 403 This API key was revoked/
  const cases: [answer: Answer, env: Record<string, string>, words: RegExp][] = [
    [{}, { ANTHROPIC_API_KEY: "" }, /there is no key: set ANTHROPIC_API_KEY, or log in with `claude login`/],
    [{ status: 401, text: "invalid x-api-key" }, {}, /the API refuses the key: set ANTHROPIC_API_KEY to a valid one/],
    [{ status: 403, text: "This API key was revoked" }, {}, account],
    [{ status: 403, text: "Not in your region" }, {}, /ended with an error: API Error: 403 Not in your region/],
  ]
  for (const [answer, env, words] of cases) {
    await withFlame(
      () => answer,
      async ({ flame, world }) => {
        const { frame } = await flame.run("Root")
        assert.equal(frame.status, "blocked")
        assert.match(frame.results ?? "", words)
        assert.ok(world.model.asked.length <= 1, `the model was asked ${world.model.asked.length} times`)
      },
      { claude: { env: { CLAUDE_CODE_MAX_RETRIES: "0", ...env } } },
    )
  }
})

test("a session whose process hangs is killed, and its turn is repeated", { skip: NO_PRLIMIT }, () => {
  const tree: Work = { title: "Root" }
  const script = (request: ModelRequest, world: World): Answer | undefined =>
    /was silent/.test(request.lastUser) ? agent(tree, request, world) : { hang: "headers" }
  return withFlame(
    script,
    async ({ flame, world, events }) => {
      const running = flame.run("Root")
      const { session } = await world.model.waitFor(() => true)
      await promisify(execFile)("pkill", ["-STOP", "-f", `session-id=${session}`])
      const { frame } = await running
      assert.equal(frame.results, "Results of Root.")
      assert.equal(events.filter(({ kind }) => kind === "silence").length, 1)
    },
    { claude: { silenceTimeout: 6000 } },
  )
})

test("a busy API is asked again, and a transcript that is gone is begun again", () => {
  const tree: Work = { title: "Root" }
  const script = (request: ModelRequest, world: World): Answer | undefined => {
    if (request.number === 1) return { status: 429, text: "slow down", headers: { "retry-after": "1" } }
    if (request.number === 2) return { status: 529, text: "overloaded" }
    return request.number === 3 ? { hang: "headers" } : agent(tree, request, world)
  }
  return withFlame(script, async ({ flame, world, events }) => {
    const running = flame.run("Root")
    const { session } = await world.model.waitFor(({ number }) => number === 3)
    const retries = events.flatMap((event) => (event.kind === "retry" ? [[event.status, event.attempt]] : []))
    assert.deepEqual(retries, [
      [429, 1],
      [529, 2],
    ])
    await flame.stop()
    assert.equal((await running).frame.status, "blocked")
    rmSync(world.transcript(session))
    const [outcome] = await flame.resume()
    assert.equal(outcome?.frame.status, "completed")
    assert.deepEqual(new Set(world.model.asked.map((request) => request.session)), new Set([session]))
    assert.equal(world.model.asked.length, 4)
  })
})

test("silence of a model is noticed while no tool runs, and the turn is repeated twice at most", () => {
  const titles = ["Headers", "Stream", "Tool"]
  const tree: Work = { title: "Root", children: titles.map((title) => ({ title })), isParallel: true }
  const script = (request: ModelRequest, world: World): Answer | undefined => {
    const title = workOf(tree, request)?.title
    if (title === "Headers") return { hang: "headers" }
    if (title === "Stream" && !/was silent/.test(request.lastUser)) return { hang: "stream", text: "I begin." }
    if (title === "Tool" && request.uses.length === 0) return { calls: [call("Bash", { command: "sleep 8" })] }
    if (title === "Root" && request.results.length > 0) return { calls: [pop("I went on")] }
    return agent(tree, request, world)
  }
  return withFlame(
    script,
    async ({ flame, world, events }) => {
      const { frame } = await flame.run("Root")
      assert.equal(frame.results, "I went on")
      const silences = events.flatMap((event) => (event.kind === "silence" ? [event.frame] : []))
      assert.deepEqual(silences.sort(), ["f2", "f2", "f2", "f3"])
      const [headers, stream, tool] = ["f2", "f3", "f4"].map((handle) => flame.stack.frame(handle))
      assert.match(headers?.results ?? "", /the model was silent too often; its connection or its provider may be down/)
      assert.deepEqual([stream?.status, tool?.status], ["completed", "completed"])
      const words = world.model.asked.filter((request) => frameOf(request) === "f3").at(-1)?.messages
      assert.ok(words?.some(({ role, text }) => role === "assistant" && text === "I begin."))
    },
    { claude: { silenceTimeout: 6000, allowedTools: ["Bash"] } },
  )
})

test("a project's folder that does not exist, and a stack that is none, are named", () =>
  within(
    () => undefined,
    ({ folder }) => {
      const missing = join(folder, "none")
      assert.throws(() => new Flame({ directory: missing }), /the project's folder .*none does not exist; create it/)
      writeFileSync(join(folder, ".callstack"), "no folder")
      assert.throws(() => new Flame({ directory: folder }), /\.callstack/)
    },
  ))

test("a disk that is full is told to the agent, a stop still ends everything, and a resume goes on", {
  skip: NO_PRLIMIT,
}, () => {
  const tree: Work = { title: "Root" }
  let release: () => void = () => undefined
  const isFull = new Promise<void>((resolve) => {
    release = resolve
  })
  const script = async (request: ModelRequest, world: World): Promise<Answer | undefined> => {
    await isFull
    return request.number === 2 ? { hang: "headers" } : agent(tree, request, world)
  }
  return within(script, async (world) => {
    const host = startHost(world, { goal: "Root" })
    await world.model.waitFor(() => true)
    // From now on no file of the orchestrator can grow.
    await promisify(execFile)("prlimit", ["--pid", String(host.child.pid), "--fsize=1"])
    release()
    const { news } = await world.model.waitFor(({ number }) => number === 2)
    assert.match(news[0]?.text ?? "", /the disk is full; free some space, then call again/)
    host.child.kill("SIGTERM")
    const failed = await host.line(({ kind }) => kind === "failed", "the error")
    assert.match(JSON.stringify(failed), /the disk is full; free some space/)
    assert.equal(await host.end, 0)
    await world.settled()
    assert.deepEqual(
      host.lines.filter(({ kind }) => kind === "unhandled"),
      [],
    )

    const again = startHost(world)
    const [outcome] = await again.outcomes()
    assert.equal(outcome?.frame.status, "completed")
    assert.equal(await again.end, 0)
    await world.settled()
  })
})

test("a stack that may not be written is named, and the orchestrator can be closed", { skip: NO_OTHER_USER }, () => {
  const otherUser = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
  return within(
    () => undefined,
    async (world) => {
      Stack.open(join(world.folder, ".callstack")).close()
      chmodSync(world.root, 0o755)
      const host = startHost(world, { goal: "Root", through: otherUser })
      const failed = await host.line(({ kind }) => kind === "failed", "the error")
      assert.match(JSON.stringify(failed), /cannot write .*stack\.db.*: it is read-only/)
      assert.equal(await host.end, 0)
      assert.equal(host.errors, "")
      await world.settled()
    },
  )
})

test("without the SDK, the message says what to install", () =>
  within(
    () => undefined,
    async ({ folder }) => {
      const packages = join(folder, "node_modules")
      const own = join(import.meta.dirname, "../..")
      mkdirSync(packages)
      cpSync(join(own, "dist"), join(packages, "callstack-flame/dist"), { recursive: true })
      cpSync(join(own, "package.json"), join(packages, "callstack-flame/package.json"))
      symlinkSync(join(own, "../node"), join(packages, "callstack-core"))
      symlinkSync(join(own, "../opencode"), join(packages, "opencode-callstack"))
      const code = `
      import { Flame } from "callstack-flame"
      const flame = new Flame()
      for (const attempt of [1, 2]) await flame.run("Anything").catch((error) => console.log(error.message))
      await flame.close()`
      writeFileSync(join(folder, "program.mjs"), code)
      const { stdout, stderr } = await promisify(execFile)(process.execPath, ["program.mjs"], { cwd: folder })
      assert.equal(stderr, "")
      const message =
        /^the Claude Agent SDK cannot be loaded; install it .*: npm install @anthropic-ai\/claude-agent-sdk /
      for (const line of stdout.trim().split("\n")) assert.match(line, message)
    },
  ))
