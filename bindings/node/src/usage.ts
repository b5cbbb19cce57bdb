// The table of `/stack-usage`. The engine sums; this only writes the sums down.

import type { FrameRef, ModelUsage } from "./generated/types.js"
import type { Stack } from "./stack.js"

/** The columns of numbers. */
const COLUMNS = [
  ["requests", "requests"],
  ["failed", "failed"],
  ["uncachedInput", "uncached"],
  ["cacheRead", "cache read"],
  ["cacheWrite", "cache write"],
  ["output", "output"],
  ["reasoning", "reasoning"],
] as const

/** Returns the requests and tokens of frames, each alone and with everything below it, by model. */
export function usageTables(stack: Pick<Stack, "frame" | "usage">, frames: readonly FrameRef[]): string {
  if (frames.length === 0) return "No frames yet."
  return frames.map((frame) => usageTable(stack, frame)).join("\n\n")
}

function usageTable(stack: Pick<Stack, "frame" | "usage">, frame: FrameRef): string {
  const { handle, title } = stack.frame(frame)
  const { own, total } = stack.usage(frame)
  const heading = `${handle} ${title}`
  if (total.length === 0) return `${heading}: no requests to models yet`
  return [heading, ...table(handle, own), ...table(`${handle} and below`, total)].join("\n")
}

function table(heading: string, usages: readonly ModelUsage[]): string[] {
  const rows = usages.map((usage) => [usage.model || "unknown model", ...COLUMNS.map(([key]) => String(usage[key]))])
  const cells = [[heading, ...COLUMNS.map(([, name]) => name)], ...rows]
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ?? []
  const pad = (cell: string, column: number) => {
    const width = widths[column] ?? 0
    return column === 0 ? cell.padEnd(width) : cell.padStart(width)
  }
  return cells.map((row) => row.map(pad).join("  ").trimEnd())
}
