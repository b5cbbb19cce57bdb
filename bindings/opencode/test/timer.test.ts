// The timer for the polls of the engine, with a stack that counts them.

import assert from "node:assert/strict"
import { test } from "node:test"
import type { PluginInput } from "@opencode-ai/plugin"
import type { Stack } from "callstack-core"
import { Host } from "../src/host.js"

const DAY = 24 * 60 * 60 * 1000
const input = {
  client: { app: { log: () => Promise.resolve({}) } },
  directory: "/",
} as unknown as PluginInput

/** A host whose stack has this deadline, in milliseconds from now on. Returns the number of polls. */
function polled(left: number): { host: Host; polls: () => number } {
  let polls = 0
  const stack = {
    configure: () => [],
    deadline: () => Date.now() + left,
    poll: () => {
      polls += 1
      return []
    },
    close: () => undefined,
  }
  const host = new Host(stack as unknown as Stack, input)
  host.configure({})
  return { host, polls: () => polls }
}

test("a deadline that no timer can reach is polled at the end of the longest timer, and not before", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] })
  for (const left of [25 * DAY, 1000 * DAY, Number.MAX_SAFE_INTEGER, 2 ** 64]) {
    const { host, polls } = polled(left)
    t.mock.timers.tick(24 * DAY)
    assert.equal(polls(), 0, `${left} ms`)
    t.mock.timers.tick(DAY)
    assert.equal(polls(), 1)
    host.close()
  }
})

test("a near deadline is polled when it comes", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] })
  const { host, polls } = polled(5000)
  t.mock.timers.tick(4999)
  assert.equal(polls(), 0)
  t.mock.timers.tick(1)
  assert.equal(polls(), 1)
  host.close()
})
