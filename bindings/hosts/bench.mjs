#!/usr/bin/env node
// What a job costs in real coding agents: in one conversation, on the stack, and on the stack with each request folded. Writes
// the table into docs/fold.md, between its two comments.
//
//   node bench.mjs [HOST…]    CALLSTACK is the program

import { hosts } from "./hosts.mjs"
import { job } from "./job.mjs"
import { costCell, intoDocument, thousands } from "./table.mjs"

const NAMES = {
  codex: "Codex",
  claude: "Claude Code",
  gemini: "Gemini CLI",
  copilot: "Copilot CLI",
  qwen: "Qwen Code",
  pi: "pi",
}

const program = process.env.CALLSTACK
if (!program) throw new Error("CALLSTACK must be the path of the program callstack")
const chosen = process.argv.slice(2)
const rows = []
for (const name of chosen.length > 0 ? chosen : Object.keys(NAMES)) {
  for (const areas of [2, 12]) {
    const linear = await job(name, "linear", { areas, program })
    // pi's extension always folds.
    const stack = hosts[name].noMcp ? undefined : await job(name, "stack", { areas, program })
    const cells = [linear, stack, await job(name, "folded", { areas, program })].map((bill) => {
      if (bill === undefined) return "–"
      return `${thousands(bill.peak)}; ${costCell(bill.cost, linear.cost)}`
    })
    rows.push(`| ${NAMES[name]} | ${areas} | ${cells.join(" | ")} |`)
    console.log(rows.at(-1))
  }
}
if (chosen.length === 0) {
  intoDocument("fold.md", "make bench-hosts", [
    "| host | sub-tasks | one conversation: peak; cost | on the stack | on the stack, folded |",
    "|---|---:|---:|---:|---:|",
    ...rows,
  ])
}
