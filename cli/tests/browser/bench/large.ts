// Measures the page of 10,000 frames with 20,000 requests: npm run bench. Prints figures; it has no
// assertions.
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { open, PATIENCE, settle, startBrowser, TestStack } from "../test/common.js"

const FRAMES = 10_000
const REQUESTS = 2

/** The history of a run of 10,000 frames: tasks with parts, four parts at a time. Each task has requests. */
function history(): string {
  const lines: string[] = []
  const origin = 1_700_000_000_000
  const add = (time: number, handle: string, change: object) => {
    lines.push(JSON.stringify({ revision: lines.length + 1, time: origin + time, handle, ...change }))
  }
  const frame = (id: number, parent: number | null, time: number) => ({
    kind: "added",
    frame: {
      sessionID: `ses_${id}`,
      ...(parent === null ? {} : { parentSessionID: `ses_${parent}` }),
      status: "in_progress",
      title: `Task ${id} of the long run`,
      successCriteria: `The tests of module ${id} pass, and the documents name its limits`,
      successCriteriaCompacted: "",
      createdAt: origin + time,
      updatedAt: origin + time,
    },
  })
  add(0, "f1", frame(1, null, 0))
  for (let id = 2, time = 0; id <= FRAMES; id++) {
    const isPart = id % 50 === 2
    const parent = isPart ? 1 : id - ((id - 2) % 50)
    add(time, `f${id}`, frame(id, parent, time))
    for (let request = 0; request < REQUESTS; request++) {
      time += 900 + ((id * 37) % 700)
      const modelRequest = {
        model: id % 3 === 0 ? "large" : "small",
        uncachedInput: 300 + ((id * 13) % 900),
        cacheRead: 2000 + ((id * 91) % 9000),
        cacheWrite: 500,
        output: 100 + ((id * 7) % 400),
        reasoning: 0,
        duration: 800,
        messages: 4,
        failed: id % 211 === 0,
      }
      add(time, `f${id}`, { kind: "usageRecorded", modelRequest })
    }
    if (!isPart) {
      const status = id % 97 === 0 ? "failed" : "completed"
      const results = `Module ${id} is done: 12 tests, three decisions, and a note for the next task in docs/${id}.md`
      add(time, `f${id}`, { kind: "statusChanged", status, results, resultsCompacted: "" })
    }
    if (id % 50 === 1)
      add(time, `f${parent}`, { kind: "statusChanged", status: "completed", results: "All tasks are done" })
  }
  return `${lines.join("\n")}\n`
}

const folder = mkdtempSync(join(tmpdir(), "callstack-bench-"))
const stack = new TestStack()
const browser = await startBrowser()
try {
  const file = join(folder, "history.jsonl")
  writeFileSync(file, history())
  stack.run("import", file, "--new")
  const begun = performance.now()
  const url = stack.page()
  console.log(`written in ${Math.round(performance.now() - begun)} ms`)
  console.log(`bytes: ${statSync(new URL(url)).size}`)
  await using opened = await open(browser, url)
  const { page } = opened
  const paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
  console.log(`first contentful paint: ${Math.round(await page.evaluate<number>(paint))} ms`)
  const ready = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
  console.log(`ready: ${Math.round(await page.evaluate<number>(ready))} ms`)
  for (const mode of ["time", "tokens"]) {
    const zoom = `new Promise((done) => {
      const canvas = document.getElementById("flame")
      const box = canvas.getBoundingClientRect()
      const times = []
      const step = () => {
        const begun = performance.now()
        const x = box.left + box.width * 0.37
        canvas.dispatchEvent(new WheelEvent("wheel", {
          deltaY: times.length < 20 ? -60 : 60, ctrlKey: true, clientX: x, bubbles: true, cancelable: true
        }))
        requestAnimationFrame(() => {
          // Behind the drawing, which was asked for earlier.
          times.push(performance.now() - begun)
          if (times.length < 40) setTimeout(step)
          else done(times.sort((one, other) => one - other))
        })
      }
      step()
    })`
    const times = await page.evaluate<number[]>(zoom)
    const [middle, last] = [times[20] ?? 0, times.at(-1) ?? 0]
    console.log(`a zoom step by ${mode}: median ${middle.toFixed(1)} ms, longest ${last.toFixed(1)} ms`)
    await page.keyboard.press("t")
  }
  const search = performance.now()
  await page.locator("#search").fill("module 99")
  await settle(page)
  console.log(`search: ${Math.round(performance.now() - search)} ms`)
  if (process.env["SCREENSHOT"]) await page.screenshot({ path: process.env["SCREENSHOT"] })
  await using served = await stack.serve()
  await using live = await open(browser, served.url)
  await live.page.locator("#live", { hasText: /^Live$/ }).waitFor({ timeout: PATIENCE })
  const delays: number[] = []
  for (let push = 1; push <= 10; push++) {
    stack.run("push", `Push ${push}`, "--below", "f1")
    const pushed = performance.now()
    await live.page.locator("#summary", { hasText: `${(FRAMES + push).toLocaleString("en-US")} frames` }).waitFor()
    delays.push(performance.now() - pushed)
  }
  delays.sort((one, other) => one - other)
  console.log(`a push is shown after: median ${delays[5]?.toFixed(0)} ms, longest ${delays.at(-1)?.toFixed(0)} ms`)
} finally {
  await browser.close()
  stack[Symbol.dispose]()
  rmSync(folder, { recursive: true })
}
