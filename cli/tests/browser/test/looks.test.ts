// How the page looks, and whether everybody can use it: screenshots, and the rules of axe-core.
import assert from "node:assert/strict"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { after, before, test } from "node:test"
import type { AxeResults } from "axe-core"
import pixelmatch from "pixelmatch"
import type { Browser, Page } from "playwright-core"
import { PNG } from "pngjs"
import { fixedStack, open, screenshots, settle, startBrowser } from "./common.js"

const viewport = { width: 1120, height: 740 }

/** The share of pixels that may differ: other versions of fonts draw letters a little differently. */
const TOLERANCE = 0.03

let browser: Browser
before(async () => {
  browser = await startBrowser()
})
after(() => browser.close())

/** Compares the page with a committed screenshot; UPDATE_SCREENSHOTS=1 writes it. */
async function compare(page: Page, name: string): Promise<void> {
  await settle(page)
  const found = PNG.sync.read(await page.screenshot())
  const file = join(screenshots, `${name}.png`)
  if (process.env["UPDATE_SCREENSHOTS"]) {
    writeFileSync(file, PNG.sync.write(found, { colorType: 2, deflateLevel: 9, deflateStrategy: 0, filterType: 0 }))
    return
  }
  assert.ok(existsSync(file), `${file} is missing: UPDATE_SCREENSHOTS=1 npm test`)
  const expected = PNG.sync.read(readFileSync(file))
  assert.deepEqual([found.width, found.height], [expected.width, expected.height], `the size of ${name}`)
  const difference = new PNG({ width: found.width, height: found.height })
  const differing = pixelmatch(expected.data, found.data, difference.data, found.width, found.height, {
    threshold: 0.2,
  })
  const share = differing / (found.width * found.height)
  if (share > TOLERANCE) {
    const folder = join(import.meta.dirname, "..", "differences")
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${name}.png`), PNG.sync.write(found))
    writeFileSync(join(folder, `${name}-difference.png`), PNG.sync.write(difference))
    assert.fail(`${(100 * share).toFixed(1)} % of the pixels of ${name} differ: see ${folder}`)
  }
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** Fails if axe-core finds anything. */
async function check(page: Page, what: string): Promise<void> {
  await page.evaluate(axe)
  const results = await page.evaluate<AxeResults>("axe.run()")
  const problems = results.violations.map(
    ({ id, impact, nodes }) =>
      `${impact} ${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("\n  ")}`,
  )
  assert.deepEqual(problems, [], `axe-core in ${what}`)
  assert.ok(results.passes.length > 5, "axe-core has checked nothing")
}

for (const colorScheme of ["light", "dark"] as const) {
  test(`the page in ${colorScheme} colours`, async () => {
    using stack = fixedStack()
    await using opened = await open(browser, stack.page(), { colorScheme, viewport })
    const { page } = opened
    await compare(page, `time-${colorScheme}`)
    await check(page, `the chart by time, ${colorScheme}`)
    await page.keyboard.press("t")
    await page.getByRole("treeitem", { name: /f19 Checkout/ }).click()
    await compare(page, `tokens-${colorScheme}`)
    await check(page, `the chart by tokens with details, ${colorScheme}`)
    await page.keyboard.press("/")
    await page.keyboard.type("refund")
    await check(page, `a search, ${colorScheme}`)
    await page.keyboard.press("Escape")
    await page.keyboard.press("?")
    await check(page, `the dialog with keys, ${colorScheme}`)
  })
}

test("the page on a phone", async () => {
  using stack = fixedStack()
  await using opened = await open(browser, stack.page(), { viewport: { width: 390, height: 844 } })
  await compare(opened.page, "phone")
  await check(opened.page, "a narrow window")
  const width = await opened.page.evaluate("document.documentElement.scrollWidth")
  assert.equal(width, 390, "nothing is wider than the window")
})

test("the button changes the colours", async () => {
  using stack = fixedStack()
  await using opened = await open(browser, stack.page(), { colorScheme: "light", viewport })
  await opened.page.getByRole("button", { name: "Dark colours" }).click()
  await compare(opened.page, "time-dark")
})
