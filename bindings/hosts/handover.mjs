#!/usr/bin/env node
// The costs of a job in Claude Code when subagents do its parts: in one conversation, with its own tool
// alone, and with frames that are handed over under `callstack run`. Writes the table into docs/mcp.md,
// between its two comments.
//
//   node handover.mjs    CALLSTACK is the program

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import fs from "node:fs"
import path from "node:path"
import { hosts, run } from "./hosts.mjs"
import { filesOf, job, resultsOf } from "./job.mjs"
import { startModel } from "./model.mjs"
import { costCell, intoDocument } from "./table.mjs"

const program = process.env.CALLSTACK
if (!program) throw new Error("CALLSTACK must be the path of the program callstack")
const host = hosts.claude

/** The answers of the agent that starts the subagents, one after the other. */
function lead(isHandedOver, areas) {
  const numbers = Array.from({ length: areas }, (_, area) => area)
  const start = (area) => {
    const prompt = isHandedOver
      ? `Your task on the call stack is frame f${area + 2} (Area ${area}).`
      : `Read the module ${area}: all parts in data/${area}-*.txt. Its figures must be known. Answer with them.`
    // The type of subagent that the answer of the hand-over names.
    const kind = isHandedOver ? "callstack-run:worker" : "general-purpose"
    const args = { description: `Area ${area}`, prompt, subagent_type: kind, run_in_background: false }
    return { calls: [{ name: "Agent", args }] }
  }
  const starts = numbers.map(start)
  if (!isHandedOver) return [...starts, { text: "All areas are read." }]
  const frames = numbers.map((area) => ({
    title: `Area ${area}`,
    successCriteria: `The module ${area} is read and its figures are known.`,
  }))
  return [
    { calls: [{ name: "push", args: { title: "Read all", successCriteria: "All areas are read" } }] },
    { calls: [{ name: "plan", args: { frames, handOver: true } }] },
    ...starts,
    { calls: [{ name: "pop", args: { status: "completed", results: "All areas are read." } }] },
    { text: "All areas are read." },
  ]
}

/** Runs the job with subagents, and returns what its requests cost. */
async function withSubagents(isHandedOver, { areas, steps }) {
  const answers = lead(isHandedOver, areas)
  const subagents = new Map()
  const problems = []
  let done = 0
  const model = await startModel((request) => {
    if (!request.tools.some((tool) => tool?.endsWith(host.shell))) return { text: "{}" }
    problems.push(...request.news.filter((result) => result.isError).map((result) => result.text.slice(0, 200)))
    const agent = request.headers["x-claude-code-agent-id"]
    if (agent === undefined) return answers[done++] ?? { text: "Done." }
    if (!subagents.has(agent)) {
      const task = /module (\d+)/.exec(JSON.stringify(request.items))
      subagents.set(agent, { area: Number(task?.[1]), step: 0 })
    }
    const subagent = subagents.get(agent)
    const { area, step } = subagent
    if (step === steps) return { text: resultsOf(area, steps) }
    subagent.step += 1
    const args = host.input(`cat data/${area}-${step}.txt`)
    return { text: `Reading part ${step} of area ${area}.`, calls: [{ name: host.shell, args }] }
  })
  const wrapper = isHandedOver ? [program, "run"] : undefined
  const files = filesOf(areas, steps)
  const allowed = ["Agent"]
  const { out, project } = await run("claude", { url: model.url, files, wrapper, allowed, timeout: 900_000 })
  const bill = model.bill()
  await model.close()
  assert.deepEqual([done, subagents.size, problems], [answers.length, areas, []], out.slice(-1500))
  if (isHandedOver) {
    const tree = execFileSync(program, ["tree", "--all"], { cwd: project, encoding: "utf8" })
    assert.match(tree, new RegExp(`${areas + 1} frames: ${areas + 1} completed`), tree)
    const log = execFileSync(program, ["log", "f2"], { cwd: project, encoding: "utf8" })
    assert.match(log, /cat data\/0-0\.txt/, log)
    assert.ok(fs.existsSync(path.join(project, ".callstack")))
  }
  return bill
}

const rows = []
for (const areas of [2, 12]) {
  const size = { areas, steps: 8 }
  const linear = await job("claude", "linear", { ...size, program })
  const cells = [linear, await withSubagents(false, size), await withSubagents(true, size)].map(
    ({ requests, cost }) => `${requests}; ${costCell(cost, linear.cost)}`,
  )
  rows.push(`| ${areas} | ${cells.join(" | ")} |`)
  console.log(rows.at(-1))
}
intoDocument("docs/mcp.md", "make bench-handover", [
  "| sub-tasks | one conversation: requests; cost | its own subagents | frames that are handed over |",
  "|---:|---:|---:|---:|",
  ...rows,
])
