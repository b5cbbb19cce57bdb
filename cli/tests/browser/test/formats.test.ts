// The exports of `callstack` in speedscope: its JSON Schema, and its own importer, which also reads the
// traces of Chrome.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { after, before, test } from "node:test"
import { pathToFileURL } from "node:url"
import { Ajv } from "ajv"
import type { Browser } from "playwright-core"
import { fixedStack, startBrowser, TestStack, textOf } from "./common.js"

const speedscope = join(dirname(createRequire(import.meta.url).resolve("speedscope/package.json")), "dist/release")

let browser: Browser

before(async () => {
  browser = await startBrowser()
})

after(() => browser.close())

/** A stack with a frame and no requests. */
function quietStack(): TestStack {
  const stack = new TestStack()
  stack.run("push", "--new", "Without requests")
  return stack
}

/** Exports a stack. Returns the path of the file. */
function exported(stack: TestStack, format: string): string {
  // The name does not end in `.chrome.json`: speedscope takes such a file for an older format of Chrome.
  const file = join(stack.folder, `${format}.json`)
  stack.run("export", "--format", format, file)
  return file
}

/** Opens a file in speedscope. Returns the titles of its profiles, such as `time, lane 1 of 4 (1/5)`. */
async function profilesInSpeedscope(file: string): Promise<string[]> {
  const page = await browser.newPage()
  const problems: string[] = []
  page.on("pageerror", (error) => problems.push(error.message))
  page.on("console", (message) => {
    if (message.text().startsWith("Failed")) problems.push(message.text())
  })
  await page.goto(pathToFileURL(join(speedscope, "index.html")).href)
  await page.setInputFiles("input[type=file]", file)
  const shown = page.getByText(/\(\d+\/\d+\)|Something went wrong/)
  await shown.first().waitFor()
  const title = async () => (await textOf(shown.first().locator(".."))).trim()
  const titles = [await title()]
  const count = Number(/\/(\d+)\)$/.exec(titles[0] ?? "")?.[1] ?? 1)
  while (titles.length < count && problems.length === 0) {
    await page.keyboard.press("n")
    await page
      .getByText(`(${titles.length + 1}/${count})`)
      .first()
      .waitFor()
    titles.push(await title())
  }
  await page.close()
  assert.deepEqual(problems, [], `speedscope has problems with ${file}`)
  return titles
}

test("the JSON Schema of speedscope accepts its profiles", () => {
  const schema = JSON.parse(readFileSync(join(speedscope, "file-format-schema.json"), "utf8"))
  const validate = new Ajv({ strict: false }).compile(schema)
  using fixed = fixedStack()
  using quiet = quietStack()
  for (const stack of [fixed, quiet]) {
    const isValid = validate(JSON.parse(readFileSync(exported(stack, "speedscope"), "utf8")))
    assert.ok(isValid, JSON.stringify(validate.errors))
  }
})

test("speedscope opens its profiles: the lanes, and the tokens", async () => {
  using stack = fixedStack()
  assert.deepEqual(await profilesInSpeedscope(exported(stack, "speedscope")), [
    "time, lane 1 of 4 (1/5)",
    "time, lane 2 of 4 (2/5)",
    "time, lane 3 of 4 (3/5)",
    "time, lane 4 of 4 (4/5)",
    "tokens of requests (5/5)",
  ])
})

test("speedscope opens the profiles of a run without requests", async () => {
  using stack = quietStack()
  assert.deepEqual(await profilesInSpeedscope(exported(stack, "speedscope")), [
    "time (1/2)",
    "tokens of requests (2/2)",
  ])
})

test("speedscope opens traces of Chrome: a profile for each lane of frames and of requests", async () => {
  using stack = fixedStack()
  const titles = await profilesInSpeedscope(exported(stack, "chrome"))
  const lanes = (start: string) => titles.filter((title) => title.startsWith(start)).length
  assert.equal(lanes("frames (pid 1), lane "), 4, titles.join("\n"))
  assert.equal(lanes("requests (pid 2), requests "), 4, titles.join("\n"))
})
