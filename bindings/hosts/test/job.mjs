// A short job in a real agent under `callstack run`, and the data that the tests look at.

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { hosts, run } from "../hosts.mjs"
import { startModel } from "../model.mjs"

export const program = path.resolve(process.env.CALLSTACK ?? "")
if (!process.env.CALLSTACK) throw new Error("CALLSTACK must be the path of the program callstack")

/** The text in a file of the project, and the results after the file was read. */
export const SECRET = "what the file says, "
export const FILES = { "file.txt": SECRET.repeat(100), "other.txt": "what the other one says, ".repeat(100) }

/** The calls that begin and finish a frame. The plugins want short forms, too. */
export const push = (name, title) => {
  const criteria = `${title} is read.`
  return { name: "push", args: { title, successCriteria: criteria, ...compacted(name, "successCriteria", criteria) } }
}
export const pop = (name, results) => ({
  name: "pop",
  args: { status: "completed", results, ...compacted(name, "results", results) },
})
const compacted = (name, key, text) => (hosts[name].noMcp ? { [`${key}Compacted`]: text } : {})

/** A call of the host's shell. */
export const shell = (name, command) => ({ name: hosts[name].shell, args: hosts[name].input(command) })

/** Two sub-tasks, with thoughts before each answer, and with parallel calls. */
export const answers = (name) => [
  { reasoning: "I begin.", calls: [push(name, "First part")] },
  {
    reasoning: "Both at once.",
    text: "I read both.",
    calls: [shell(name, "cat file.txt"), shell(name, "cat other.txt")],
  },
  { reasoning: "That was it.", calls: [pop(name, "The first part says nothing new.")] },
  { reasoning: "On we go.", calls: [push(name, "Second part")] },
  { reasoning: "Once more.", text: "I read it again.", calls: [shell(name, "cat file.txt")] },
  { reasoning: "Enough.", calls: [pop(name, "The second part neither.")] },
  { text: "All is done." },
]

/** A model that answers the requests of the work one after the other; others, such as those for a title, get an empty object. */
export async function scripted(name, script) {
  const work = []
  const model = await startModel((request) => {
    if (!request.tools.some((tool) => tool?.endsWith(hosts[name].shell))) return { text: "{}" }
    work.push(request)
    const answer = typeof script === "function" ? script(request, work.length) : script[work.length - 1]
    return answer ?? { text: "Done." }
  })
  return Object.assign(model, { work })
}

/** A folder for one agent, or for several one after the other. It is removed after the test. */
export function world(test, name) {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), `hosts-${name}-`))
  test.after(() => fs.rmSync(root, { recursive: true, force: true }))
  return { root, home: path.join(root, "home"), project: path.join(root, "project") }
}

/**
 * Runs an agent under `callstack run`, and shows its output if it fails. `options` are the options of
 * `callstack run`.
 */
export async function runs(name, model, given = {}) {
  const { options: ofRun = [], code = 0, ...rest } = given
  const result = await run(name, { url: model.url, files: FILES, wrapper: [program, "run", ...ofRun], ...rest })
  const shown = `${name}:\n${model.refused.join("\n")}\n${result.out.slice(-3000)}`
  assert.deepEqual(model.refused, [], shown)
  if (code !== undefined) assert.equal(result.code, code, shown)
  return { ...result, shown }
}

/** The answer of a command of the program about the stack of a project, as JSON. */
export const asked = ({ project, home }, ...words) =>
  JSON.parse(
    execFileSync(program, [...words, "--json"], {
      cwd: project,
      env: { HOME: home, PATH: process.env.PATH },
      encoding: "utf8",
    }),
  ).data

/** The log of a frame, one entry for each line. */
export const logOf = ({ project, home }, ...words) =>
  execFileSync(program, ["log", ...words, "--raw"], {
    cwd: project,
    env: { HOME: home, PATH: process.env.PATH },
    encoding: "utf8",
  })
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))

/**
 * The sums of what the stack has recorded, and of what the model has billed. If a wire does not report cache
 * writes, these count as uncached.
 */
export function sums(place, requests, ...words) {
  const { models } = asked(place, "usage", ...words).total
  const sum = (rows, ...keys) => rows.reduce((all, row) => keys.reduce((some, key) => some + row[key], all), 0)
  const bills = requests.map(({ bill }) => bill)
  const recorded = {
    requests: sum(models, "requests"),
    failed: sum(models, "failed"),
    read: sum(models, "cacheRead"),
    rest: sum(models, "uncachedInput", "cacheWrite"),
  }
  const isExact = requests[0].wire === "anthropic"
  const rest = isExact ? sum(bills, "uncached", "write") : sum(bills, "total") - sum(bills, "read")
  return { recorded, billed: { requests: bills.length, failed: 0, read: sum(bills, "read"), rest } }
}

/** Asserts that the stack has recorded what the model has billed. `words` name a frame, or a stack. */
export function assertBilled(place, requests, shown, ...words) {
  const { recorded, billed } = sums(place, requests, ...words)
  assert.deepEqual(recorded, billed, `what was recorded is not what the model has billed\n${shown}`)
}
