// Errors: their codes, messages and details.

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { CallstackError, Stack } from "callstack-core"
import { fails, folder, run } from "./common.js"

test("an error has a code, a message and the values of the message", () => {
  using stack = Stack.inMemory()
  stack.push({ title: "Build", sessionID: "ses_1" })
  const error = fails(() => stack.activate("f1"), "transition")
  assert.ok(error instanceof Error)
  assert.equal(error.name, "CallstackError")
  assert.match(
    error.message,
    /^frame f1 is in_progress and cannot become in_progress; it has begun already: if the work/,
  )
  assert.deepEqual(error.details, { handle: "f1", from: "in_progress", to: "in_progress" })

  assert.deepEqual(fails(() => stack.frame("f9"), "unknown_frame").details, { reference: "f9" })
  fails(() => stack.push({ title: "Build", sessionID: "ses_1" }), "duplicate_id")
  fails(() => stack.addDecision("f1", ""), "empty")
  fails(() => stack.appendLog("f1", [1]), "in_memory")
  fails(() => stack.context("f1", { minimumRelevance: 101 }), "setting")
  assert.equal(stack.handles().length, 1)
})

test("arguments that the types forbid are errors", () => {
  using stack = Stack.inMemory()
  stack.push({ title: "Build", sessionID: "ses_1" })
  // Stands for a caller in JavaScript, whose arguments the compiler does not check.
  const loose = stack as unknown as Record<keyof Stack, (...values: unknown[]) => unknown>
  assert.match(
    fails(() => loose.handles({ status: "done" }), "json").message,
    /`status`: unknown variant `done`, expected one of `planned`, `in_progress`/,
  )
  assert.match(
    fails(() => loose.pop("f1", { status: "planned", results: "" }), "json").message,
    /^pop cannot be read: `status`: unknown variant `planned`, expected one of `completed`/,
  )
  assert.match(fails(() => loose.pop("f1", "completed", "Done"), "json").message, /"completed", expected an object/)
  fails(() => loose.pop("f1"), "json")
  assert.match(fails(() => loose.push({ titel: "Build" }), "json").message, /unknown field `titel`/)
  assert.match(fails(() => loose.push({ title: 5 }), "json").message, /expected a string/)
  fails(() => loose.push(), "json")
  fails(() => loose.push(null), "json")
  fails(() => loose.frame(), "unknown_frame")
  assert.throws(() => loose.frame(5), TypeError)
  assert.throws(() => loose.addDecision("f1", { text: "so" }), /add_decision: expected a string, got object/)
  assert.throws(() => loose.importPlan(Buffer.from("{}")), TypeError)
  assert.equal(stack.handles().length, 1)
})

test("the error for a missing library lists all places that were searched", () => {
  const missing = run(
    'import { Stack } from "callstack-core"; try { Stack.inMemory() } catch (e) { console.log(e.code, e.message) }',
    {
      env: { CALLSTACK_LIBRARY: "/no/such/library.so" },
    },
  )
  assert.match(missing.stdout, /^library .*CALLSTACK_LIBRARY: \/no\/such\/library\.so/, missing.stderr)
})

test("the error for a library that cannot be loaded, or has another interface, names the file", () => {
  const path = folder()
  const load =
    'import { Stack } from "callstack-core"; try { Stack.inMemory() } catch (e) { console.log(e.code, e.message) }'
  const text = join(path, "text.so")
  writeFileSync(text, "no library at all")
  const unreadable = run(load, { env: { CALLSTACK_LIBRARY: text } })
  assert.match(unreadable.stdout, /^library .*cannot be loaded from .*text\.so: /, unreadable.stderr)

  const source = join(path, "other.c")
  const other = join(path, "other.so")
  writeFileSync(
    source,
    'unsigned callstack_abi(void) { return 99; }\nconst char *callstack_version(void) { return "9.9.9"; }\n',
  )
  execFileSync("cc", ["-shared", "-fPIC", "-o", other, source])
  const misfit = run(load, { env: { CALLSTACK_LIBRARY: other } })
  assert.match(
    misfit.stdout,
    /^library .*other\.so \(version 9\.9\.9\) has interface 99, but this package needs 1/,
    misfit.stderr,
  )
})

test("errors of the package differ from other errors by their class", () => {
  assert.equal(new CallstackError("io", "message").details instanceof Object, true)
  assert.equal(new Error("x") instanceof CallstackError, false)
})
