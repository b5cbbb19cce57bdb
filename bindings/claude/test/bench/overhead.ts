// Prints what the orchestrator adds to the SDK for each frame and each request, and how its memory and its
// folder grow. FLAME_BENCH_AREAS: the number of areas of 25 frames. Default 20: 501 frames, which take ten
// minutes on two busy cores.

import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { readJson, within } from "../harness/index.js"
import type { Report } from "./host.js"
import { LEAVES, smallSessions } from "./small.js"

const KILOBYTE = 1024
const MEGABYTE = KILOBYTE * KILOBYTE
/** How long a run may take, in milliseconds. */
const LIMIT = 1_800_000
/** Areas of the run without a stack. */
const BARE_AREAS = 4

const areas = Number(process.env["FLAME_BENCH_AREAS"] ?? "20")
const flame = await measure("flame", areas)
const bare = await measure("bare", Math.min(areas, BARE_AREAS))

console.log(`${1 + areas * (1 + LEAVES)} frames, two at a time; a leaf makes two requests. Milliseconds.\n`)
console.log("| | count | median | 95 % | 99.9 % | longest |\n|---|---:|---:|---:|---:|---:|")
line("a frame: from its parent's call to `query()`", flame.report.before)
line("a frame: from the end of its session to its parent's answer", flame.report.after)
line("**both: what callstack-flame adds**", flame.report.outside)
line("the same in a bare host of nested queries", bare.report.outside)
line("SDK: from `query()` to the result, with callstack-flame", flame.report.working)
line("SDK: from `query()` to the result, bare", bare.report.working)
line("SDK: from the result to the end of the process, with callstack-flame", flame.report.ending)
line("SDK: from the result to the end of the process, bare", bare.report.ending)
line("**what a request waits for callstack-flame: hooks and tools**", flame.report.waits)
line("all handlers of a request, also those beside it", flame.report.requests)
console.log(
  `\nProcessor time of the orchestrator's process: ${perRequest(flame)} ms for each request, of the bare host: ${perRequest(bare)} ms.\n`,
)
console.log(
  "| frames | resident MB | heap MB | outside of the heap MB | folder of the stack KB | written KB for each frame |",
)
console.log("|---:|---:|---:|---:|---:|---:|")
for (const [index, { frames, resident, heap, external, folder, written }] of flame.report.samples.entries()) {
  const before = flame.report.samples[index - 1] ?? { frames: 0, written: 0 }
  const sizes = [resident, heap, external].map((bytes) => (bytes / MEGABYTE).toFixed(1))
  const perFrame = (written - before.written) / (frames - before.frames) / KILOBYTE
  console.log(`| ${frames} | ${sizes.join(" | ")} | ${(folder / KILOBYTE).toFixed(0)} | ${perFrame.toFixed(0)} |`)
}

interface Measured {
  report: Report
  requests: number
}

/** Runs a host in a process of its own; the model stays in this one. */
function measure(mode: "flame" | "bare", areas: number): Promise<Measured> {
  return within(
    smallSessions(areas),
    async (world) => {
      writeFileSync(join(world.folder, "notes.txt"), "A leaf reads this.\n")
      const file = (name: string) => join(import.meta.dirname, name)
      const words = ["--expose-gc", "--import", file("loader.js"), file("host.js"), mode]
      const host = spawn(process.execPath, words, { cwd: world.folder, stdio: ["ignore", "pipe", "inherit"] })
      let text = ""
      host.stdout.setEncoding("utf8").on("data", (piece: string) => {
        text += piece
      })
      const code = await new Promise((resolve) => host.once("close", resolve))
      if (code !== 0) throw new Error(`the host has ended with ${String(code)}`)
      return { report: readJson<Report>(text), requests: world.model.asked.length }
    },
    { limit: LIMIT },
  )
}

function perRequest({ report, requests }: Measured): string {
  return (report.processor / requests).toFixed(1)
}

function line(name: string, times: readonly number[]): void {
  const sorted = [...times].sort((one, other) => one - other)
  const at = (share: number) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2)
  console.log(`| ${name} | ${sorted.length} | ${at(0.5)} | ${at(0.95)} | ${at(0.999)} | ${at(1)} |`)
}
