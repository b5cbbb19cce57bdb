// Errors of the API, of connections, processes, files and installations: what a parent, a person and a program learn of them.

import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, test } from "node:test"
import { promisify } from "node:util"
import { Flame, type FlameEvent, type FlameOptions, SessionError } from "callstack-flame"
import { agent, startHost, type Work, workOf } from "./harness/hosts.js"
import { type Answer, call, frameOf, type ModelRequest, type World, type WorldScript, within } from "./harness/index.js"
import { pop, push } from "./harness/scripts.js"

const unhandled: unknown[] = []
process.on("unhandledRejection", (error) => unhandled.push(error))
after(() => assert.deepEqual(unhandled, []))

/** Uses an orchestrator in a new world. Afterwards no process is left. */
function withFlame(
  script: WorldScript,
  use: (flame: Flame, world: World, events: FlameEvent[]) => Promise<void>,
  { claude, ...options }: FlameOptions = {},
): Promise<void> {
  return within(script, async (world) => {
    const flame = new Flame({
      directory: world.folder,
      model: "claude-sonnet-5",
      claude: { permissionMode: "acceptEdits", ...claude },
      ...options,
    })
    const events: FlameEvent[] = []
    flame.on((event) => events.push(event))
    try {
      await use(flame, world, events)
    } finally {
      await flame.close()
    }
    await world.settled()
  })
}

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
    async (flame, world, events) => {
      const running = flame.run("Root")
      const { session } = await world.model.waitFor((request) => workOf(tree, request)?.title === "Process")
      await promisify(execFile)("pkill", ["-KILL", "-f", `session-id=${session}`])
      const { frame } = await running
      console.log(world.model.asked.at(-1)?.results)
      console.log(events.filter(({ kind }) => kind === "retry"))
      console.log(world.model.asked.map((r) => workOf(tree, r)?.title).join(" "))
      assert.equal(frame.results, "I went on")
    },
    { maxConcurrent: 0, claude: { env: { CLAUDE_CODE_MAX_RETRIES: "1" } } },
  )
})

test("a refused key stops all frames at once", () => {
  const tree: Work = { title: "Root", isParallel: true, children: [{ title: "One" }, { title: "Two" }] }
  const script = (request: ModelRequest, world: World): Answer | undefined =>
    frameOf(request) === "f1" ? agent(tree, request, world) : { status: 401, text: "invalid x-api-key" }
  return withFlame(script, async (flame, world, events) => {
    const { frame, waiting } = await flame.run("Root")
    const asked = world.model.asked.map((request) => frameOf(request))
    console.log(
      asked,
      frame,
      flame.tree(),
      events.filter(({ kind }) => kind === "ended" || kind === "retry"),
    )
    assert.deepEqual(waiting, [])
    assert.equal(frame.status, "blocked")
    void call
  })
})

test("a busy API is asked again, and the delays are told", () => {
  const tree: Work = { title: "Root" }
  const script = (request: ModelRequest, world: World): Answer | undefined => {
    if (request.number === 1) return { status: 429, text: "slow down", headers: { "retry-after": "1" } }
    if (request.number === 2) return { status: 529, text: "overloaded" }
    return agent(tree, request, world)
  }
  return withFlame(script, async (flame, _, events) => {
    const { frame } = await flame.run("Root")
    assert.equal(frame.status, "completed")
    const retries = events.flatMap((event) => (event.kind === "retry" ? [[event.status, event.attempt]] : []))
    assert.deepEqual(retries, [
      [429, 1],
      [529, 2],
    ])
  })
})

test("a transcript that is gone is begun anew in the same session", () => {
  const tree: Work = { title: "Root" }
  const script = (request: ModelRequest, world: World) =>
    request.number === 1 ? { hang: "headers" as const } : agent(tree, request, world)
  return withFlame(script, async (flame, world) => {
    const running = flame.run("Root")
    const { session } = await world.model.waitFor(() => true)
    await flame.stop()
    assert.equal((await running).frame.status, "blocked")
    rmSync(world.transcript(session))
    const [outcome] = await flame.resume()
    assert.equal(outcome?.frame.status, "completed")
    assert.deepEqual(
      world.model.asked.map((request) => request.session),
      [session, session],
    )
  })
})

test("a project's folder that does not exist, and a stack that is none, are named", () =>
  within(
    () => undefined,
    async ({ folder }) => {
      assert.throws(
        () => new Flame({ directory: join(folder, "none") }),
        /the project's folder .*none does not exist; create it/,
      )
      writeFileSync(join(folder, ".callstack"), "no folder")
      assert.throws(() => new Flame({ directory: folder }), /\.callstack/)
    },
  ))

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

void SessionError
void startHost
