// Runs every JavaScript example of the READMEs.

import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
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
