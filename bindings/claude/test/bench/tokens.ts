// Prints what a job costs on the stack and in one session of the same SDK: peak prompt, all prompts, and cost
// index. STACK_BENCH_SUBTASKS: the number of sub-tasks. Default 12.

import { STEPS } from "callstack-job"
import { type Part, PRICES, type Totals } from "./count.js"
import type { Kind } from "./job.js"
import { measure, oneSession, stack, stackWithoutHeader } from "./record.js"

const subtasks = Number(process.env["STACK_BENCH_SUBTASKS"] ?? "12")
if (!Number.isInteger(subtasks) || subtasks < 1 || subtasks > 99)
  throw new Error(`STACK_BENCH_SUBTASKS is not a number from 1 to 99: ${process.env["STACK_BENCH_SUBTASKS"]}`)
async function waysOf(kind: Kind): Promise<[string, Totals][]> {
  const ways: [string, Totals][] = []
  for (const way of [oneSession, stack, stackWithoutHeader]) ways.push([way.name, await measure(way, subtasks, kind)])
  return ways
}
const ways = await waysOf("read")
const [[, one] = fail()] = ways

console.log(`One job of ${subtasks} sub-tasks with ${STEPS} steps each; a step reads a file, 3 KB of tool output.`)
console.log(
  "Tokens are o200k tokens of tools, system prompt and messages. The cache holds prompts up to the marks of earlier requests.",
)
console.log(`Cost index = ${PRICES.uncached} × uncached + ${PRICES.read} × read + ${PRICES.written} × written.\n`)
writeTable(ways)
console.log(
  "\nThe same where the last step of each sub-task writes a file, and a frame records a decision beside it:\n",
)
writeTable(await waysOf("write"))
console.log("\nWhere the tokens of all prompts are:\n")
const parts = Object.keys(one.parts) as Part[]
console.log(`| way | first prompt | ${parts.join(" | ")} | read | written |`)
console.log(`|---|${"---:|".repeat(parts.length + 3)}`)
for (const [name, totals] of ways) {
  const figures = [totals.first, ...parts.map((part) => totals.parts[part]), totals.read, totals.written]
  console.log(`| ${name} | ${figures.map(short).join(" | ")} |`)
}

function writeTable(ways: readonly [string, Totals][]): void {
  console.log("| way | requests | largest prompt | all prompts | cost index |\n|---|---:|---:|---:|---:|")
  const [[, one] = fail()] = ways
  for (const [name, { requests, peak, input, cost }] of ways) {
    const figures = [figure(peak, one.peak), figure(input, one.input), figure(cost, one.cost)]
    console.log(`| ${name} | ${requests} | ${figures.join(" | ")} |`)
  }
}

function fail(): never {
  throw new Error("no way was measured")
}

/** A number of tokens, and its share of the number for one session. */
function figure(value: number, all: number): string {
  return value === all ? short(value) : `${short(value)} (${((100 * value) / all).toFixed(0)} %)`
}

/** A number with three digits. */
function short(tokens: number): string {
  const [value, unit] = tokens < 999_500 ? [tokens / 1_000, "k"] : [tokens / 1_000_000, "M"]
  return `${value.toPrecision(Math.max(3, Math.floor(Math.log10(Math.max(value, 1))) + 1))}${unit}`
}
