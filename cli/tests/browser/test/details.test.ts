// The page in cases that need a run of their own: moved frames, requests that are drawn together, keys of the
// strip, forced colours.
import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import type { Browser, Locator, Page } from "playwright-core"
import {
  fixedStack,
  labelsAfter,
  open,
  selectedTitle,
  settle,
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

const ORIGIN = 1_700_000_000_000

/** A change of a frame, with its time in milliseconds since the beginning. */
type Entry = [time: number, frame: number, change: object]

/** A stack with this history. */
function stackOf(entries: Entry[]): TestStack {
  const stack = new TestStack()
  const file = join(stack.folder, "history.jsonl")
  const events = entries.map(([time, frame, change], place) =>
    JSON.stringify({ revision: place + 1, time: ORIGIN + time, handle: `f${frame}`, ...change }),
  )
  writeFileSync(file, `${events.join("\n")}\n`)
  stack.run("import", file, "--new")
  return stack
}

function added(frame: number, title: string, parent?: number): Entry {
  const record = {
    sessionID: `ses_${frame}`,
    ...(parent === undefined ? {} : { parentSessionID: `ses_${parent}` }),
    status: "in_progress",
    title,
    successCriteria: "",
    successCriteriaCompacted: "",
    createdAt: ORIGIN,
    updatedAt: ORIGIN,
  }
  return [0, frame, { kind: "added", frame: record }]
}

function request(time: number, frame: number, more: object = {}): Entry {
  const modelRequest = { model: "alpha", uncachedInput: 300, cacheRead: 100, output: 20, duration: 400, ...more }
  return [time, frame, { kind: "usageRecorded", modelRequest }]
}

/** The colours of a canvas, the most frequent colour first. */
function colorsOf(page: Page, canvas: string): Promise<string[]> {
  return page.evaluate(`(() => {
    const canvas = document.getElementById(${JSON.stringify(canvas)})
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
    const counts = new Map()
    for (let place = 0; place < data.length; place += 4) {
      const color = data.slice(place, place + 4).join()
      counts.set(color, (counts.get(color) ?? 0) + 1)
    }
    return [...counts].sort((one, other) => other[1] - one[1]).map(([color]) => color)
  })()`)
}

const names = (page: Page) => page.locator("#tree .item .name").allTextContents()

async function placeOf(element: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await element.boundingBox()
  assert.ok(box, "the element is not shown")
  return box
}

test("roots and children that were moved are in their new order", async () => {
  using stack = new TestStack()
  stack.run("push", "--new", "First")
  stack.run("plan", "First child", "Second child", "--below", "f1")
  stack.run("push", "Second", "--root")
  stack.run("plan", "Third", "--root")
  stack.run("edit", "f5", "--before", "f1")
  stack.run("edit", "f3", "--before", "f2")
  await using opened = await open(browser, stack.page())
  assert.deepEqual(await names(opened.page), ["Third", "First", "Second child", "First child", "Second"])
  assert.equal(await opened.page.title(), "Third and 2 more – callstack")
})

test("a frame that was blocked more often than the chart shows has the whole sum", async () => {
  const often = Array.from({ length: 40 }, (_, place): Entry[] => [
    [1000 + place * 2000, 1, { kind: "statusChanged", status: "blocked", results: "Rate?", resultsCompacted: "" }],
    [2000 + place * 2000, 1, { kind: "statusChanged", status: "in_progress" }],
  ]).flat()
  using stack = stackOf([added(1, "Often blocked"), ...often])
  await using opened = await open(browser, stack.page())
  const facts = await textOf(opened.page.locator("#details dl"))
  assert.match(facts, /of it blocked40\.0s/)
  assert.match(facts, /Blocked40 times, the chart has the last 32/)
})

test("a time that begins and ends in the first millisecond is not open", async () => {
  using stack = stackOf([
    added(1, "Blocked for a moment"),
    [0, 1, { kind: "statusChanged", status: "blocked", results: "Rate?", resultsCompacted: "" }],
    [0, 1, { kind: "statusChanged", status: "in_progress" }],
    request(60_000, 1),
  ])
  await using opened = await open(browser, stack.page())
  assert.match(await textOf(opened.page.locator("#details dl")), /Duration1m 0sof it blocked0ms$/)
})

test("labels of the axis differ at every zoom, and by tokens too", async () => {
  using stack = stackOf([added(1, "A long run"), request(18_400_000, 1, { cacheRead: 1_234_567 })])
  await using opened = await open(browser, stack.page())
  const { page } = opened
  await watchAxis(page)
  for (const mode of ["time", "tokens"]) {
    for (let step = 0; step < 24; step++) {
      const labels = await labelsAfter(page, () => page.locator("#zoom-in").click())
      assert.ok(labels.length > 1, "the axis has no labels")
      assert.equal(new Set(labels).size, labels.length, `labels by ${mode} repeat: ${labels.join(", ")}`)
    }
    await page.locator("#flame").focus()
    await page.keyboard.press("t")
  }
})

test("requests taken together name no frame and no model that is not that of all", async () => {
  const many = Array.from({ length: 20_002 }, (_, place) =>
    request(1000 + place * 1000, 2 + (place % 2), place % 2 ? { model: "beta", failed: place < 2 } : {}),
  )
  using stack = stackOf([added(1, "Root"), added(2, "Even", 1), added(3, "Odd", 1), ...many])
  await using opened = await open(browser, stack.page())
  const { page } = opened
  await page.locator("#strip").focus()
  await page.keyboard.press("Home")
  const words =
    "several frames, 2 requests, 1 of 2 failed, several models, 1.4s, prompt 800, 25 % from the cache, answer 40"
  assert.equal(await textOf(page.locator("#said")), words)
  await page.keyboard.press("Enter")
  assert.equal(await selectedTitle(page), "Root", "no frame is selected that is not that of all")
})

test("the strip is used with keys and with the pointer", async () => {
  using stack = stackOf([
    added(1, "Root"),
    added(2, "Tax", 1),
    added(3, "Mail", 1),
    request(1000, 2),
    request(3000, 3, { failed: true }),
    request(4000, 1),
  ])
  await using opened = await open(browser, stack.page())
  const { page } = opened
  const strip = page.locator("#strip")
  const tip = page.locator("#tip")
  const box = await placeOf(strip)
  await page.mouse.move(box.x + (box.width * 2800) / 4000, box.y + 40)
  assert.equal(await textOf(tip.locator("strong")), "f3 Mail")
  assert.match(await textOf(tip), /failed/)
  await page.keyboard.press("Escape")
  assert.ok(await tip.isHidden(), "Escape hides the tip")
  await strip.click({ position: { x: (box.width * 800) / 4000, y: 40 } })
  assert.equal(await selectedTitle(page), "Tax")
  await page.mouse.move(0, 0)
  await strip.focus()
  await page.keyboard.press("ArrowRight")
  await page.keyboard.press("ArrowRight")
  const said = "f3 Mail, failed, alpha, 400ms, prompt 400, 25 % from the cache, answer 20"
  assert.equal(await textOf(page.locator("#said")), said)
  assert.ok(await tip.isVisible())
  await page.keyboard.press("Enter")
  assert.equal(await selectedTitle(page), "Mail")
  await page.keyboard.press("Tab")
  assert.ok(await tip.isHidden(), "the tip goes with the focus")
})

test("bars have a tip; drag, double click and the buttons change the view", async () => {
  using stack = fixedStack()
  await using opened = await open(browser, stack.page())
  const { page } = opened
  const chart = page.locator("#flame")
  const box = await placeOf(chart)
  await page.mouse.move(box.x + 200, box.y + 40)
  assert.match(await textOf(page.locator("#tip")), /^f6 Payment by cardcompleted/)
  await page.mouse.move(box.x + 200, box.y - 200)
  assert.ok(await page.locator("#tip").isHidden())
  const titleAt = async (x: number) => {
    await chart.click({ position: { x, y: 40 } })
    return selectedTitle(page)
  }
  assert.equal(await titleAt(200), "Payment by card")
  await page.locator("#zoom-in").click()
  await page.locator("#zoom-in").click()
  await page.locator("#zoom-in").click()
  await watchAxis(page)
  const zoomed = await labelsAfter(page, () => page.locator("#zoom-out").click())
  await page.mouse.move(box.x + 100, box.y + 40)
  await page.mouse.down()
  await page.mouse.move(box.x + 500, box.y + 40, { steps: 4 })
  await page.mouse.up()
  await settle(page)
  const dragged = await page.evaluate<string[]>("window.labels")
  assert.notDeepEqual(dragged, zoomed, "dragging moves")
  await page.locator("#zoom-all").click()
  await settle(page)
  assert.equal(await titleAt(200), "Payment by card", "All shows all")
  await chart.dblclick({ position: { x: 200, y: 40 } })
  await settle(page)
  assert.equal(await titleAt(box.width - 60), "Payment by card", "a double click zooms to the frame")
  await chart.focus()
  await page.keyboard.press("ArrowUp")
  assert.equal(await selectedTitle(page), "Release version 2 of the shop")
  await page.keyboard.press("ArrowDown")
  await page.keyboard.press("ArrowRight")
  await page.keyboard.press("ArrowLeft")
  assert.equal(await selectedTitle(page), "Read the code and plan the work")
})

test("collapsing an ancestor of the selected frame selects the ancestor", async () => {
  using stack = fixedStack()
  await using opened = await open(browser, stack.page())
  const { page } = opened
  await page.getByRole("treeitem", { name: /f9 Client of the payment/ }).click()
  await page
    .getByRole("treeitem", { name: /f6 Payment by card/ })
    .locator(".twist")
    .click()
  assert.equal(await selectedTitle(page), "Payment by card")
  assert.equal(await page.locator('#tree [aria-selected="true"]').count(), 1)
  assert.equal(await textOf(page.locator("#said")), "", "the tree speaks for itself")
})

test("a click on the tree counts although the tree is drawn anew meanwhile", async () => {
  using stack = fixedStack()
  await using opened = await open(browser, stack.page())
  const { page } = opened
  const box = await placeOf(page.getByRole("treeitem", { name: /f2 Read the code/ }))
  await page.mouse.move(box.x + 80, box.y + 10)
  await page.mouse.down()
  await page.evaluate("document.getElementById('tree').dispatchEvent(new Event('scroll'))")
  await page.mouse.up()
  assert.equal(await selectedTitle(page), "Read the code and plan the work")
})

test("links in the details give the focus to the details, which begin at their top", async () => {
  using stack = fixedStack()
  await using opened = await open(browser, stack.page(), { viewport: { width: 1200, height: 240 } })
  const { page } = opened
  await page.getByRole("treeitem", { name: /Announce the release/ }).click()
  await page.evaluate("document.getElementById('panel').scrollTo(0, 1000)")
  const scrolled = await page.evaluate("document.getElementById('panel').scrollTop")
  assert.ok(Number(scrolled) > 0, "the details have no room to scroll")
  await page.getByRole("button", { name: "f3 Write the release notes" }).press("Enter")
  assert.equal(await selectedTitle(page), "Write the release notes")
  assert.equal(await page.evaluate("document.activeElement.id"), "panel")
  assert.equal(await page.evaluate("document.getElementById('panel').scrollTop"), 0)
})

test("letters are keys only where the chart, the strip, the list or nothing has the focus", async () => {
  using stack = fixedStack()
  await using opened = await open(browser, stack.page())
  const { page } = opened
  const isTokens = () => page.getByRole("radio", { name: "Tokens" }).isChecked()
  await page.locator("#zoom-in").focus()
  await page.keyboard.press("t")
  assert.equal(await isTokens(), false, "a button has the focus")
  await page.getByRole("tree").focus()
  await page.keyboard.press("t")
  assert.equal(await isTokens(), true)
})

test("forced colours keep the statuses apart, and what is selected is seen", async () => {
  using stack = fixedStack()
  await using opened = await open(browser, stack.page(), { forcedColors: "active" })
  const { page } = opened
  assert.ok(await page.evaluate("matchMedia('(forced-colors: active)').matches"), "the colours are not forced")
  const bars = await colorsOf(page, "flame")
  // Completed and failed, in the palette for light backgrounds or in the palette for dark backgrounds.
  for (const [light, dark] of [
    ["159,214,192,255", "30,106,84,255"],
    ["242,149,107,255", "163,63,12,255"],
  ]) {
    assert.ok(
      [light, dark].some((color) => bars.includes(String(color))),
      `${light} is not in the chart`,
    )
  }
  const strip = await colorsOf(page, "strip")
  assert.ok(
    strip.slice(0, 3).every((color) => color !== "0,0,0,255"),
    "the strip is black",
  )
  const background = (isSelected: boolean) =>
    page.evaluate(`getComputedStyle(document.querySelector('#tree [aria-selected="${isSelected}"]')).backgroundColor`)
  const [selected, other] = [await background(true), await background(false)]
  assert.notEqual(selected, other, "the selected frame looks as the others do")
})

test("a stack without frames has a page", async () => {
  using stack = new TestStack()
  mkdirSync(join(stack.folder, "stack"))
  writeFileSync(join(stack.folder, "stack/state.json"), JSON.stringify({ version: 1, frames: {}, rootFrameIDs: [] }))
  // A change that fails still imports the file.
  assert.throws(() => stack.run("decide", "f1", "Nothing"))
  await using opened = await open(browser, stack.page())
  assert.equal(await opened.page.title(), "An empty stack – callstack")
  assert.match(await textOf(opened.page.locator("#details")), /There are no frames yet/)
  assert.deepEqual(opened.problems, [])
})

test("a thousand levels have a page, a tree and a chart", async () => {
  const levels = Array.from({ length: 1000 }, (_, level) =>
    added(level + 1, `Level ${level}`, level === 0 ? undefined : level),
  )
  using stack = stackOf(levels)
  await using opened = await open(browser, stack.page())
  const { page } = opened
  await page.locator("#search").fill("999")
  await page.keyboard.press("Enter")
  assert.equal(await selectedTitle(page), "Level 999")
  await page.locator("#flame").focus()
  await page.keyboard.press("ArrowUp")
  assert.equal(await selectedTitle(page), "Level 998")
  assert.deepEqual(opened.problems, [])
})
