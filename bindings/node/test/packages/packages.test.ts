// Packs the packages, installs them into an empty folder without install scripts, and uses them there.

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { folder, root } from "../common.js"

const require = createRequire(import.meta.url)

const program = `
import { CallstackError, Stack } from "callstack-core"
const stack = Stack.open("stack")
const root = stack.ensure("ses_1", { title: "Installed" })
try {
  stack.activate("f9")
} catch (error) {
  console.log(error instanceof CallstackError, error.code)
}
console.log(stack.context(root).xml.includes("<title>Installed</title>"))
stack.close()
`

const typed = `
import { type Frame, type FrameStatus, Stack } from "callstack-core"
const stack: Stack = Stack.inMemory({ history: true })
const frame: Frame = stack.frame(stack.push({ title: "Typed" }))
const status: FrameStatus = frame.status
export const tokens: number = stack.context(frame.handle, { budget: { total: 1000 } }).tokens + status.length
// @ts-expect-error: there is no such status
stack.pop(frame.handle, { status: "done" })
// @ts-expect-error: a stack in memory has no durability
Stack.inMemory({ durability: "full" })
// @ts-expect-error: a frame has a title
stack.push({ sessionID: "ses_1" })
`

/** Returns the file of a package's command. */
function command(name: string, file: string): string {
  return join(dirname(require.resolve(`${name}/package.json`)), file)
}

test("packed and installed into an empty folder, the package works under Node and Bun", () => {
  const [packed, project] = [folder(), folder()]
  const run = (program: string, ...values: string[]) => {
    const { CALLSTACK_LIBRARY: _, ...env } = process.env
    return execFileSync(program, values, { cwd: project, env, encoding: "utf8", stdio: "pipe" })
  }
  const pack = fileURLToPath(new URL("bindings/scripts/pack.mjs", root))
  execFileSync(process.execPath, [pack, packed, "callstack-core", "callstack-core-linux-x64"])
  const archives = readdirSync(packed).sort()
  const version = /^version = "(.*)"/m.exec(readFileSync(new URL("Cargo.toml", root), "utf8"))?.[1]
  assert.deepEqual(archives, [`callstack-core-${version}.tgz`, `callstack-core-linux-x64-${version}.tgz`])

  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "empty", private: true, type: "module" }))
  run(
    "npm",
    "install",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    ...archives.map((archive) => join(packed, archive)),
  )
  const installed = readdirSync(join(project, "node_modules", "callstack-core")).sort()
  assert.deepEqual(installed, ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "dist", "package.json"])

  writeFileSync(join(project, "main.mjs"), program)
  for (const runtime of [process.execPath, command("bun", "bin/bun.exe")]) {
    assert.equal(run(runtime, "main.mjs"), "true unknown_frame\ntrue\n", runtime)
  }

  rmSync(join(project, "node_modules", "callstack-core-linux-x64"), { recursive: true })
  assert.throws(
    () => run(process.execPath, "main.mjs"),
    /not found for linux-x64; looked at the package callstack-core-linux-x64: not found; the source tree .*: .*\.so.*--omit=optional.*npm install --include=optional callstack-core-linux-x64/s,
  )

  writeFileSync(join(project, "typed.ts"), typed)
  const options = [
    "--noEmit",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2022",
    "--lib",
    "es2022,esnext.disposable",
  ]
  run(process.execPath, command("typescript", "bin/tsc"), ...options, "--types", "", "typed.ts")
})
