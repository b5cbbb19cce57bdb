// Runs every JavaScript example of the READMEs, and the programs in TypeScript of `examples`.

import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Stack } from "callstack-core"
import { folder, requestOfAFinishedFrame, root } from "./common.js"

/** A folder inside the package, so that the examples can import the package by its name. */
const place = new URL("bindings/node/build/docs/", root)

/** The JavaScript examples of a README. */
function examplesOf(readme: string): string[] {
  const text = readFileSync(new URL(readme, root), "utf8")
  return [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code)
}

// The README of the project shows the package only by a link to the README of the package.
test("the README of the package has examples", () => assert.ok(examplesOf("bindings/node/README.md").length > 3))

for (const readme of ["README.md", "bindings/node/README.md"]) {
  const examples = examplesOf(readme)

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

/** The programs in TypeScript of the folder `examples`. */
const EXAMPLES = ["agent", "fold", "host", "worker"]
let compiled: string | undefined

/** Compiles the programs once. Returns the folder of the compiled programs. */
function compiledExamples(): string {
  if (compiled !== undefined) return compiled
  const sources = new URL("examples/", place)
  mkdirSync(sources, { recursive: true })
  const path = fileURLToPath(sources)
  const files = EXAMPLES.map((name) => `${path}${name}.ts`)
  for (const name of EXAMPLES)
    copyFileSync(new URL(`examples/${name}/${name}.ts`, root), new URL(`${name}.ts`, sources))
  const options = {
    target: "es2022",
    lib: "es2023,esnext.disposable",
    module: "nodenext",
    types: "node",
    rootDir: path,
    outDir: `${path}out`,
  }
  const flags = ["--ignoreConfig", "--strict", "--exactOptionalPropertyTypes", "--skipLibCheck"]
  const values = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const compiler = fileURLToPath(new URL("bindings/node_modules/typescript/bin/tsc", root))
  const done = spawnSync(process.execPath, [compiler, ...flags, ...values, ...files], { encoding: "utf8" })
  assert.equal(done.status, 0, done.stdout)
  compiled = options.outDir
  return compiled
}

/** Runs one of the programs, and checks that it succeeds. Returns what it has printed. */
function example(name: string, args: readonly string[] = [], input = ""): { stdout: string; stderr: string } {
  const words = [join(compiledExamples(), `${name}.js`), ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { cwd: folder(), input, encoding: "utf8" })
  assert.equal(status, 0, stderr)
  return { stdout, stderr }
}

test("every example in TypeScript is tested", () => {
  const folders = readdirSync(new URL("examples/", root), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )
  const files = folders.flatMap(({ name }) =>
    readdirSync(new URL(`examples/${name}/`, root)).filter((file) => file.endsWith(".ts")),
  )
  assert.deepEqual(
    files.sort(),
    EXAMPLES.map((name) => `${name}.ts`),
  )
})

test("the worker in TypeScript does a plan", () => {
  const at = folder()
  using stack = Stack.open(at)
  const plan = stack.plan({ title: "Shop", parent: null, successCriteria: "It sells" })
  const [cart] = stack.planChildren(plan, [{ title: "Cart" }, { title: "Mail", dependsOn: ["Cart"] }])
  example("worker", [at, "sh", "-c", "grep -c 'Shop'; echo it is there"])
  stack.refresh()
  assert.deepEqual(stack.workLeft(), { free: 0, held: 0, later: 0, waiting: 0, begun: 0, blocked: 0, assigned: 0 })
  assert.match(stack.frame(cart ?? "").results ?? "", /^[1-9]\d*\nit is there$/)
})

test("the host in TypeScript goes through a frame", () => {
  const { stdout } = example("host")
  const lines = [...stdout.matchAll(/^request \d: (\d+) of (\d+) bytes of messages$/gm)]
  const bytes = lines.map(([, sent, all]) => [Number(sent), Number(all)] as const)
  assert.equal(bytes.length, 4)
  const [[before] = [0], [after, all] = [0, 0]] = bytes.slice(-2)
  assert.ok(after < before && after < all, `the last request is not shorter: ${stdout}`)
  assert.match(stdout, /\[x\] f2 Count the orders/)
})

test("the agent in TypeScript manages its memory until it is done", () => {
  const { stdout } = example("agent")
  assert.match(stdout, /^step 2 in f2: 1 messages/m)
  assert.match(stdout, /^completed: The sum is 42\.$/m)
})

test("the program in TypeScript folds a request", () => {
  const { stdout, stderr } = example("fold", ["chat"], requestOfAFinishedFrame("Totals are in cents"))
  assert.match(stdout, /Results: Totals are in cents/)
  assert.doesNotMatch(stdout, /What is there\?/)
  assert.match(stderr, /^f1 \(completed\): 3 items, \d+ bytes, \d+ tokens are gone$/m)
})
