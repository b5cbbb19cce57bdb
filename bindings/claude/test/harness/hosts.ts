// Starts the program `orchestrator.ts` in a world and reads its lines. Also scripts agents that can be
// interrupted at any point.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { FlameEvent, FlameOptions } from "callstack-flame"
import { readJson } from "./json.js"
import { type Answer, frameOf, type ModelRequest } from "./model.js"
import type { Line, Task } from "./orchestrator.js"
import { pop, push, stack, write } from "./scripts.js"
import { until, type World } from "./world.js"

/** A running orchestrator in a process of its own. */
export interface HostProcess {
  child: ChildProcess
  /** The lines that it has printed so far. */
  lines: (FlameEvent | Line)[]
  /** The text that it has written to its standard error. */
  errors: string
  /** The end of the process: its status, or the signal that has ended it. */
  end: Promise<number | string>
  /** Waits for the outcomes. */
  outcomes(): Promise<Extract<Line, { kind: "outcomes" }>["outcomes"]>
  /** Waits for a line. */
  line(wanted: (line: FlameEvent | Line) => boolean, what: string): Promise<FlameEvent | Line>
}

/** How an orchestrator is started. */
export interface HostOptions extends Omit<Task, "options"> {
  options?: FlameOptions
  env?: Record<string, string>
  /** A program that runs it, with arguments. */
  through?: readonly string[]
}

const PROGRAM = join(import.meta.dirname, "orchestrator.js")

/** Starts an orchestrator on the project of a world. */
export function startHost(world: World, { options = {}, env, through = [], ...rest }: HostOptions = {}): HostProcess {
  const claude = { permissionMode: "acceptEdits" as const, ...options.claude }
  // After a kill, the frames of the orchestrator soon count as interrupted.
  const settings = { ...options.settings, calls: { lease: 1_500, ...options.settings?.calls } }
  const given = { directory: world.folder, model: "claude-sonnet-5", ...options, claude, settings }
  const task: Task = { ...rest, options: given }
  const [command = "", ...args] = [...through, process.execPath, PROGRAM, JSON.stringify(task)]
  // The process has a group of its own, like the group that a terminal makes: a test can send a signal to all
  // of its processes.
  const child = spawn(command, args, {
    env: { ...world.env, ...env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  })
  const end: Promise<number | string> = once(child, "close").then(
    ([code, signal]: (number | string)[]) => code ?? signal ?? "",
  )
  const lines: HostProcess["lines"] = []
  const host: HostProcess = { child, lines, errors: "", end, outcomes, line }
  let isClosed = false
  child.on("close", () => {
    isClosed = true
  })
  createInterface({ input: child.stdout }).on("line", (text) => lines.push(readJson(text)))
  child.stderr.on("data", (data) => {
    host.errors += String(data)
  })

  async function line(wanted: (line: FlameEvent | Line) => boolean, what: string): Promise<FlameEvent | Line> {
    return await until(() => {
      const found = lines.find(wanted)
      if (found === undefined && isClosed) throw new Error(`the host has ended without ${what}: ${host.errors}`)
      return found
    }, what)
  }

  async function outcomes(): Promise<Extract<Line, { kind: "outcomes" }>["outcomes"]> {
    const found = await line(({ kind }) => kind === "outcomes" || kind === "failed", "outcomes")
    if (found.kind !== "outcomes") throw new Error(`the host has failed: ${JSON.stringify(found)}`)
    return found.outcomes
  }

  return host
}

/**
 * The work of an agent. The agent sees in its conversation and context what it has done already, so it can be
 * interrupted at any point.
 */
export interface Work {
  title: string
  /** Files that it writes, one after the other, before anything else. */
  files?: readonly string[]
  children?: readonly Work[]
  /** Whether it begins all children in one message. */
  isParallel?: boolean
}

/** The results with which an agent pops. */
export function resultsOf({ title }: Work): string {
  return `Results of ${title}.`
}

/** Returns the next answer of the agent whose frame a request belongs to; undefined if the tree does not have it. */
export function agent(root: Work, request: ModelRequest, world: World): Answer | undefined {
  const work = workOf(root, request)
  if (work === undefined) return undefined
  const { files = [], children = [], isParallel = false } = work
  const all = textOf(request)
  const written = request.results.filter(({ name, isError }) => name === "Write" && !isError).length
  const file = files[written]
  if (file !== undefined) return { calls: [write(world, file, `// ${work.title}\n`)] }
  const calls = children
    .filter((child) => !all.includes(resultsOf(child)))
    .map(({ title }) => {
      // The context has a child that an earlier process has planned, or in which it was interrupted.
      const known = new RegExp(
        `<frame id="(f\\d+)" title="${title}"/>|Child (f\\d+) \\(${title}\\) was interrupted`,
      ).exec(all)
      const handle = known?.[1] ?? known?.[2]
      return handle === undefined ? push(title) : stack("frame_activate", { sessionID: handle })
    })
  if (calls.length > 0) return { calls: isParallel ? calls : calls.slice(0, 1) }
  return { text: `I finish ${work.title}.`, calls: [pop(resultsOf(work))] }
}

/** Returns the work of the frame that a request belongs to. */
export function workOf(root: Work, request: ModelRequest): Work | undefined {
  const title = titleOf(request)
  const find = (work: Work): Work | undefined =>
    work.title === title ? work : (work.children ?? []).map(find).find((found) => found !== undefined)
  return find(root)
}

/** Returns the title of the frame that a request belongs to: in the context the title follows the handle. */
function titleOf(request: ModelRequest): string | undefined {
  return new RegExp(`<current-frame id="${frameOf(request)}"[^>]*>\\s*<title>([^<]*)</title>`).exec(
    textOf(request),
  )?.[1]
}

/** Returns all texts of a request. */
function textOf({ system, messages }: ModelRequest): string {
  return [system, ...messages.map(({ text }) => text)].join("\n")
}

/**
 * A file that the CLI writes before it renames it to the final file. A kill at that moment leaves it there.
 */
const HALF_WRITTEN = /\.tmp\.\d+\.[0-9a-f]+$/

/**
 * The files of a project with their contents, without those of the stack and those that a killed CLI has
 * written only in part.
 */
export function filesOf({ folder }: World): Record<string, string> {
  const names = readdirSync(folder).filter((name) => name !== ".callstack" && !HALF_WRITTEN.test(name))
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]))
}
