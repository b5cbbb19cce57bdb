// Memory: flat over many calls, given back when a stack is closed or forgotten.

import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { Stack } from "callstack-core"
import { folder, isBun, run } from "./common.js"

/** What a measurement prints. */
interface Measured {
  before: number
  after: number
  bytes: number
}

/** Runs code in a process of its own, where the garbage can be collected, and reads what it prints as JSON. */
function measured(code: string): Measured {
  const common = JSON.stringify(new URL("./common.js", import.meta.url).href)
  const prelude = `import { Stack } from "callstack-core"; import { collect, megabytes } from ${common};`
  const flags = isBun ? [] : ["--expose-gc"]
  const done = run(prelude + code, { flags })
  assert.equal(done.status, 0, done.stderr)
  return JSON.parse(done.stdout.trim().split("\n").at(-1) ?? "")
}

test("100,000 contexts in a loop leave the memory flat", () => {
  const { before, after, bytes } = measured(`
    const stack = Stack.inMemory()
    stack.push({ title: "Root", sessionID: "root" })
    for (let i = 0; i < 62; i++) {
      stack.push({ title: "Task " + i, sessionID: "s" + i, parent: "root", successCriteria: "It works well. ".repeat(20) })
      if (i < 61) stack.pop("s" + i, "completed", "Results. ".repeat(50), "dense results of " + i)
    }
    let bytes = 0
    const loop = (count) => { for (let i = 0; i < count; i++) { if (i % 10 === 0) stack.clearCache(); bytes += stack.context("s61").xml.length } }
    loop(20_000)
    await collect()
    const before = megabytes()
    loop(100_000)
    await collect()
    console.log(JSON.stringify({ before, after: megabytes(), bytes }))
  `)
  assert.ok(bytes > 100_000 * 1000, `contexts of ${bytes / 120_000} bytes`)
  assert.ok(after < before + 24, `from ${before.toFixed()} to ${after.toFixed()} MB`)
})

test("errors and texts of failed calls are freed", () => {
  const { before, after } = measured(`
    const stack = Stack.inMemory()
    const loop = (count) => { for (let i = 0; i < count; i++) { try { stack.frame("nobody".repeat(100)) } catch {} } }
    loop(5_000)
    await collect()
    const before = megabytes()
    loop(50_000)
    await collect()
    console.log(JSON.stringify({ before, after: megabytes() }))
  `)
  assert.ok(after < before + 24, `from ${before.toFixed()} to ${after.toFixed()} MB`)
})

test("stacks that nobody closed are given back with the garbage", () => {
  const { before, after } = measured(`
    const text = "A megabyte of decisions. ".repeat(40_000)
    const open = () => { const stack = Stack.inMemory(); stack.push({ title: "Root", sessionID: "root" }); stack.addDecision("root", text) }
    for (let i = 0; i < 20; i++) { open(); await collect() }
    const before = megabytes()
    for (let i = 0; i < 300; i++) { open(); if (i % 10 === 0) await collect() }
    await collect()
    console.log(JSON.stringify({ before, after: megabytes() }))
  `)
  assert.ok(after < before + 150, `from ${before.toFixed()} to ${after.toFixed()} MB for 300 stacks of a megabyte`)
})

test("a process that forgets to close loses nothing", () => {
  const path = join(folder(), "stack")
  const forgetful = run(`
    import { Stack } from "callstack-core"
    const stack = Stack.open(${JSON.stringify(path)})
    stack.push({ title: "Build", sessionID: "ses_1" })
    stack.addDecision("ses_1", "Never close")
    process.exit(0)
  `)
  assert.equal(forgetful.status, 0, forgetful.stderr)
  using stack = Stack.open(path)
  assert.deepEqual(stack.frame("ses_1").decisions, ["Never close"])
  assert.equal(stack.info().mirror?.error, null)
})
