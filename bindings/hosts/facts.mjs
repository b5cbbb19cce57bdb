#!/usr/bin/env node
// A session that is longer than its window, in Claude Code and Codex: 40 sub-tasks. Each sub-task ends with
// a fact that is written nowhere else. It runs in one conversation and under `callstack run`. The agent
// compacts the one conversation automatically at 200,000 tokens, with a scripted summary of 6,000 that has
// none of the facts. Writes the table into docs/fold.md, between its two comments.
//
//   node facts.mjs [HOST…]    CALLSTACK is the program

import { job } from "./job.mjs"
import { costCell, intoDocument, thousands } from "./table.mjs"

const NAMES = { codex: "Codex", claude: "Claude Code" }
const AREAS = 40
const WINDOW = 200_000

const program = process.env.CALLSTACK
if (!program) throw new Error("CALLSTACK must be the path of the program callstack")
const chosen = process.argv.slice(2)
const rows = []
for (const name of chosen.length > 0 ? chosen : Object.keys(NAMES)) {
  const linear = await job(name, "linear", { areas: AREAS, window: WINDOW, hasFacts: true, program })
  const run = await job(name, "run", { areas: AREAS, window: WINDOW, hasFacts: true, program })
  for (const [mode, { compactions, peak, cost, facts }] of [
    ["one conversation", linear],
    ["`callstack run`", run],
  ]) {
    const bill = `${thousands(peak)} | ${costCell(cost, linear.cost)}`
    rows.push(`| ${NAMES[name]} | ${mode} | ${compactions} | ${bill} | ${facts} of ${AREAS} |`)
    console.log(rows.at(-1))
  }
}
if (chosen.length === 0) {
  intoDocument("docs/fold.md", "make bench-facts", [
    "| agent | session | compactions | peak | cost | facts in the last prompt |",
    "|---|---|---:|---:|---:|---:|",
    ...rows,
  ])
}
