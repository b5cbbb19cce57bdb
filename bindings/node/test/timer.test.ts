// The timer of a host for the polls of the engine, with a stack that counts them.

import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { Host, type HostActions, type Stack } from "callstack-core"
import { isBun } from "./common.js"

const DAY = 24 * 60 * 60 * 1000
// Bun has no mocked timers in node:test.
const options = { skip: isBun }

/** A host whose stack has this deadline, in milliseconds from now on. Returns the number of polls. */
function polled(t: TestContext, left: number): { host: Host; polls: () => number } {
  t.mock.timers.reset()
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] })
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
  const host = new Host(stack as unknown as Stack, {} as HostActions)
  host.configure({})
  return { host, polls: () => polls }
}

test("a deadline that no timer can reach is polled at the end of the longest timer, and not before", options, (t) => {
  for (const left of [25 * DAY, 1000 * DAY, Number.MAX_SAFE_INTEGER, 2 ** 64]) {
    const { polls } = polled(t, left)
    t.mock.timers.tick(24 * DAY)
    assert.equal(polls(), 0, `${left} ms`)
    t.mock.timers.tick(DAY)
    assert.equal(polls(), 1)
  }
})

test("a near deadline is polled when it comes", options, (t) => {
  const { polls } = polled(t, 5000)
  t.mock.timers.tick(4999)
  assert.equal(polls(), 0)
  t.mock.timers.tick(1)
  assert.equal(polls(), 1)
})

test("a closed host does not poll", options, (t) => {
  const { host, polls } = polled(t, 5000)
  host.close()
  t.mock.timers.tick(DAY)
  assert.equal(polls(), 0)
})
