// The report of the bench: a Markdown table, and sentences that say when the stack pays.

import type { Totals } from "./count.js"

/** The measurements for one number of sub-tasks. */
export interface Comparison {
  subtasks: number
  oneSession: Totals
  /** The same without the requests whose answers are only results, see `isReport` of the job. */
  fewestRequests: Totals
  stack: Totals
  /** The stack with a session for each frame. */
  inSessions: Totals
}

/** A way to do the job. */
export type WayName = "oneSession" | "fewestRequests" | "stack" | "inSessions"

/** The ways as the report names them. */
const NAMES: Record<WayName, string> = {
  oneSession: "one session",
  fewestRequests: "one session, fewest requests",
  stack: "stack",
  inSessions: "stack, a session for each frame",
}

/** The table: four lines for each number of sub-tasks. */
export function table(comparisons: readonly Comparison[]): string {
  const head = ["sub-tasks", "way", "requests", "peak prompt", "input", "cached", "cost index", "stack / this way"]
  const ways = Object.keys(NAMES) as WayName[]
  return markdown(
    head,
    comparisons.flatMap((comparison) => ways.map((way) => line(comparison, way))),
  )
}

function line(comparison: Comparison, way: WayName): string[] {
  const { requests, peak, input, cached, cost } = comparison[way]
  const ratio = (comparison.stack.cost / cost).toFixed(2)
  return [
    String(comparison.subtasks),
    NAMES[way],
    String(requests),
    short(peak),
    short(input),
    `${((100 * cached) / input).toFixed(1)} %`,
    short(cost),
    ratio,
  ]
}

function markdown(head: readonly string[], lines: readonly string[][]): string {
  const widths = head.map((word, column) => Math.max(word.length, ...lines.map((cells) => cells[column]?.length ?? 0)))
  // The second column has words, the other columns have figures.
  const pad = (cell: string, column: number) =>
    column === 1 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  const row = (cells: readonly string[]) => `| ${cells.map(pad).join(" | ")} |`
  const rule = widths.map((width, column) => (column === 1 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`))
  return [row(head), row(rule), ...lines.map(row)].join("\n")
}

/**
 * The measured number of sub-tasks from which on the stack costs less, and the numbers for which it costs
 * more.
 */
export function verdicts(comparisons: readonly Comparison[], against: WayName): string[] {
  const sorted = [...comparisons].sort((one, other) => one.subtasks - other.subtasks)
  const isCheaper = (comparison: Comparison) => comparison.stack.cost < comparison[against].cost
  const dearest = sorted.findLastIndex((comparison) => !isCheaper(comparison))
  const from = sorted[dearest + 1]
  const change = (comparison: Comparison) =>
    `${comparison.subtasks} (${percent(comparison.stack.cost / comparison[against].cost)})`
  const dearer = sorted.filter((comparison) => !isCheaper(comparison))
  const list = sorted
    .slice(dearest + 1)
    .map(change)
    .join(", ")
  return [
    from === undefined
      ? `Compared with "${NAMES[against]}" the stack is not cheaper for the largest number of sub-tasks that was measured.`
      : `Compared with "${NAMES[against]}" the stack is cheaper from ${from.subtasks} sub-tasks on, of the numbers measured: ${list}.`,
    dearer.length === 0
      ? `There is no measured number of sub-tasks for which it costs more.`
      : `It does not pay for these numbers of sub-tasks, where it costs more: ${dearer.map(change).join(", ")}.`,
  ]
}

/** The change that a ratio means, in percent with its sign. */
function percent(ratio: number): string {
  const change = 100 * (ratio - 1)
  return `${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(1)} %`
}

/** A number of tokens with three significant digits: 57.3k, 5.46M. */
export function short(tokens: number): string {
  const [value, unit] = tokens < 999_500 ? [tokens / 1_000, "k"] : [tokens / 1_000_000, "M"]
  return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)}${unit}`
}
