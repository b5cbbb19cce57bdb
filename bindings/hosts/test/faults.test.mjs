// Faults: an agent under `callstack run` behaves as it does without it, and nothing is left of an agent that
// is killed.

import assert from "node:assert/strict"
import fs from "node:fs"
import path from "node:path"
import { test } from "node:test"
import { run } from "../hosts.mjs"
import { FILES, pop, program, push, scripted, shell, sums, world } from "./job.mjs"

/** The answer of the model to the second request, once or always. */
const FAULTS = {
  401: { answer: { status: 401, type: "authentication_error", message: "this key is not known" }, times: Infinity },
  "429 with retry-after": {
    answer: { status: 429, type: "rate_limit_error", headers: { "retry-after": "1" }, message: "slow down" },
    times: 1,
  },
  529: { answer: { status: 529, type: "overloaded_error", message: "Overloaded" }, times: 1 },
  "a stream that is cut": { answer: { text: "half an answer, ".repeat(100), cut: 4 }, times: 1 },
}

/** Claude Code repeats a request whose fault may pass ten times, and waits longer each time. */
const FEW_TRIES = { CLAUDE_CODE_MAX_RETRIES: "1" }

/**
 * The behaviour of an agent when a fault occurs in the middle of a frame: how it ends, what it asks, and
 * whether it repeats the words of the model.
 */
async function behaviour(t, name, { answer, times }, isRun) {
  const begin = isRun ? push(name, "Read") : shell(name, "true")
  const end = isRun ? pop(name, "It is read.") : shell(name, "true")
  const script = [
    { calls: [begin] },
    { text: "I read.", calls: [shell(name, "cat file.txt")] },
    { calls: [end] },
    { text: "All is done." },
  ]
  let [done, faults] = [0, 0]
  const model = await scripted(name, () => {
    if (done !== 1 || faults >= times) return script[done++]
    faults += 1
    return answer
  })
  t.after(() => model.close())
  const wrapper = isRun ? [program, "run"] : []
  const place = world(t, name)
  const { code, out } = await run(name, { url: model.url, files: FILES, world: place, wrapper, environment: FEW_TRIES })
  const asked = model.work.length
  assert.deepEqual(model.refused, [], out)
  const says = { message: out.includes(answer.message ?? "half an answer"), end: out.includes("All is done.") }
  return { seen: { code, asked, faults, says }, place, model, out }
}

for (const name of ["claude", "codex"])
  for (const [fault, what] of Object.entries(FAULTS))
    test(`${name}: ${fault} is what the agent makes of it without the run`, async (t) => {
      const alone = await behaviour(t, name, what, false)
      const ran = await behaviour(t, name, what, true)
      assert.deepEqual(ran.seen, alone.seen, `${alone.out.slice(-1500)}\n--- under the run:\n${ran.out.slice(-1500)}`)
      assert.ok(ran.seen.faults > 0)
      const { recorded } = sums(
        ran.place,
        ran.model.work.filter(({ bill }) => bill),
      )
      assert.deepEqual([recorded.requests, recorded.failed], [ran.seen.asked, ran.seen.faults], ran.out.slice(-1500))
    })

/** The processes that have a folder in their variables, by their numbers, with their commands. */
function processesOf(folder) {
  const read = (pid, file) => {
    try {
      return fs.readFileSync(`/proc/${pid}/${file}`, "utf8")
    } catch {
      return "" // The process has ended.
    }
  }
  const pids = fs.readdirSync("/proc").filter((pid) => /^\d+$/.test(pid))
  return new Map(
    pids
      .filter((pid) => read(pid, "environ").includes(folder))
      .map((pid) => [Number(pid), read(pid, "cmdline").replaceAll("\0", " ")]),
  )
}

/** Whether a process was started by another one, or by a descendant of that one. */
function isBelow(pid, above) {
  const parent = Number(fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ")[1])
  return parent === above || (parent > 1 && isBelow(parent, above))
}

for (const name of ["claude", "codex", "gemini", "opencode"])
  test(`${name}: an agent that is killed leaves nothing`, { skip: process.platform !== "linux" }, async (t) => {
    const place = world(t, name)
    const temporary = path.join(place.root, "tmp")
    fs.mkdirSync(temporary)
    let runner
    const model = await scripted(name, (_, count) => {
      if (count === 1) return { calls: [push(name, "Read")] }
      // The agent is killed while it waits for the model, with the processes that it consists of. The server
      // of the stack must end without being killed.
      const isOfAgent = ([pid, command]) => !command.startsWith(program) && isBelow(pid, runner)
      for (const [pid] of [...processesOf(place.root)].filter(isOfAgent)) process.kill(pid, "SIGKILL")
      return { text: "Too late.", wait: 2_000 }
    })
    t.after(() => model.close())
    const { code, out } = await run(name, {
      url: model.url,
      files: FILES,
      world: place,
      wrapper: [program, "run"],
      environment: { TMPDIR: temporary },
      started: (pid) => {
        runner = pid
      },
    })
    assert.equal(code, 137, out)
    for (let wait = 0; processesOf(place.root).size > 0 && wait < 200; wait++)
      await new Promise((ok) => setTimeout(ok, 100))
    assert.deepEqual([...processesOf(place.root).values()], [], "processes that are left")
    const left = fs.readdirSync(temporary).filter((file) => file.startsWith("callstack"))
    assert.deepEqual(left, [], "files that are left")
  })
