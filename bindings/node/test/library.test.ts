// Which package has the library of a machine, and what is said when it is missing.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { explain, packageFor, SUPPORTED, thisMachine } from "#internal/library.js"
import { root } from "./common.js"

interface Listed {
  readonly name: string
  readonly npm: { readonly os: string; readonly cpu: string; readonly libc?: string }
}

const { platforms } = JSON.parse(readFileSync(new URL("release/platforms.json", root), "utf8")) as {
  platforms: Listed[]
}

test("the package of each platform of the release has the name that the loader asks for", () => {
  assert.deepEqual(
    SUPPORTED,
    platforms.map(({ name }) => name),
  )
  for (const { name, npm } of platforms) {
    const machine = { platform: npm.os, arch: npm.cpu, musl: npm.libc === "musl" }
    assert.equal(packageFor(machine), `callstack-core-${name}`)
  }
})

test("the tests run on a machine that has a package, and musl is told from glibc", () => {
  const machine = thisMachine()
  assert.ok(SUPPORTED.includes(packageFor(machine).replace("callstack-core-", "")))
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } }
  if (report.header?.glibcVersionRuntime !== undefined) assert.equal(machine.musl, false)
})

test("a missing package is named with the reasons and the command", () => {
  const message = explain({ platform: "linux", arch: "arm64", musl: true }, ["the package: not found"])
  assert.match(message, /not found for linux-arm64-musl; looked at the package: not found/)
  assert.match(message, /--omit=optional/)
  assert.match(message, /lock file/)
  assert.match(message, /npm install --include=optional callstack-core-linux-arm64-musl/)
})

test("a machine without a package is told which have one", () => {
  const message = explain({ platform: "freebsd", arch: "x64", musl: false }, [])
  assert.match(message, /There is no package for freebsd-x64, only for linux-x64, /)
  assert.match(message, /CALLSTACK_LIBRARY/)
  assert.doesNotMatch(message, /npm install/)
})
