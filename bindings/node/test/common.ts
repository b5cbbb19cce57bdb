// Helpers of several tests: temporary folders, other processes, expected errors.

import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { execPath, versions } from "node:process"
import { after } from "node:test"
import { CallstackError, type ErrorCode } from "callstack-core"

/** True if the tests run under Bun. */
export const isBun = versions["bun"] !== undefined

/** The root of the repository. */
export const root = new URL("../../../../", import.meta.url)

/** Creates a temporary folder. It is removed after the tests of the file. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "callstack-"))
  after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Options of a process. */
interface RunOptions {
  env?: Record<string, string>
  cwd?: string
  flags?: string[]
}

/** Runs the code of a module in a new process of the same runtime (Node or Bun). */
export function run(code: string, { env = {}, cwd = import.meta.dirname, flags = [] }: RunOptions = {}) {
  const source = isBun ? ["--eval", code] : ["--input-type=module", "--eval", code]
  const done = spawnSync(execPath, [...flags, ...source], {
    cwd,
    env: { ...process.env, ...env },
    encoding: "utf8",
  })
  return { status: done.status, stdout: done.stdout, stderr: done.stderr }
}

/** Checks that a call throws a {@link CallstackError} with this code. Returns the error. */
export function fails(call: () => unknown, code: ErrorCode): CallstackError {
  try {
    call()
  } catch (error) {
    assert.ok(error instanceof CallstackError, `not a CallstackError: ${error}`)
    assert.equal(error.code, code, error.message)
    return error
  }
  return assert.fail(`expected ${code}, but nothing was thrown`)
}

/** Runs the garbage collector, if the runtime allows it. */
export async function collect(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    if (isBun) (globalThis as { Bun?: { gc(now: boolean): void } }).Bun?.gc(true)
    else globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Returns the resident memory of this process, in megabytes. */
export function megabytes(): number {
  return process.memoryUsage.rss() / (1024 * 1024)
}

/** A message of a model that calls a tool of the stack. */
export const call = (id: string, name: string, args: object) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: `callstack-${name}`, arguments: JSON.stringify(args) } }],
})

/** The message with the answer to a tool call. */
export const outcome = (id: string, content: string) => ({ role: "tool", tool_call_id: id, content })

/** The JSON of a request to a model, in whose conversation a frame was pushed and popped with these results. */
export function requestOfAFinishedFrame(results: string): string {
  return JSON.stringify({
    messages: [
      { role: "user", content: "Build the shop." },
      call("1", "push", { title: "Cart" }),
      outcome("1", "f1 (Cart) has begun.\nYou are in f1 (Cart)."),
      { role: "assistant", content: "What is there?" },
      call("2", "pop", { status: "completed", results }),
      outcome("2", "f1 (Cart) is completed.\nYou are in no frame."),
    ],
  })
}
