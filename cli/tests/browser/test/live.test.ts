// The served page: it shows the changes of other processes, and it says whether it is up to date.
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { Browser } from "playwright-core"
import {
  fixedStack,
  labelsAfter,
  open,
  PATIENCE,
  selectedTitle,
  startBrowser,
  TestStack,
  textOf,
  watchAxis,
} from "./common.js"

let browser: Browser
before(async () => {
  browser = await startBrowser()
})
after(() => browser.close())

test("a push of another process appears, and selection, search and focus stay", async () => {
  using stack = fixedStack()
  await using served = await stack.serve()
  await using opened = await open(browser, served.url)
  const { page } = opened
  await page.locator("#live", { hasText: /^Live$/ }).waitFor({ timeout: PATIENCE })
  await page.getByRole("treeitem", { name: /f6 Payment by card/ }).click()
  await page.getByRole("treeitem", { name: /f6 Payment by card/ }).press("ArrowLeft")
  await page.locator("#search").fill("announce")
  await page.locator("#search").focus()
  stack.run("push", "Announce it in the <b>news</b>", "--below", "f1")
  await page.locator("#summary", { hasText: "25 frames" }).waitFor({ timeout: PATIENCE })
  assert.equal(await textOf(page.locator("#found")), "2 found", "the search has the new frame too")
  assert.equal(await selectedTitle(page), "Payment by card")
  assert.equal(await page.evaluate("document.activeElement.id"), "search")
  const item = page.getByRole("treeitem", { name: /f6 Payment by card/ })
  assert.equal(await item.getAttribute("aria-expanded"), "false", "what is collapsed stays so")
  await page.getByRole("treeitem", { name: /f25/ }).click()
  await page.getByRole("button", { name: "Copy" }).focus()
  stack.run("pop", "f25", "--results", "It is in the news")
  const state = page.getByRole("treeitem", { name: "f25 Announce it in the <b>news</b> completed" })
  await state.waitFor({ timeout: PATIENCE })
  assert.match(await textOf(page.locator("#details")), /It is in the news/)
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Copy", "the focus stays")
  assert.deepEqual(opened.problems, [])
  assert.ok(opened.requests.every((url) => url.startsWith(served.url)))
})

test("a page whose server ends says so", async () => {
  using stack = fixedStack()
  await using served = await stack.serve()
  await using opened = await open(browser, served.url)
  await opened.page.locator("#live", { hasText: /^Live$/ }).waitFor({ timeout: PATIENCE })
  assert.equal(await served.end("SIGTERM"), 0)
  await opened.page.locator("#live", { hasText: /^Ended$/ }).waitFor({ timeout: PATIENCE })
})

test("a page that loses its server says that it tries again", async () => {
  using stack = fixedStack()
  await using served = await stack.serve()
  await using opened = await open(browser, served.url)
  await opened.page.locator("#live", { hasText: /^Live$/ }).waitFor({ timeout: PATIENCE })
  await served.end("SIGKILL")
  await opened.page.locator("#live", { hasText: "Connection lost" }).waitFor({ timeout: PATIENCE })
})

test("a status that is filtered keeps its button when its last frame has another status", async () => {
  using stack = new TestStack()
  stack.run("push", "--new", "Root")
  stack.run("plan", "Later", "--below", "f1")
  await using served = await stack.serve()
  await using opened = await open(browser, served.url)
  const { page } = opened
  await page.locator("#live", { hasText: /^Live$/ }).waitFor({ timeout: PATIENCE })
  await page.getByRole("button", { name: "planned 1" }).click()
  stack.run("activate", "f2")
  await page.getByRole("button", { name: "planned 0" }).click()
  assert.equal(await textOf(page.locator("#found")), "", "nothing is filtered any more")
  assert.equal(await page.locator("#legend li", { hasText: "planned" }).isVisible(), false)
})

test("frames that come to a small stack are shown expanded, and moved ones move", async () => {
  using stack = new TestStack()
  stack.run("push", "--new", "Root")
  await using served = await stack.serve()
  await using opened = await open(browser, served.url)
  const { page } = opened
  await page.locator("#live", { hasText: /^Live$/ }).waitFor({ timeout: PATIENCE })
  stack.run("plan", "Part", "Other part", "--below", "f1")
  stack.run("plan", "Task", "--below", "f2")
  await page.getByRole("treeitem", { name: /f4 Task/ }).waitFor({ timeout: PATIENCE })
  stack.run("edit", "f3", "--before", "f2")
  await page.locator("#tree .item:has-text('f3') + .item:has-text('f2')").waitFor({ timeout: PATIENCE })
  stack.run("plan", "Second root", "--root")
  stack.run("edit", "f5", "--before", "f1")
  await page.locator("#title", { hasText: "Second root and 1 more" }).waitFor({ timeout: PATIENCE })
  stack.run("invalidate", "f2", "It is not needed")
  await page.getByRole("button", { name: "Show 2 frames out of the plan" }).click()
  await page.getByRole("treeitem", { name: "f4 Task invalidated" }).waitFor({ timeout: PATIENCE })
  assert.deepEqual(opened.problems, [])
})

test("the focus stays on the link to the same frame when another link comes before it", async () => {
  using stack = new TestStack()
  stack.run("push", "--new", "Root")
  stack.run("plan", "One", "Two", "Three", "--below", "f1")
  stack.run("edit", "f4", "--depends-on", "f3")
  await using served = await stack.serve()
  await using opened = await open(browser, served.url)
  const { page } = opened
  await page.locator("#live", { hasText: /^Live$/ }).waitFor({ timeout: PATIENCE })
  await page.getByRole("treeitem", { name: /f4 Three/ }).click()
  await page.locator("#details").getByRole("button", { name: "f3 Two" }).focus()
  stack.run("edit", "f4", "--depends-on", "f2", "--depends-on", "f3")
  await page.locator("#details").getByRole("button", { name: "f2 One" }).waitFor({ timeout: PATIENCE })
  assert.equal(await page.evaluate("document.activeElement.textContent"), "f3 Two")
})

test("a view at the end of the chart stays there when the chart becomes longer", async () => {
  using stack = fixedStack()
  await using served = await stack.serve()
  await using opened = await open(browser, served.url)
  const { page } = opened
  await page.locator("#live", { hasText: /^Live$/ }).waitFor({ timeout: PATIENCE })
  const chart = page.locator("#flame")
  await chart.focus()
  await page.keyboard.press("+")
  const box = await chart.boundingBox()
  assert.ok(box)
  // The last rows are free in this area.
  await page.mouse.move(box.x + box.width - 20, box.y + box.height - 3)
  await page.mouse.down()
  await page.mouse.move(box.x + 10, box.y + box.height - 3, { steps: 4 })
  await page.mouse.up()
  await watchAxis(page)
  // The history is some years old.
  stack.run("push", "Much later", "--below", "f1")
  await page.locator("#summary", { hasText: "25 frames" }).waitFor({ timeout: PATIENCE })
  const labels = await labelsAfter(page, () => chart.focus())
  assert.ok(labels.length > 1 && labels.every((label) => /^\d+d /.test(label)), `not at the end: ${labels.join(", ")}`)
  assert.deepEqual(opened.problems, [])
})
