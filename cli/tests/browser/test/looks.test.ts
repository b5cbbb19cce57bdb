// How the page looks, and whether all people can use it: screenshots, and the rules of axe-core.
import assert from "node:assert/strict"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { after, before, test } from "node:test"
import type { AxeResults } from "axe-core"
import pixelmatch from "pixelmatch"
import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import { PNG } from "pngjs"
import { fixedStack, type Opened, open, screenshots, settle, startBrowser, type TestStack } from "./common.js"

const viewport = { width: 1120, height: 740 }

/** The font of all texts, which scripts/install-system-tools installs. Other fonts would move everything. */
const FONT = '* { font-family: "DejaVu Sans" !important }'

/** The share of pixels that may differ in each part: other versions of the browser draw letters a little differently. */
const TOLERANCES = {
  "#legend": 0.02,
  "#strip": 0.01,
  "#axis": 0.04,
  "#flame": 0.008,
  "#tree": 0.03,
  "#costliest": 0.03,
  "#details": 0.03,
}

let browser: Browser
before(async () => {
  browser = await startBrowser()
})
after(() => browser.close())

/** Opens the page of a stack with the font of the screenshots. */
function openWithFont(stack: TestStack, options: BrowserContextOptions): Promise<Opened> {
  // Not as an element, because the page's own policy forbids that, and before the page draws anything.
  const script = `{
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(${JSON.stringify(FONT)})
    document.adoptedStyleSheets = [sheet]
  }`
  return open(browser, stack.page(), options, script)
}

/** Compares the parts of the page with a committed screenshot; UPDATE_SCREENSHOTS=1 writes it. */
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
  const problems: string[] = []
  for (const [part, tolerance] of Object.entries(TOLERANCES)) {
    const box = await page.locator(part).boundingBox()
    const place = box && visible(box, found)
    if (!place) continue
    const [was, is] = [cutOut(expected, place), cutOut(found, place)]
    const differing = pixelmatch(was.data, is.data, undefined, is.width, is.height, { threshold: 0.1 })
    const share = differing / (is.width * is.height)
    if (share > tolerance) problems.push(`${(100 * share).toFixed(1)} % of ${part}`)
  }
  if (problems.length === 0) return
  const folder = join(import.meta.dirname, "..", "differences")
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.png`), PNG.sync.write(found))
  assert.fail(`${name} differs in ${problems.join(", ")}: compare ${folder} with ${file}`)
}

interface Place {
  x: number
  y: number
  width: number
  height: number
}

/** The part of an element that the screenshot shows, in whole pixels. */
function visible(box: Place, { width, height }: PNG): Place | null {
  const [left, top] = [Math.max(Math.round(box.x), 0), Math.max(Math.round(box.y), 0)]
  const [right, bottom] = [
    Math.min(Math.round(box.x + box.width), width),
    Math.min(Math.round(box.y + box.height), height),
  ]
  return right > left && bottom > top ? { x: left, y: top, width: right - left, height: bottom - top } : null
}

function cutOut(picture: PNG, { x, y, width, height }: Place): PNG {
  const part = new PNG({ width, height })
  PNG.bitblt(picture, part, x, y, width, height, 0, 0)
  return part
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** Fails if axe-core finds a problem. */
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
    await using opened = await openWithFont(stack, { colorScheme, viewport })
    const { page } = opened
    await compare(page, `time-${colorScheme}`)
    await check(page, `the chart by time, ${colorScheme}`)
    await page.keyboard.press("t")
    // The chart becomes lower, which moves the list.
    await settle(page)
    await page.getByRole("treeitem", { name: /f19 Checkout/ }).click()
    await page.getByRole("treeitem", { name: /f19 Checkout/, selected: true }).waitFor()
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
  await using opened = await openWithFont(stack, { viewport: { width: 390, height: 844 } })
  await compare(opened.page, "phone")
  await check(opened.page, "a narrow window")
  const width = await opened.page.evaluate("document.documentElement.scrollWidth")
  assert.equal(width, 390, "nothing is wider than the window")
})

test("the button changes the colours", async () => {
  using stack = fixedStack()
  await using opened = await openWithFont(stack, { colorScheme: "light", viewport })
  await opened.page.getByRole("button", { name: "Dark colours" }).click()
  await compare(opened.page, "time-dark")
})
