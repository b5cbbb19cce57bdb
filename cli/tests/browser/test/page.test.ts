// The page of `callstack view` as a file: its content, its keys, and texts that try to act as code.
import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { pathToFileURL } from "node:url"
import type { Browser } from "playwright-core"
import { browserTests, fixedStack, open, selectedTitle, settle, startBrowser, TestStack, textOf } from "./common.js"

let browser: Browser
before(async () => {
  browser = await startBrowser()
})
after(() => browser.close())

test("the page needs nothing but its file", async () => {
  using stack = fixedStack()
  const url = stack.page()
  await using opened = await open(browser, url)
  assert.deepEqual(opened.requests, [url])
  assert.deepEqual(opened.problems, [])
  assert.equal(await opened.page.title(), "Release version 2 of the shop – callstack")
  assert.match((await textOf(opened.page.locator("#summary"))) ?? "", /^24 frames · 40m 0s · 89 requests · /)
  assert.equal(await textOf(opened.page.locator("#note")), "2 frames that have not begun are only in the list.")
})

test("clicks on bars, rows and items select the same frame everywhere", async () => {
  using stack = fixedStack()
  await using opened = await open(browser, stack.page())
  const { page } = opened
  const chart = page.locator("#flame")
  // The second row: the frames below the root.
  await chart.click({ position: { x: 200, y: 40 } })
  assert.equal(await selectedTitle(page), "Payment by card")
  const item = page.getByRole("treeitem", { name: "f6 Payment by card completed" })
  assert.equal(await item.getAttribute("aria-selected"), "true")
  await page.getByRole("button", { name: "f19 Checkout in one page" }).click()
  assert.equal(await selectedTitle(page), "Checkout in one page")
  const details = await textOf(page.locator("#details"))
  for (const part of [
    "Which fields may be left out?",
    "Phone and title",
    "web/checkout.html",
    "3m 40s",
    "callstack show f19",
  ]) {
    assert.ok(details.includes(part), `the details lack "${part}":\n${details}`)
  }
  await page.getByRole("treeitem", { name: /Announce the release/ }).click()
  assert.equal(await selectedTitle(page), "Announce the release")
  await page.getByRole("button", { name: "f3 Write the release notes" }).click()
  assert.equal(await selectedTitle(page), "Write the release notes", "a dependency is a link")
})

test("keys move in the chart, zoom, and change the width", async () => {
  using stack = fixedStack()
  await using opened = await open(browser, stack.page())
  const { page } = opened
  const chart = page.locator("#flame")
  await chart.focus()
  await page.keyboard.press("ArrowDown")
  assert.equal(await selectedTitle(page), "Read the code and plan the work")
  await page.keyboard.press("ArrowRight")
  assert.equal(await selectedTitle(page), "Payment by card")
  await page.keyboard.press("ArrowDown")
  assert.equal(await selectedTitle(page), "Client of the payment provider")
  const said = await textOf(page.locator("#said"))
  assert.equal(said, "f9 Client of the payment provider, completed, 7m 40s, 2 children")
  const whole = await chart.screenshot()
  await page.keyboard.press("Enter")
  await settle(page)
  const zoomed = await chart.screenshot()
  assert.notDeepEqual(zoomed, whole, "Enter zooms to the frame")
  // At the zoomed place, a click beside the middle of the row still selects the frame.
  await chart.click({ position: { x: 30, y: 64 } })
  assert.equal(await selectedTitle(page), "Client of the payment provider")
  await page.keyboard.press("0")
  await settle(page)
  await chart.click({ position: { x: 200, y: 40 } })
  assert.equal(await selectedTitle(page), "Payment by card", "0 shows all again")
  await page.keyboard.press("t")
  assert.ok(await page.getByRole("radio", { name: "Tokens" }).isChecked())
  assert.equal(await textOf(page.locator("#note")), "2 frames without tokens are only in the list.")
  await page.keyboard.press("?")
  assert.ok(await page.getByRole("dialog", { name: "Keys" }).isVisible())
  await page.keyboard.press("Escape")
  assert.ok(await page.getByRole("dialog", { name: "Keys" }).isHidden())
  assert.deepEqual(opened.problems, [])
})

test("the wheel zooms with Ctrl at the pointer, and scrolls the page without it", async () => {
  using stack = fixedStack()
  await using opened = await open(browser, stack.page())
  const { page } = opened
  const box = await page.locator("#flame").boundingBox()
  assert.ok(box)
  // Over the frame "Read the code", which is narrow.
  await page.mouse.move(box.x + 30, box.y + 40)
  await page.keyboard.down("Control")
  for (let turn = 0; turn < 12; turn++) await page.mouse.wheel(0, -60)
  await page.keyboard.up("Control")
  await settle(page)
  await page.locator("#flame").click({ position: { x: 60, y: 40 } })
  assert.equal(await selectedTitle(page), "Read the code and plan the work", "what is under the pointer stays there")
  const scrolled = page.evaluate(
    'new Promise((done) => addEventListener("scroll", () => done(scrollY), { once: true }))',
  )
  await page.mouse.wheel(0, 200)
  assert.ok(Number(await scrolled) > 0)
})

test("the tree is used with keys alone", async () => {
  using stack = fixedStack()
  await using opened = await open(browser, stack.page())
  const { page } = opened
  const tree = page.getByRole("tree")
  await tree.focus()
  // One frame is out of the plan, and not in the list.
  for (const key of ["Home", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key)
  assert.equal(await selectedTitle(page), "Payment by card")
  const item = page.getByRole("treeitem", { name: /f6 Payment by card/ })
  assert.equal(await item.getAttribute("aria-expanded"), "true")
  await page.keyboard.press("ArrowLeft")
  assert.equal(await item.getAttribute("aria-expanded"), "false")
  assert.equal(await tree.getAttribute("aria-activedescendant"), await item.getAttribute("id"))
  await page.keyboard.press("ArrowDown")
  assert.equal(await selectedTitle(page), "Search")
  await page.keyboard.press("End")
  assert.equal(await selectedTitle(page), "WebKit")
})

test("a search counts, dims and goes from frame to frame; a status filters", async () => {
  using stack = fixedStack()
  await using opened = await open(browser, stack.page())
  const { page } = opened
  await page.keyboard.press("/")
  await page.keyboard.type("refund partial_refunds")
  assert.equal(await textOf(page.locator("#found")), "2 found")
  await page.keyboard.press("Enter")
  assert.match(await textOf(page.locator("#details .state")), /failed.*f18/)
  await page.keyboard.press("Enter")
  assert.match(await textOf(page.locator("#details .state")), /completed.*f20/)
  await page.keyboard.press("Escape")
  assert.equal(await textOf(page.locator("#found")), "")
  await page.getByRole("button", { name: "failed 2" }).click()
  assert.equal(await textOf(page.locator("#found")), "2 found")
  assert.equal(await page.getByRole("treeitem", { name: "f18 Refunds failed" }).getAttribute("class"), "item")
  assert.equal(await page.getByRole("treeitem", { name: "f6 Payment by card" }).getAttribute("class"), "item dim")
})

test("texts of frames stay texts", async () => {
  using stack = new TestStack()
  const attacks = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "]]></style><svg onload=alert(3)>",
    "javascript:alert(4)",
  ]
  stack.run("push", "--new", "Root")
  for (const text of attacks) stack.run("push", `${text}`, "--criteria", text)
  stack.run("push", "safe \u202Edesrever", "--criteria", "a\u2028b")
  const url = stack.page()
  await using opened = await open(browser, url)
  const { page } = opened
  for (const text of attacks) {
    await page.locator(".item", { hasText: text }).click()
    assert.equal(await selectedTitle(page), text)
    assert.equal(await textOf(page.locator("#details .text").first()), text)
  }
  assert.equal(await page.locator("img, svg, iframe, script:not(#data):not([type=module])").count(), 0)
  assert.ok(
    (await textOf(page.locator("#tree"))).includes("safe \uFFFDdesrever"),
    "overrides of the direction are seen",
  )
  assert.deepEqual(opened.requests, [url])
  assert.deepEqual(opened.problems, [])
})

test("durations and costs are written as the program writes them", async () => {
  const cases = JSON.parse(readFileSync(join(browserTests, "words.json"), "utf8"))
  const words = await import(pathToFileURL(join(browserTests, "../../src/view/page/words.js")).href)
  for (const [milliseconds, text] of cases.durations) assert.equal(words.duration(milliseconds), text)
  for (const [cost, text] of cases.costs) assert.equal(words.money(cost, true), text)
})

test("prices make the list of the costliest frames one of money", async () => {
  using stack = fixedStack()
  const prices = `${stack.folder}/prices.json`
  const price = { uncachedInput: 3, cacheRead: 0.3, cacheWrite: 3.75, output: 15 }
  writeFileSync(prices, JSON.stringify({ large: price, small: { ...price, output: 5 } }))
  await using opened = await open(browser, stack.page("--prices", prices))
  const head = await textOf(opened.page.locator("#costliest thead"))
  assert.match(head, /Own cost/)
  const first = await textOf(opened.page.locator("#costliest tbody tr").first())
  assert.match(first, /\d+\.\d{4}$/)
})

test("what a frame needs, and what needs it, is drawn and linked", async () => {
  using stack = new TestStack()
  for (const [first, ...rest] of [
    ["push", "Shop", "--new"],
    ["push", "Schema"],
    ["done", "f2", "Tables"],
    ["push", "Routes", "--below", "f1", "--depends-on", "f2"],
    ["plan", "Pages", "Search", "--below", "f1", "--depends-on", "f3"],
  ]) {
    stack.run(first ?? "", ...rest)
  }
  await using opened = await open(browser, stack.page())
  const { page } = opened
  await page.evaluate(`(() => {
    window.arrows = 0
    const { bezierCurveTo } = CanvasRenderingContext2D.prototype
    CanvasRenderingContext2D.prototype.bezierCurveTo = function (...places) {
      window.arrows += this.canvas.id === "flame" ? 1 : 0
      return bezierCurveTo.apply(this, places)
    }
  })()`)
  const arrowsAt = async (name: RegExp) => {
    await page.evaluate("window.arrows = 0")
    await page.getByRole("treeitem", { name }).click()
    await settle(page)
    return page.evaluate<number>("window.arrows")
  }
  // Each arrow is two lines: one on top of a broader one. Planned frames have no bars.
  assert.equal(await arrowsAt(/f2 Schema/), 2)
  assert.equal(await arrowsAt(/f3 Routes/), 2)
  assert.equal(await arrowsAt(/f1 Shop/), 0)
  assert.match(await textOf(page.getByRole("treeitem", { name: /f4 Pages/ })), /after f3/)
  await page.getByRole("treeitem", { name: /f3 Routes/ }).click()
  assert.match(await textOf(page.locator("#details")), /Needs.*f2 Schema.*Needed by.*f4 Pages.*f5 Search/s)
  await page.getByRole("button", { name: "f5 Search" }).click()
  assert.equal(await selectedTitle(page), "Search")
  assert.deepEqual(opened.problems, [])
})

test("frames that are out of the plan are counted and out of sight", async () => {
  using stack = new TestStack()
  stack.run("push", "Shop", "--new")
  stack.run("plan", "Pages", "Fax")
  stack.run("plan", "Paper", "--below", "Fax")
  stack.run("invalidate", "Fax", "Nobody has one", "--subtree")
  await using opened = await open(browser, stack.page())
  const { page } = opened
  const items = page.getByRole("treeitem")
  assert.deepEqual(await items.count(), 2)
  const pages = page.getByRole("treeitem", { name: /f2 Pages/ })
  assert.equal(await pages.getAttribute("aria-setsize"), "1")
  await page.getByRole("button", { name: "Show 2 frames out of the plan" }).click()
  assert.equal(await items.count(), 4)
  assert.equal(await pages.getAttribute("aria-setsize"), "2")
  await page.getByRole("treeitem", { name: /f4 Paper/ }).click()
  await page.getByRole("button", { name: "Hide 2 frames out of the plan" }).click()
  assert.equal(await items.count(), 2)
  assert.equal(await selectedTitle(page), "Shop", "the selected frame is always in the list")
  // A frame that a filter finds, or that is selected elsewhere, becomes visible.
  await page.locator("#status-invalidated").click()
  assert.equal(await items.count(), 4)
  await page.locator("#status-invalidated").click()
  await page.getByRole("button", { name: "Hide 2 frames out of the plan" }).click()
  assert.equal(await items.count(), 2)
  await page.getByRole("searchbox").fill("Fax")
  await page.keyboard.press("Enter")
  assert.equal(await selectedTitle(page), "Fax")
  assert.equal(await items.count(), 4)
  assert.deepEqual(opened.problems, [])
})
