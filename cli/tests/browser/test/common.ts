// The program, stacks, and Chromium, for all tests of the page.
import assert from "node:assert/strict"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { pathToFileURL } from "node:url"
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core"

/** The folder of the program's sources. */
const cli = resolve(import.meta.dirname, "../../../..")
/** The history of a stack whose times are fixed. */
export const history = join(cli, "tests/cmd/flame/history.jsonl")
export const browserTests = join(cli, "tests/browser")
export const screenshots = join(browserTests, "screenshots")

/**
 * The program: the one of `make build` or `make program`, or another program that CALLSTACK_PROGRAM names.
 */
const program = process.env["CALLSTACK_PROGRAM"] ?? resolve(cli, "../target/native/callstack")

/** The time within which an event must happen on a busy machine, in milliseconds. */
export const PATIENCE = 10_000

/** A stack in a folder of its own. The folder is removed at the end of the test. */
export class TestStack {
  readonly folder = mkdtempSync(join(tmpdir(), "callstack-view-"))

  /** Runs a command on the stack. Returns the output of the command. */
  run(...command: string[]): string {
    assert.ok(existsSync(program), `${program} is missing: make program`)
    return execFileSync(program, command, { env: this.environment(), encoding: "utf8" })
  }

  /** Writes the page. Returns its address. */
  page(...options: string[]): string {
    const file = join(this.folder, "page.html")
    this.run("view", file, ...options)
    return pathToFileURL(file).href
  }

  /** Serves the page. */
  async serve(): Promise<Served> {
    const child = spawn(program, ["view", "--serve", "--json"], {
      env: this.environment(),
      stdio: ["ignore", "pipe", "inherit"],
    })
    const ended = once(child, "exit").then(() => assert.fail("the server has ended before it served"))
    const [line] = await Promise.race([once(createInterface(child.stdout), "line"), ended])
    ended.catch(() => undefined)
    return new Served(child, JSON.parse(line).data.url)
  }

  private environment(): NodeJS.ProcessEnv {
    const { CALLSTACK_PRICES: _, ...environment } = process.env
    return { ...environment, CALLSTACK_DIR: join(this.folder, "stack"), TZ: "UTC" }
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true })
  }
}

/** A running `callstack view --serve`. */
export class Served {
  constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  /** Ends the program. Returns its exit code. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill(signal)
      await once(this.child, "exit")
    }
    return this.child.exitCode
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL")
  }
}

/** A stack with the fixed history. */
export function fixedStack(): TestStack {
  const stack = new TestStack()
  stack.run("import", history, "--new")
  return stack
}

export function startBrowser(): Promise<Browser> {
  const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium"
  assert.ok(existsSync(executablePath), `${executablePath} is missing: scripts/install-system-tools`)
  // Chromium has no sandbox for the user root.
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : []
  // Coloured edges of letters differ from screen to screen.
  return chromium.launch({ executablePath, args: [...sandbox, "--disable-lcd-text"] })
}

/** An open page, with the problems that occurred in it and the requests that it made. */
export interface Opened extends AsyncDisposable {
  page: Page
  problems: string[]
  requests: string[]
}

/** Opens a page in a window of a usual size. If a script is given, it runs before the scripts of the page. */
export async function open(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
  script?: string,
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: 1200, height: 800 },
    timezoneId: "UTC",
    locale: "en-US",
    reducedMotion: "reduce",
    ...options,
  })
  context.setDefaultTimeout(PATIENCE)
  const page = await context.newPage()
  if (script) await page.addInitScript(script)
  const problems: string[] = []
  const requests: string[] = []
  page.on("console", (message) => problems.push(message.text()))
  page.on("pageerror", (error) => problems.push(error.message))
  page.on("dialog", (dialog) => problems.push(`a dialog: ${dialog.message()}`))
  page.on("request", (request) => requests.push(request.url()))
  await page.goto(url)
  await settle(page)
  return { page, problems, requests, [Symbol.asyncDispose]: () => context.close() }
}

/** Waits until the page has drawn all that it knows. */
export async function settle(page: Page): Promise<void> {
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))")
}

/** The text of an element. */
export async function textOf(element: Locator): Promise<string> {
  return (await element.textContent()) ?? ""
}

/** The title of the selected frame. */
export function selectedTitle(page: Page): Promise<string> {
  return textOf(page.locator("#details .name"))
}

/** Keeps the texts that were drawn on the axis most recently. */
export async function watchAxis(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    const { clearRect, fillText } = CanvasRenderingContext2D.prototype
    CanvasRenderingContext2D.prototype.clearRect = function (...place) {
      if (this.canvas.id === "axis") window.labels = []
      return clearRect.apply(this, place)
    }
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
      if (this.canvas.id === "axis") window.labels.push(text)
      return fillText.call(this, text, ...place)
    }
  })()`)
}

/** The labels of the axis after an action. */
export async function labelsAfter(page: Page, action: () => Promise<void>): Promise<string[]> {
  await action()
  await settle(page)
  return page.evaluate<string[]>("window.labels")
}
