// Runs every JavaScript example of the READMEs, and the worker of `examples`.

import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Stack } from "callstack-core"
import { folder, root } from "./common.js"

/** A folder inside the package, so that the examples can import the package by its name. */
const place = new URL("bindings/node/build/docs/", root)

for (const readme of ["README.md", "bindings/node/README.md"]) {
  const text = readFileSync(new URL(readme, root), "utf8")
  const examples = [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code)

  test(`${readme} has examples`, () => assert.ok(examples.length > 0))

  examples.forEach((code, index) => {
    test(`${readme}, example ${index + 1}`, () => {
      mkdirSync(place, { recursive: true })
      const file = new URL(`${readme.replaceAll("/", "-")}-${index}.mjs`, place)
      writeFileSync(file, code)
      const done = spawnSync(process.execPath, [fileURLToPath(file)], { cwd: folder(), encoding: "utf8" })
      assert.equal(done.status, 0, done.stderr)
      assert.notEqual(done.stdout.trim(), "", "it prints nothing")
      assert.doesNotMatch(done.stdout, /undefined/, "it reads a key that does not exist")
    })
  })
}

test("the worker in TypeScript does a plan", () => {
  const sources = new URL("worker/", place)
  mkdirSync(sources, { recursive: true })
  copyFileSync(new URL("examples/worker.ts", root), new URL("worker.ts", sources))
  const options = [
    "--ignoreConfig",
    "--strict",
    "--skipLibCheck",
    "--target",
    "es2022",
    "--lib",
    "es2023,esnext.disposable",
  ]
  const path = fileURLToPath(sources)
  const places = [
    "--module",
    "nodenext",
    "--types",
    "node",
    "--rootDir",
    path,
    "--outDir",
    `${path}/out`,
    `${path}/worker.ts`,
  ]
  const compiler = fileURLToPath(new URL("bindings/node_modules/typescript/bin/tsc", root))
  const compiled = spawnSync(process.execPath, [compiler, ...options, ...places], { encoding: "utf8" })
  assert.equal(compiled.status, 0, compiled.stdout)
  const at = folder()
  using stack = Stack.open(at)
  const plan = stack.plan({ title: "Shop", parent: null, successCriteria: "It sells" })
  const [cart] = stack.planChildren(plan, [{ title: "Cart" }, { title: "Mail", dependsOn: ["Cart"] }])
  const command = ["sh", "-c", "grep -c 'Shop'; echo it is there"]
  const worked = spawnSync(process.execPath, [`${path}/out/worker.js`, at, ...command], { encoding: "utf8" })
  assert.equal(worked.status, 0, worked.stderr)
  stack.refresh()
  assert.deepEqual(stack.workLeft(), { free: 0, held: 0, later: 0, waiting: 0, begun: 0, blocked: 0, assigned: 0 })
  assert.match(stack.frame(cart ?? "").results ?? "", /^[1-9]\d*\nit is there$/)
})
