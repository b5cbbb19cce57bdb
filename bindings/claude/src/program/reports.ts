// How events, ends of frames and costs look as lines for people.

import type { Frame, FrameRef, FrameStatus, Handle, ModelUsage } from "callstack-core"
import type { FlameEvent } from "../events.js"
import type { Flame, Outcome, Usage } from "../flame.js"
import { indented, type Line, line, type Tone, toned } from "./lines.js"
import { oneLine } from "./text.js"

/** The number of lines that are shown of the results of a frame that is not a root. */
const RESULT_LINES = 12

const TONES: Readonly<Record<FrameStatus, Tone>> = {
  planned: "faint",
  in_progress: "asking",
  completed: "good",
  failed: "bad",
  blocked: "asking",
  invalidated: "faint",
}

/** Returns the line of an event; undefined if the event has nothing that is worth a permanent line. */
export function lineOf(event: FlameEvent): Line | undefined {
  switch (event.kind) {
    case "begun": {
      const below = event.parent === undefined ? "" : ` (below ${event.parent})`
      const verb = event.again ? " resumes: " : " begun: "
      return line(toned("strong", event.frame), verb, oneLine(event.title), toned("faint", below))
    }
    case "ended":
      // The question of its agent follows as an event of its own.
      if (isAsking(event)) return undefined
      return line(...headOf(event.frame, event.status), firstLineOf(event.reason ?? event.results))
    case "waiting":
      return waitingLine(event.frame, event.question)
    case "overspent":
      return line(toned("strong", event.frame), " ", toned("bad", "is stopped"), `: ${oneLine(event.reason)}`)
    case "retry":
      return line(toned("strong", event.frame), ` asks the model again in ${seconds(event.delay)}: `, problemOf(event))
    case "silence":
      return line(toned("strong", event.frame), `: the model has been silent for ${seconds(event.milliseconds)}`)
    case "compacted":
      return line(toned("strong", event.frame), ": its conversation was compacted")
    case "log":
      // The warnings of the engine are also in the events of frames.
      if (event.level === "error") return line(toned("bad", "error: "), oneLine(event.message))
      // Another process runs a frame, and this process waits for it.
      return "process" in event.data ? line(oneLine(event.message)) : undefined
    default:
      return undefined
  }
}

/**
 * Returns the lines of an event where there is room: with the results of a frame, and with questions in full.
 */
export function linesOf(event: FlameEvent, isRoot: (frame: Handle) => boolean): Line[] {
  if (event.kind === "waiting") {
    const { frame, title, question } = event
    return [waitingLine(frame, title), ...indented(question), line(toned("faint", `  answer ${frame} TEXT`))]
  }
  if (event.kind === "ended" && !isAsking(event)) {
    const { frame, title, status, results, reason } = event
    const head = line(...headOf(frame, status), oneLine(title))
    const reasons = reason === undefined ? [] : indented(reason, "bad")
    return [head, ...reasons, ...resultLines(results, isRoot(frame) ? Number.POSITIVE_INFINITY : RESULT_LINES, frame)]
  }
  const brief = lineOf(event)
  return brief === undefined ? [] : [brief]
}

/**
 * Returns the lines at the end of a run: its costs, the frames that wait, and the commands that resume it.
 */
export function outcomeLines({ frame, waiting }: Outcome, usage: Usage, command: string): Line[] {
  return [
    costLine(frame.handle, usage),
    ...waiting.map((open) => waitingLine(open.frame, open.question)),
    ...nextLines(frame, waiting, command),
  ]
}

/** Returns how to resume a frame that is not finished. */
function nextLines({ status }: Frame, waiting: Outcome["waiting"], command: string): Line[] {
  const [first] = waiting
  if (first !== undefined) {
    return [line(toned("faint", `next: ${command}answer ${first.frame} TEXT, then ${command}resume`))]
  }
  return status === "blocked" ? [line(toned("faint", `next: ${command}resume`))] : []
}

/** Returns the tokens and the costs of a frame with everything below it, on one line. */
export function costLine(frame: Handle, { total, totalCostUsd }: Usage): Line {
  const requests = sumOf(total, ({ requests }) => requests)
  const tokens = sumOf(total, tokensOf)
  return line(
    toned("faint", `${frame}: ${counted(requests, "request")}, ${counted(tokens, "token")}, ${dollars(totalCostUsd)}`),
  )
}

/**
 * Returns the frames that work, that wait, and that can resume: those of this process, and those of others.
 */
export function statusLines(flame: Flame): Line[] {
  const { stack } = flame
  stack.refresh()
  const interrupted = new Set(stack.handles({ relation: "interrupted" }))
  const open = stack.frames({ status: "in_progress" })
  const working = open.filter(({ handle }) => !interrupted.has(handle))
  const waiting = flame.waiting()
  const stopped = [
    ...open.filter(({ handle }) => interrupted.has(handle)),
    ...stack.frames({ status: "blocked" }).filter(({ handle }) => !waiting.some(({ frame }) => frame === handle)),
  ]
  const lines = [
    ...working.map(({ handle, title }) => line(...headOf(handle, "in_progress"), oneLine(title))),
    ...waiting.map(({ frame, question }) => waitingLine(frame, question)),
    ...stopped.map(({ handle, title }) =>
      line(toned("strong", handle), " ", toned("faint", "can resume"), `: ${oneLine(title)}`),
    ),
  ]
  return lines.length > 0 ? lines : [line("no frame works, and none waits")]
}

/** Returns the requests, tokens and costs of frames, each alone and with everything below it, by model. */
export function usageLines(flame: Flame, frames: readonly FrameRef[]): Line[] {
  if (frames.length === 0) return [line("there are no frames yet")]
  return frames.flatMap((frame) => {
    const { handle, title } = flame.stack.frame(frame)
    const usage = flame.usage(handle)
    const head = line(toned("strong", handle), ` ${oneLine(title)}`)
    if (usage.total.length === 0) return [head, line("  no requests to models yet")]
    const tables = [
      ...table("alone", usage.own, usage.ownCostUsd),
      ...table("with all below it", usage.total, usage.totalCostUsd),
    ]
    return [head, ...aligned(tables).map((row) => line(`  ${row}`))]
  })
}

/** Returns the lines of a text for people. */
export function lines(text: string): Line[] {
  return text
    .trimEnd()
    .split("\n")
    .map((words) => line(words))
}

const COLUMNS = [
  ["requests", "requests"],
  ["uncachedInput", "uncached"],
  ["cacheRead", "cache read"],
  ["cacheWrite", "cache write"],
  ["output", "output"],
] as const

function table(name: string, usages: readonly ModelUsage[], cost: number): string[][] {
  const head = [name, ...COLUMNS.map(([, title]) => title), dollars(cost)]
  const rows = usages.map((usage) => [
    oneLine(usage.model) || "unknown model",
    ...COLUMNS.map(([key]) => grouped(usage[key])),
    "",
  ])
  return [head, ...rows]
}

function aligned(rows: readonly string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return rows.map((row) => row.map(pad).join("  ").trimEnd())
}

function waitingLine(frame: Handle, text: string): Line {
  return line(toned("strong", frame), " ", toned("asking", "waits for you"), `: ${firstLineOf(text)}`)
}

function headOf(frame: Handle, status: FrameStatus) {
  return [toned("strong", frame), toned("plain", " "), toned(TONES[status], status), toned("plain", ": ")]
}

function isAsking({ status, reason }: Extract<FlameEvent, { kind: "ended" }>): boolean {
  return status === "blocked" && reason === undefined
}

function resultLines(results: string, most: number, frame: Handle): Line[] {
  const all = results.trim() === "" ? [] : indented(results)
  const rest = all.length - most
  if (rest <= 0) return all
  return [...all.slice(0, most), line(toned("faint", `  … ${counted(rest, "more line")}: show ${frame}`))]
}

function problemOf({ status, error, attempt }: { status: number | undefined; error: string; attempt: number }): string {
  return oneLine([status, error, `(attempt ${attempt})`].filter((word) => word !== undefined).join(" "))
}

function firstLineOf(text: string): string {
  return oneLine(text.trim().split("\n", 1)[0] ?? "")
}

/** Returns the tokens of requests, of prompts and answers. */
function tokensOf(usage: ModelUsage): number {
  return usage.uncachedInput + usage.cacheRead + usage.cacheWrite + usage.output + usage.reasoning
}

function sumOf(usages: readonly ModelUsage[], value: (usage: ModelUsage) => number): number {
  return usages.reduce((sum, usage) => sum + value(usage), 0)
}

function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`
}

function grouped(count: number): string {
  return count.toLocaleString("en-US")
}

function dollars(amount: number): string {
  return `$${amount.toFixed(4)}`
}

function seconds(milliseconds: number): string {
  return `${Math.max(1, Math.round(milliseconds / 1000))} s`
}
