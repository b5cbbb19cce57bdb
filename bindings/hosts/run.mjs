#!/usr/bin/env node
// Real coding agents under `callstack run`, each with a short job: the tools are there, and the request behind a pop is folded.
//
//   node run.mjs [HOST…]    CALLSTACK is the program

import assert from "node:assert/strict"
import { hosts, run } from "./hosts.mjs"
import { startModel } from "./model.mjs"

const SECRET = "what the file says, "
const RESULTS = "The file is read, and nothing is missing."

const program = process.env.CALLSTACK
if (!program) throw new Error("CALLSTACK must be the path of the program callstack")
const chosen = process.argv.slice(2)
const able = Object.keys(hosts)
for (const name of chosen.length > 0 ? chosen : able) {
  const host = hosts[name]
  const answers = [
    { calls: [{ name: "push", args: { title: "Read", successCriteria: "It is read." } }] },
    { text: "I read it.", calls: [{ name: host.shell, args: host.input("cat file.txt") }] },
    { calls: [{ name: "pop", args: { status: "completed", results: RESULTS } }] },
    { text: "All is done." },
  ]
  const work = []
  const model = await startModel((request) => {
    if (!request.tools.some((tool) => tool?.endsWith(host.shell))) return { text: "{}" }
    work.push(request.raw.toString())
    return answers[work.length - 1] ?? { text: "Done." }
  })
  const files = { "file.txt": SECRET.repeat(100) }
  const { code, out } = await run(name, { url: model.url, files, wrapper: [program, "run"] })
  await model.close()
  const shown = `${name}:\n${out.slice(-2000)}`
  assert.equal(code, 0, shown)
  assert.equal(work.length, answers.length, shown)
  assert.match(work[2], new RegExp(SECRET), shown)
  assert.doesNotMatch(work[3], new RegExp(SECRET), shown)
  assert.match(work[3], new RegExp(RESULTS), shown)
  const line = out.match(/^.*\d+ requests?, .* tokens in .*$/m)
  assert.ok(line, shown)
  console.log(`${name}: ${line[0]}`)
}
