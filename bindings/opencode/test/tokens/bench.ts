// When the call stack pays: the same job in one OpenCode session and on the stack, with the scripted model.
// It counts the tokens of each request, and the tokens that a prompt cache would save. `make bench-tokens`
// prints it.
// STACK_BENCH_SUBTASKS: the numbers of sub-tasks, separated by commas. Default 2,3,4,6,12,40.

import { STEPS } from "callstack-job"
import { CACHED_PRICE, UNCACHED_PRICE } from "./count.js"
import { compare } from "./record.js"
import { type Comparison, short, table, verdicts } from "./table.js"

const start = performance.now()
const comparisons: Comparison[] = []
for (const subtasks of sizes()) comparisons.push(await compare(subtasks))
print(comparisons)

function sizes(): number[] {
  const given = process.env["STACK_BENCH_SUBTASKS"] ?? "2,3,4,6,12,40"
  const sizes = given.split(",").map(Number)
  if (sizes.some((size) => !Number.isInteger(size) || size < 1 || size > 99)) {
    throw new Error(`STACK_BENCH_SUBTASKS is not a list of numbers from 1 to 99, such as 2,4,6: ${given}`)
  }
  return sizes
}

function print(comparisons: readonly Comparison[]): void {
  console.log(
    `One job in OpenCode: each sub-task reads ${STEPS} files, 3 KB of tool output each, then reports a short result.`,
  )
  console.log(
    "Tokens are o200k tokens of the tools (JSON) and messages (plain text). Cached tokens are the longest common prefix",
  )
  console.log(
    `with any earlier request of the job. Cost index = ${UNCACHED_PRICE} × uncached + ${CACHED_PRICE} × cached. Requests for titles are left out.`,
  )
  console.log('"Fewest requests": the model states results beside its next tool call, so results take no request.\n')
  console.log(table(comparisons))
  console.log()
  const sentences = [...verdicts(comparisons, "oneSession"), ...verdicts(comparisons, "fewestRequests")]
  for (const sentence of sentences) console.log(`- ${sentence}`)
  const [some] = comparisons
  if (some !== undefined) {
    const [without, with_] = [short(some.oneSession.first), short(some.stack.first)]
    console.log(
      `- The first request has ${without} tokens without the plugin and ${with_} with it: its tools and its context are in every request.`,
    )
  }
  console.log(`\nDone in ${((performance.now() - start) / 1000).toFixed(0)} s.`)
}
