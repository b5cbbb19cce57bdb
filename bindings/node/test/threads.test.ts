// Worker threads on one folder, each with its own stack.

import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { Worker } from "node:worker_threads"
import { Stack } from "callstack-core"
import { folder } from "./common.js"

test("eight worker threads work on one folder without losing a change", async () => {
  const path = join(folder(), "stack")
  using stack = Stack.open(path)
  stack.push({ title: "Root", sessionID: "root" })
  const work = Array.from({ length: 8 }, (_, number) => {
    const worker = new Worker(new URL("./worker.js", import.meta.url), { workerData: { path, number, rounds: 25 } })
    return new Promise((resolve, reject) => {
      worker.on("message", resolve)
      worker.on("error", reject)
    })
  })
  assert.deepEqual(await Promise.all(work), Array(8).fill(25))
  stack.refresh()
  assert.equal(stack.handles({ relation: "children", frame: "root" }).length, 200)
  const { decisions } = stack.frame("root")
  assert.equal(new Set(decisions).size, 200)
  assert.equal(decisions.length, 200)
})
