// Stacks on a server, as far as the native library can open them.

import assert from "node:assert/strict"
import { test } from "node:test"
import { CallstackError, Stack } from "callstack-core"
import { Native } from "#internal/native.js"

const url = process.env["POSTGRES_URL"]

test("a library without PostgreSQL says how to get one with it", { skip: Native.get().has("open_url") }, () => {
  assert.throws(
    () => Stack.open("postgres://localhost/agents/shop"),
    (error) => error instanceof CallstackError && error.code === "library" && /native-postgres/.test(error.message),
  )
})

test("a stack on a server is used as one in a folder", { skip: url === undefined }, () => {
  const place = `${url}/node`
  const stack = Stack.open(place)
  const root = stack.push({ title: "Build a shop", sessionID: "ses_1" })
  stack.appendLog(root, [{ role: "user" }])
  const other = Stack.open(place, { busyTimeout: 5000 })
  assert.equal(other.frame("ses_1").title, "Build a shop")
  assert.match(other.context(root).xml, /Build a shop/)
  other.addDecision(root, "Use PostgreSQL")
  assert.equal(stack.refresh(), true)
  assert.deepEqual(stack.frame(root).decisions, ["Use PostgreSQL"])
  stack.close()
  other.close()
})

test("a server that cannot be reached is an error with its code", { skip: !Native.get().has("open_url") }, () => {
  assert.throws(
    () => Stack.open("postgres://127.0.0.1:1/agents/shop", { busyTimeout: 200 }),
    (error) =>
      error instanceof CallstackError && error.code === "disconnected" && error.details.isOutcomeUnknown === false,
  )
})
