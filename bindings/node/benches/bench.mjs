// Measures calls through this package and prints the same calls in pure Rust beside them, on the same tree.

import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Stack } from "callstack-core"

/** The number of rounds. The result is the median of the rounds. */
const ROUNDS = 21

/** Returns the time of one call, in microseconds. `calls`: the number of calls in a round. */
function time(calls, call) {
  const rounds = Array.from({ length: ROUNDS }, (_, round) => {
    const start = process.hrtime.bigint()
    for (let number = 0; number < calls; number++) call(round * calls + number)
    return Number(process.hrtime.bigint() - start) / 1000 / calls
  })
  return rounds.sort((one, other) => one - other)[ROUNDS >> 1]
}

function push(stack, number) {
  stack.push({
    title: "Parse the configuration",
    sessionID: `ses_new_${String(number).padStart(16, "0")}`,
    successCriteria: "All options of the file are read, unknown ones are reported with their line",
    successCriteriaCompacted: "All options read, unknown ones reported",
    parent: "root",
  })
}

function withRoot(stack) {
  stack.push({ title: "Root", sessionID: "root", parent: null })
  return stack
}

// Creating files is slow on some file systems: CALLSTACK_BENCH_FOLDER sets another folder.
const folder = mkdtempSync(join(process.env.CALLSTACK_BENCH_FOLDER ?? tmpdir(), "callstack-bench-"))
const source = fileURLToPath(new URL("../../../", import.meta.url))
const printed = execFileSync("cargo", ["bench", "--quiet", "--bench", "binding", "--", folder], {
  cwd: source,
  encoding: "utf8",
})
const rust = JSON.parse(printed)

const stack = Stack.fromState(readFileSync(join(folder, "state.json"), "utf8"))
const [frame] = stack.handles().slice(-1)
const context = stack.context(frame)
const memory = withRoot(Stack.inMemory())
const bare = withRoot(Stack.open(join(folder, "bare"), { mirror: false }))
const mirrored = withRoot(Stack.open(join(folder, "mirrored")))
const cold = () => {
  stack.clearCache()
  stack.context(frame)
}

const rows = [
  ["context, from the cache", time(20_000, () => stack.context(frame)), rust.cached, 15],
  ["context, not cached", time(5_000, cold), rust.cold, 40],
  ["the record of a frame", time(20_000, () => stack.frame(frame)), rust.frame],
  ["push in memory", time(500, (number) => push(memory, number)), rust.pushMemory, 10],
  ["push on SQLite, no mirror", time(100, (number) => push(bare, number)), rust.pushSqlite, 120],
  ["push on SQLite with the mirror", time(100, (number) => push(mirrored, number)), rust.pushMirrored, 120],
]
for (const open of [stack, memory, bare, mirrored]) open.close()
rmSync(folder, { recursive: true })

const runtime = process.versions.bun ? `Bun ${process.versions.bun}` : `Node ${process.versions.node}`
const { length } = context.xml
console.log(
  `63 frames; the context has ${length} characters of XML; its two parts together have ${context.stable.length + context.volatile.length}`,
)
console.table(
  Object.fromEntries(
    rows.map(([name, here, pure, limit]) => [
      name,
      { [`${runtime} (µs)`]: +here.toFixed(2), "Rust (µs)": +pure.toFixed(2), "at most (µs)": limit ?? "" },
    ]),
  ),
)
