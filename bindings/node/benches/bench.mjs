// Measures calls through this package and the same calls in pure Rust, on the same tree. Prints a table; with
// --json the figures in microseconds, for scripts/figures.

import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Stack } from "callstack-core"

/** The number of rounds. The median is that of the rounds. */
const ROUNDS = 21
/** The number of frames whose contexts are made in one call. */
const BATCH = 50

/**
 * Measures rounds of `calls` calls, and then each of `calls` calls by itself. Returns microseconds: the median
 * time of a call, and the time that one of a thousand exceeds.
 */
function time(calls, call) {
  const now = () => Number(process.hrtime.bigint()) / 1000
  const rounds = Array.from({ length: ROUNDS }, (_, round) => {
    const start = now()
    for (let number = 0; number < calls; number++) call(round * calls + number)
    return (now() - start) / calls
  })
  const single = Array.from({ length: calls }, (_, number) => {
    const start = now()
    call(ROUNDS * calls + number)
    return now() - start
  })
  for (const times of [rounds, single]) times.sort((one, other) => one - other)
  return { median: rounds[ROUNDS >> 1], late: single[Math.floor((calls * 999) / 1000)] }
}

/** The times of one of several things that a call does. */
function each({ median, late }, count) {
  return { median: median / count, late: late / count }
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
const changing = Stack.fromState(readFileSync(join(folder, "state.json"), "utf8"))
const [frame] = stack.handles().slice(-1)
const context = stack.context(frame)
const batch = Array(BATCH).fill(frame)
const memory = withRoot(Stack.inMemory())
const bare = withRoot(Stack.open(join(folder, "bare"), { mirror: false }))
const mirrored = withRoot(Stack.open(join(folder, "mirrored"), { mirror: "withCommands" }))
/** Makes contexts in one call. Earlier versions, which are measured too, have no function for that. */
const contexts = (frames) => stack.contexts?.(frames) ?? frames.map((frame) => stack.context(frame))
/** Reads what hosts with a prompt cache read. */
const read = ({ stable, volatile }) => stable.length + volatile.length
const cold = () => {
  stack.clearCache()
  read(stack.context(frame))
}
const changed = (number) => {
  changing.addDecision(frame, `Decision ${number % 20}`)
  read(changing.context(frame))
}

const here = {
  cached: time(20_000, () => read(stack.context(frame))),
  batch: each(
    time(1_000, () => contexts(batch).map(read)),
    BATCH,
  ),
  changed: time(1_000, changed),
  cold: time(1_000, cold),
  frame: time(20_000, () => stack.frame(frame)),
  pushMemory: time(1_000, (number) => push(memory, number)),
  pushSqlite: time(100, (number) => push(bare, number)),
  pushMirrored: time(100, (number) => push(mirrored, number)),
}
const names = {
  cached: "context, from the cache",
  batch: `the same, ${BATCH} in one call, for each`,
  changed: "a decision, and the context after it",
  cold: "context, when nothing is rendered yet",
  frame: "the record of a frame",
  pushMemory: "push in memory",
  pushSqlite: "push on SQLite, no mirror",
  pushMirrored: "push on SQLite with the mirror",
}
for (const open of [stack, changing, memory, bare, mirrored]) open.close()
rmSync(folder, { recursive: true })

const runtime = process.versions.bun ? `Bun ${process.versions.bun}` : `Node ${process.versions.node}`
if (process.argv.includes("--json")) {
  console.log(JSON.stringify({ runtime, bytes: Buffer.byteLength(context.xml), names, here, rust }))
} else {
  const { length } = context.xml
  console.log(`63 frames; the context has ${length} characters of XML; its two parts together have ${read(context)}`)
  console.table(
    Object.fromEntries(
      Object.entries(here).map(([key, { median, late }]) => [
        names[key],
        {
          [`${runtime} (µs)`]: +median.toFixed(2),
          "99.9 % (µs)": +late.toFixed(2),
          "Rust (µs)": +rust[key].median.toFixed(2),
        },
      ]),
    ),
  )
}
