#!/usr/bin/env node
// The costs of a job in real coding agents: in one conversation, on the stack, and on the stack with each
// request folded, also if a pop and the next push are in one message. Writes the tables into docs/fold.md and
// the README, between their two comments.
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

/** How each of them folds, for the README. */
const HOW = {
  codex: "`callstack run codex`",
  claude: "`callstack run claude`",
  gemini: "`callstack run gemini`",
  copilot: "`callstack run copilot`",
  qwen: "`callstack run qwen`",
  pi: "the extension folds by itself",
}

const program = process.env.CALLSTACK
if (!program) throw new Error("CALLSTACK must be the path of the program callstack")
const chosen = process.argv.slice(2)
/** A window in which no host compacts the conversation: Copilot CLI assumes 160,000 tokens for a model that it does not know. */
const WINDOW = 1_000_000
const rows = []
/** What of a job is in the README, in percent of one conversation: by its host, for each number of sub-tasks. */
const shares = {}
for (const name of chosen.length > 0 ? chosen : Object.keys(NAMES)) {
  for (const areas of [2, 12]) {
    const size = { areas, program, window: name === "copilot" ? WINDOW : undefined }
    const linear = await job(name, "linear", size)
    // pi's extension always folds.
    const stack = hosts[name].noMcp ? undefined : await job(name, "stack", size)
    const folded = await job(name, "folded", size)
    const together = await job(name, "folded", { ...size, isTogether: true })
    const share = (bill) => Math.round((100 * bill.cost) / linear.cost)
    shares[name] = [...(shares[name] ?? []), share(folded), share(together)]
    const cells = [linear, stack, folded, together].map((bill) => {
      if (bill === undefined) return "–"
      return `${thousands(bill.peak)}; ${costCell(bill.cost, linear.cost)}`
    })
    rows.push(`| ${NAMES[name]} | ${areas} | ${cells.join(" | ")} |`)
    console.log(rows.at(-1))
  }
}
if (chosen.length === 0) {
  intoDocument("docs/fold.md", "make bench-hosts", [
    "| host | sub-tasks | one conversation: peak; cost | on the stack | on the stack, folded | folded, a pop and the next push in one message |",
    "|---|---:|---:|---:|---:|---:|",
    ...rows,
  ])
  const cells = ([two, , twelve, together]) => `${two} % | **${twelve} %** | ${together} %`
  const byHost = Object.entries(shares).map(([name, all]) => [
    all[2],
    `| ${NAMES[name]} | ${cells(all)} | ${HOW[name]} |`,
  ])
  intoDocument("docs/hosts.md", "make bench-hosts", [
    "| host | 2 sub-tasks | 12 | 12, a pop and the next push in one message | how |",
    "|---|---:|---:|---:|---|",
    ...byHost.sort(([a], [b]) => a - b).map(([, row]) => row),
  ])
}
