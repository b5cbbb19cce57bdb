#!/usr/bin/env node
// One job in a real coding agent with a scripted model: sub-tasks of some steps. Each step reads a file
// of 3 KB. In one conversation, on the stack by MCP, or on the stack with each request folded.

import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { hosts, run } from "./hosts.mjs"
import { startModel } from "./model.mjs"

/** How agents ask for the summary that replaces a conversation that has become too long for their window. */
const ASKS_FOR_SUMMARY = /create a detailed summary|CONTEXT CHECKPOINT COMPACTION|handoff summary/i
/** Length of such a summary, in characters: 6,000 tokens. */
const SUMMARY_LENGTH = 24_000
/** Length of the files, in characters. */
const LENGTH = 3000

/** Text as a program may print it, the same for the same seed. */
function printed(seed, length) {
  let state = seed
  let text = ""
  while (text.length < length) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    text += `line ${state.toString(36)} of module ${seed}: value ${state % 997}\n`
  }
  return text.slice(0, length)
}

/** The files of a job, by their names. */
export function filesOf(areas, steps) {
  const files = {}
  for (let area = 0; area < areas; area++) {
    for (let step = 0; step < steps; step++) {
      files[`data/${area}-${step}.txt`] = printed(area * 100 + step + 1, LENGTH)
    }
  }
  return files
}

/** The results of an area after it was read. */
export const resultsOf = (area, steps) =>
  `Area ${area} read: ${steps} parts, sum ${area * 17 + 3}; the values are in data/${area}-*.txt. Nothing failed.`

/** A fact about an area that no file contains. It is known when the area is read. */
const factOf = (area) => `The key of area ${area} is K${(area * 7919 + 104729).toString(36)}.`

/**
 * The answers of the model, one after the other. They do not depend on what the model is shown, because
 * folding must not change the work.
 *
 * @param mode - `"linear"`, `"stack"`, `"folded"` or `"run"`.
 */
function script(name, mode, { areas, steps, hasFacts, isTogether }) {
  const host = hosts[name]
  const isOnStack = mode !== "linear"
  // The tools of the library want short forms, too.
  const compacted = (key, text) => (host.noMcp ? { [`${key}Compacted`]: text } : {})
  const answers = []
  for (let area = 0; area < areas; area++) {
    const criteria = `The module ${area} is read and its figures are known.`
    const results = hasFacts ? `${resultsOf(area, steps)} ${factOf(area)}` : resultsOf(area, steps)
    if (isOnStack) {
      const args = {
        title: `Area ${area}`,
        successCriteria: criteria,
        ...compacted("successCriteria", criteria),
      }
      const push = { name: "push", args }
      if (isTogether && area > 0) answers.at(-1).calls.push(push)
      else answers.push({ calls: [push] })
    }
    for (let step = 0; step < steps; step++) {
      const args = host.input(`cat data/${area}-${step}.txt`)
      answers.push({ text: `Reading part ${step} of area ${area}.`, calls: [{ name: host.shell, args }] })
    }
    if (isOnStack) {
      const args = { status: "completed", results, ...compacted("results", results) }
      answers.push({ calls: [{ name: "pop", args }] })
    } else {
      answers.push({ text: results, calls: [{ name: host.shell, args: host.input("true") }] })
    }
  }
  answers.push({ text: "All areas are read." })
  return answers
}

/**
 * Starts `callstack proxy` in front of a model: `{url, close()}`. `close` returns what the proxy has read of
 * the answers.
 */
async function startProxy(program, upstream) {
  const child = spawn(program, ["proxy", "--json", "--upstream", upstream], { stdio: ["ignore", "pipe", "ignore"] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => JSON.parse((await lines.next()).value).data
  const { url } = await next()
  const close = () => {
    child.kill("SIGTERM")
    return next()
  }
  return { url, close }
}

/**
 * The differences between two counts of the same requests that are larger than the rounding of each request.
 */
function differences(bill, usage) {
  const pairs = { uncached: "uncachedTokens", read: "readTokens", write: "writtenTokens" }
  return Object.entries(pairs)
    .filter(([own, other]) => Math.abs(bill[own] - usage[other]) > bill.requests)
    .map(([own, other]) => `the model has counted ${bill[own]} (${own}), and the proxy ${usage[other]}`)
}

/**
 * Runs a job, and returns what its requests cost:
 * `{requests, peak, total, read, write, uncached, cost, compactions}` in tokens of four characters, as the
 * provider of the host bills them. It also returns how often the host has compacted the conversation, and
 * `facts`: how many of the facts about the areas are in the last prompt. In the mode `"run"` the job is on
 * the stack by `callstack run`.
 *
 * @param options - `hasFacts`: the results of an area have a fact that is written nowhere else. `isTogether`:
 *   a pop and the next push are in one message. `window`: see `run`.
 */
export async function job(
  name,
  mode,
  { areas = 12, steps = 8, hasFacts = false, isTogether = false, window, program },
) {
  const answers = script(name, mode, { areas, steps, hasFacts, isTogether })
  const problems = []
  const summary = printed(7, SUMMARY_LENGTH)
  let done = 0
  let compactions = 0
  let last = ""
  const model = await startModel((request) => {
    const isWork = request.tools.some((tool) => tool?.endsWith(hosts[name].shell))
    const asked = request.items.findLast((item) => item.role === "user" && item.kind === "text")?.text ?? ""
    if (ASKS_FOR_SUMMARY.test(asked)) {
      compactions += 1
      return { text: `<summary>${summary}</summary>` }
    }
    if (!isWork) return { text: "{}" } // titles, classifiers and similar requests
    for (const result of request.news) {
      if (result.isError || /^MCP (tool|server)|tool error/.test(result.text)) problems.push(result.text.slice(0, 200))
    }
    if (request.orphans.length > 0) problems.push(`calls without outcomes: ${request.orphans}`)
    last = request.raw.toString()
    return answers[done++] ?? { text: "Done." }
  })
  // The extension of pi folds requests itself.
  const { noMcp, extension } = hosts[name]
  const proxy = mode === "folded" && !noMcp ? await startProxy(program, model.url) : undefined
  const files = filesOf(areas, steps)
  const mcp = mode === "linear" || mode === "run" ? undefined : { command: program, args: ["mcp"] }
  const own = mode === "linear" ? undefined : extension
  const wrapper = mode === "run" ? [program, "run"] : []
  const url = proxy?.url ?? model.url
  const result = await run(name, { url, files, mcp, extension: own, wrapper, window, timeout: 900_000 })
  const bill = model.bill()
  if (proxy) problems.push(...differences(bill, await proxy.close()))
  await model.close()
  if (done < answers.length || problems.length > 0) {
    const what = [...new Set(problems)].slice(0, 4).join("\n")
    throw new Error(`${name}, ${mode}: ${done} of ${answers.length} steps\n${what}\n${result.out.slice(-1500)}`)
  }
  const facts = Array.from({ length: areas }, (_, area) => factOf(area)).filter((fact) => last.includes(fact)).length
  return { ...bill, compactions, facts }
}
