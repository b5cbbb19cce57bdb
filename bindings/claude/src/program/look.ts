// The commands that show or change a stack and run nothing. Another process may run it at the same time.

import { existsSync } from "node:fs"
import { join } from "node:path"
import type { Frame, FrameRef, Handle } from "callstack-core"
import { Flame } from "../flame.js"
import { STOPPED } from "./commands.js"
import type { Ending } from "./endings.js"
import { Exit } from "./exit.js"
import { Failure } from "./failure.js"
import { parentOf } from "./goals.js"
import { line, toned } from "./lines.js"
import {
  type ChildOptions,
  type GoalOptions,
  identityOf,
  type PlaceOptions,
  placeOptions,
  sameCommand,
  stackFolder,
  type TreeOptions,
} from "./options.js"
import type { Reporter, Streams } from "./reporters.js"
import { lines, statusLines, usageLines } from "./reports.js"
import { oneLine } from "./text.js"

/** What a command has. */
export interface Place {
  options: PlaceOptions
  streams: Streams
  reporter: Reporter
}

/** `flame status` */
export function showStatus(place: Place): Promise<number> {
  return withStack(place, (flame) => {
    const brief = ({ handle: frame, title }: Frame) => ({ frame, title })
    const working = flame.stack.frames({ status: "in_progress" }).map(brief)
    const interrupted = flame.stack.frames({ relation: "interrupted" }).map(brief)
    place.reporter.answer("status", { working, interrupted, waiting: flame.waiting() }, statusLines(flame))
  })
}

/** `flame tree` */
export function showTree(place: Place & { options: TreeOptions }, frame: FrameRef | undefined): Promise<number> {
  return withStack(place, ({ stack }) => {
    const frames =
      place.options.json !== true ? [] : stack.frames(frame === undefined ? {} : { relation: "subtree", frame })
    const { isTTY, columns } = place.streams.output
    const width = isTTY === true && columns ? columns : 0
    const style = place.options.summaries === true ? "indented" : "marked"
    const outline = stack.outline({ width, style, ...(frame !== undefined && { root: frame }) })
    place.reporter.answer("tree", { frames }, lines(outline))
  })
}

/** `flame usage` */
export function showUsage(place: Place, frame: FrameRef | undefined): Promise<number> {
  return withStack(place, (flame) => {
    const frames = frame === undefined ? flame.stack.handles({ relation: "roots" }) : [flame.stack.resolve(frame)]
    const usage = frames.map((handle) => ({ frame: handle, ...flame.usage(handle) }))
    place.reporter.answer("usage", { usage }, usageLines(flame, frames))
  })
}

/** `flame answer` */
export function answer(place: Place, frame: FrameRef, text: string): Promise<number> {
  return withStack(place, ({ stack }) => {
    stack.answer(frame, text)
    const { handle, title } = stack.frame(frame)
    const next = `next: if no program runs it, ${sameCommand(place.options)}resume`
    place.reporter.answer("answered", { frame: handle, title }, [
      line(toned("strong", handle), ` is answered: ${oneLine(title)}`),
      line(toned("faint", next)),
    ])
  })
}

/** `flame stop` */
export function stop(place: Place, frame: FrameRef | undefined): Promise<number> {
  return withStack(place, ({ stack }) => {
    const stopped = frame === undefined ? stack.stopAll(STOPPED) : stack.stop(frame, STOPPED)
    const frames = stopped.map((handle) => ({ frame: handle, title: stack.frame(handle).title }))
    const said = frames.map(({ frame: handle, title }) =>
      line(toned("strong", handle), ` is stopped: ${oneLine(title)}`),
    )
    const next = line(toned("faint", `next: ${sameCommand(place.options)}resume`))
    place.reporter.answer("stopped", { stopped: frames }, said.length > 0 ? [...said, next] : [line("nothing runs")])
  })
}

/** `flame pop` */
export function pop(place: Place, frame: FrameRef, { status, results }: Ending): Promise<number> {
  return withStack(place, ({ stack }) => {
    const handle = stack.resolve(frame)
    stack.pop(handle, status, results)
    const { title } = stack.frame(handle)
    const isBelow = stack.ancestors(handle).length > 0
    const next = `next: if no program runs the frame above it, ${sameCommand(place.options)}resume`
    place.reporter.answer("popped", { frame: handle, title, status }, [
      line(toned("strong", handle), ` is ${status}: ${oneLine(title)}`),
      ...(isBelow ? [line(toned("faint", next))] : []),
    ])
  })
}

/** `flame plan` */
export function plan(place: Place, goal: string, { parent, ...identity }: ChildOptions): Promise<number> {
  return withStack(place, (flame) => {
    const handle = flame.plan({ goal, ...identityOf(identity), parent: parentOf(flame.stack, parent) })
    sayPlanned(place, flame, handle, `activate ${handle}`)
  })
}

/** `flame init` */
export async function planRoot(place: Place, goal: string, options: GoalOptions): Promise<number> {
  const flame = new Flame(placeOptions(place.options, place.streams.env))
  try {
    sayPlanned(place, flame, flame.plan({ goal, ...identityOf(options) }), "run")
  } finally {
    await flame.close()
  }
  return Exit.done
}

function sayPlanned({ options, reporter }: Place, { stack }: Flame, handle: Handle, command: string): void {
  const { title } = stack.frame(handle)
  reporter.answer("planned", { frame: handle, title }, [
    line(toned("strong", handle), ` is planned: ${oneLine(title)}`),
    line(toned("faint", `next: ${sameCommand(options)}${command}`)),
  ])
}

/** Fails if a folder has no stack. A mistyped folder must not begin an empty one. */
export function demandStack({ options, streams }: Place): void {
  const folder = stackFolder(options, streams.env)
  if (["stack.db", "state.json"].some((name) => existsSync(join(folder, name)))) return
  throw new Failure(Exit.failed, "no_stack", `there is no stack in ${oneLine(folder)}`, {
    next: 'name another folder with --directory or --folder, or begin one: flame "GOAL"',
  })
}

async function withStack(place: Place, use: (flame: Flame) => void): Promise<number> {
  demandStack(place)
  const flame = new Flame(placeOptions(place.options, place.streams.env))
  try {
    use(flame)
  } finally {
    await flame.close()
  }
  return Exit.done
}
