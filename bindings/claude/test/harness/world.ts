// A world for sessions of the Claude Agent SDK: a scripted model, a home and a project of their own, and no process left.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { type Answer, type Model, type ModelRequest, startModel } from "./model.js"
import { PROGRAM } from "./programs.js"

/** Chooses the answer to a request of a world; see `Script` of the model. */
export type WorldScript = (request: ModelRequest, world: World) => Answer | undefined | Promise<Answer | undefined>

/** Options of a world. */
export interface WorldOptions {
  /** Further environment variables. */
  env?: Record<string, string>
  /**
   * After how many milliseconds its processes are killed, so that a test that waits for one fails. Default: 2
   * minutes.
   */
  limit?: number
}

/**
 * A place for sessions with a scripted model. No other code uses the environment of this process until the
 * world ends.
 */
export interface World {
  model: Model
  /** The folder of everything that belongs to the world. */
  root: string
  /** The project that the sessions work on. */
  folder: string
  /** The whole environment of its sessions. While the world exists, `process.env` has these variables too. */
  env: Record<string, string>
  /**
   * Returns the IDs of its processes: those that have its environment, even if their parent is dead. Linux
   * only.
   */
  processes(): number[]
  /** Waits until at most `count` of its processes are left. `limit` is in milliseconds. */
  settled(count?: number, limit?: number): Promise<void>
  /** Kills its processes. */
  kill(): void
  /** Returns the file of a session's transcript. */
  transcript(session: string): string
  /**
   * Kills its processes, removes its files and restores the environment. Throws the exceptions of the script.
   */
  end(): Promise<void>
}

/** The variable that identifies the processes of a world. */
const MARK = "FLAME_WORLD"

/** Variables of the person who runs the tests that would lead a session out of its world. */
const FOREIGN = /^(ANTHROPIC_.*|CLAUDE.*|CALLSTACK_DIR|.*_PROXY)$/i

/** Makes a world. The caller must end it; `within` ends its world automatically. */
export async function makeWorld(script: WorldScript, options: WorldOptions = {}): Promise<World> {
  if (process.env[MARK] !== undefined)
    throw new Error("this process has a world already: end it before you make another one, they share process.env")
  const root = mkdtempSync(join(realpathSync(tmpdir()), "flame-"))
  const folder = join(root, "project")
  for (const path of [join(root, "home"), folder, join(root, "tmp")]) mkdirSync(path)
  const model = await startModel((request) => script(request, world))
  const env = { ...environment(model.url, root), ...options.env }
  const restore = enter(env)
  const kill = () => killAll(root)
  const remove = () => rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  const disarm = onExit(() => {
    kill()
    remove()
  })
  const watch = setTimeout(kill, options.limit ?? 120_000)
  const settled = (count = 0, limit?: number) => settle(root, count, limit)

  let isOpen = true
  async function end(): Promise<void> {
    if (!isOpen) return
    isOpen = false
    clearTimeout(watch)
    try {
      // A process that was being started while others were killed is seen in the next round.
      await until(() => killAll(root) === 0, "all processes of the world are killed")
      await model.close()
      remove()
    } finally {
      disarm()
      restore()
    }
    if (model.failures.length > 0) throw model.failures[0]
  }

  const config = env["CLAUDE_CONFIG_DIR"] ?? ""
  const project = folder.replace(/[^A-Za-z0-9]/g, "-")
  const transcript = (session: string) => join(config, "projects", project, `${session}.jsonl`)
  const processes = () => processesOf(root)
  const world: World = { model, root, folder, env, processes, settled, kill, transcript, end }
  return world
}

/** Makes a world, uses it and ends it. */
export async function within<T>(
  script: WorldScript,
  use: (world: World) => T | Promise<T>,
  options?: WorldOptions,
): Promise<T> {
  const world = await makeWorld(script, options)
  let result: T
  try {
    result = await use(world)
  } catch (error) {
    // The error of a script is often the cause of the exception of the code that uses the world, so both are
    // shown.
    await world.end().catch((cause: unknown) => {
      throw new AggregateError([cause, error], `the test has failed, and its world: ${String(cause)}`)
    })
    throw error
  }
  await world.end()
  return result
}

/** Waits until a condition holds. Returns its value. */
export async function until<T>(
  condition: () => T | undefined | false | Promise<T | undefined | false>,
  what: string,
  milliseconds = 20_000,
): Promise<T> {
  for (const end = Date.now() + milliseconds; ; await sleep(20)) {
    const value = await condition()
    if (value !== undefined && value !== false) return value
    if (Date.now() > end) throw new Error(`${milliseconds} ms have passed, but this has not happened: ${what}`)
  }
}

/** Returns the environment of sessions that talk only to the model and change nothing outside of a folder. */
function environment(url: string, root: string): Record<string, string> {
  return {
    PATH: `${dirname(PROGRAM)}:${process.env["PATH"] ?? ""}`,
    LANG: "C.UTF-8",
    HOME: join(root, "home"),
    TMPDIR: join(root, "tmp"),
    CLAUDE_CONFIG_DIR: join(root, "home", ".claude"),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "sk-ant-scripted",
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    [MARK]: root,
  }
}

/** Puts variables into the environment of this process. Returns a function that restores the environment. */
function enter(env: Record<string, string>): () => void {
  const before = { ...process.env }
  for (const name of Object.keys(before)) if (FOREIGN.test(name)) delete process.env[name]
  Object.assign(process.env, env)
  return () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
  }
}

/** Calls a function when this process exits, also by a signal. Returns a function that prevents this. */
function onExit(act: () => void): () => void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const
  // Without a handler, a process that a signal ends has no "exit" event.
  const leave = () => process.exit(1)
  process.once("exit", act)
  for (const signal of signals) process.once(signal, leave)
  return () => {
    process.off("exit", act)
    for (const signal of signals) process.off(signal, leave)
  }
}

async function settle(root: string, count: number, limit = 15_000): Promise<void> {
  await until(() => processesOf(root).length <= count, `at most ${count} processes are left`, limit).catch(
    (cause: unknown) => {
      const left = processesOf(root).map((id) => `${id}: ${contentOf(id, "cmdline").replaceAll("\0", " ")}`)
      throw new Error(`more than ${count} processes are left:\n${left.join("\n")}`, { cause })
    },
  )
}

/** Kills the processes of a world. Returns how many there were. */
function killAll(root: string): number {
  const ids = processesOf(root)
  for (const id of ids) {
    try {
      process.kill(id, "SIGKILL")
    } catch (error) {
      // The process has ended in the meantime.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
    }
  }
  return ids.length
}

function processesOf(root: string): number[] {
  if (process.platform !== "linux") return []
  const isOurs = (id: number) =>
    contentOf(id, "environ").split("\0").includes(`${MARK}=${root}`) && !/^State:\t[ZX]/m.test(contentOf(id, "status"))
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((id) => id !== process.pid && isOurs(id))
}

/** Reads a file about a process; empty if the process has ended, or belongs to another user. */
function contentOf(id: number, file: string): string {
  try {
    return readFileSync(`/proc/${id}/${file}`, "latin1")
  } catch {
    return ""
  }
}
