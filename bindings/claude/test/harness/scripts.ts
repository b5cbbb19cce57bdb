// Scripts of models by frame, the calls that they make, and an orchestrator in a world that runs them.

import assert from "node:assert/strict"
import { join } from "node:path"
import type { Frame } from "callstack-core"
import { Flame, type FlameEvent, type FlameOptions } from "callstack-flame"
import { type Answer, call, frameOf, type ModelRequest, type ToolCall } from "./model.js"
import { until, type World, type WorldOptions, type WorldScript, within } from "./world.js"

/** An answer, or a function that chooses the answer when the request has arrived. */
export type Step = Answer | ((request: ModelRequest, world: World) => Answer | Promise<Answer>)

/**
 * The answers to each frame's requests, in order. The answers to requests without a frame's context are named
 * `none`.
 */
export type Steps = Record<string, readonly Step[]>

/** A script by frame. A request that has no answer fails its test. */
export function byFrame(steps: Steps): WorldScript {
  const left = new Map(Object.entries(steps).map(([frame, answers]) => [frame, [...answers]]))
  return (request, world) => {
    const frame = frameOf(request) ?? "none"
    const step = left.get(frame)?.shift()
    if (step === undefined) throw new Error(`${frame} has no answer for a request that ends: ${request.lastUser}`)
    return typeof step === "function" ? step(request, world) : step
  }
}

/** A call of a tool of the stack. */
export function stack(tool: string, args: object = {}): ToolCall {
  return call(`mcp__stack__stack_${tool}`, args)
}

/** A call that begins a child and waits for it. */
export function push(title: string, more: object = {}): ToolCall {
  return stack("frame_push", {
    title,
    successCriteria: `${title} works`,
    successCriteriaCompacted: `${title} works`,
    ...more,
  })
}

/**
 * A call that ends the frame of the caller, even if frames below it were stopped: a script cannot answer a
 * refusal.
 */
export function pop(results: string, status = "completed"): ToolCall {
  const anyway = status === "completed" ? { anyway: true } : {}
  return stack("frame_pop", { status, results, resultsCompacted: results, ...anyway })
}

/** A call that writes a file of the project. */
export function write({ folder }: World, name: string, content = `// ${name}\n`): ToolCall {
  return call("Write", { file_path: join(folder, name), content })
}

/** The data that a test has about a running orchestrator. */
export interface Running {
  flame: Flame
  world: World
  /** All events so far, without those of the log. */
  events: FlameEvent[]
  /** The log so far. */
  log: Extract<FlameEvent, { kind: "log" }>[]
}

/** Options of the orchestrator and of its world. */
export interface RunningOptions extends FlameOptions {
  world?: WorldOptions
}

/** Uses an orchestrator in a new world. Files may be written without a question. Afterwards no process is left. */
export function withFlame(
  script: WorldScript,
  use: (running: Running) => Promise<void>,
  { world: worldOptions, claude, ...options }: RunningOptions = {},
): Promise<void> {
  return within(
    script,
    async (world) => {
      const flame = new Flame({
        directory: world.folder,
        model: "claude-sonnet-5",
        claude: { permissionMode: "acceptEdits", ...claude },
        ...options,
      })
      const running: Running = { flame, world, events: [], log: [] }
      flame.on((event) => (event.kind === "log" ? running.log.push(event) : running.events.push(event)))
      try {
        await use(running)
      } finally {
        await flame.close()
      }
      await world.settled()
    },
    worldOptions,
  )
}

/** The same with a model that answers by this script. The engine reports no error. */
export function running(
  script: Steps | WorldScript,
  use: (running: Running) => Promise<void>,
  options: RunningOptions = {},
): Promise<void> {
  return withFlame(
    typeof script === "function" ? script : byFrame(script),
    async (running) => {
      await use(running)
      assert.deepEqual(
        running.log.filter(({ level }) => level === "error"),
        [],
      )
    },
    options,
  )
}

/** Returns a tree as lines: status and title of each frame, indented, and below them the results. */
export function treeOf({ stack }: Flame): string[] {
  const linesOf = (frame: Frame, indent: string): string[] => {
    const { handle, status, title, results } = frame
    const children = stack.frames({ relation: "children", frame: handle })
    const below = children.flatMap((child) => linesOf(child, `${indent}  `))
    return [`${indent}[${status}] ${title}`, ...(results ? [`${indent}  = ${results}`] : []), ...below]
  }
  return stack.frames({ relation: "roots" }).flatMap((root) => linesOf(root, ""))
}

/** Returns the stable part of the context of a request, which is in its system prompt. */
export function stableOf({ system }: ModelRequest): string {
  return /<stack-context[\s\S]*<\/stack-context>/.exec(system)?.[0] ?? ""
}

/** Returns the volatile parts of contexts among the messages of a request, oldest first. */
export function volatilesOf({ messages }: ModelRequest): string[] {
  return messages.flatMap(({ text }) => text.match(/<stack-now[^>]*>[\s\S]*?<\/stack-now>/g) ?? [])
}

/** Waits for the first event of a kind about a frame. */
export function happened({ events }: Running, kind: FlameEvent["kind"], frame: string): Promise<FlameEvent> {
  const find = () => events.find((event) => event.kind === kind && event.frame === frame)
  return until(find, `${kind} ${frame}`)
}
