// Reports the events of the demo: a line for each event, headings, and on a terminal a live line with the
// frames that work now.

import { basename } from "node:path"
import type { FlameEvent } from "callstack-flame"

const WIDTH = 100
/** How often the live line is drawn, in milliseconds. */
const INTERVAL = 200

/** Reports the events to people. */
export class Teller {
  readonly #begun = performance.now()
  readonly #isTerminal = process.stdout.isTTY === true
  readonly #timer: NodeJS.Timeout | undefined
  readonly #working: () => string

  /** `working` describes the frames that work now, for the live line. */
  constructor(working: () => string) {
    this.#working = working
    if (this.#isTerminal) this.#timer = setInterval(() => this.#drawLiveLine(), INTERVAL)
  }

  /** The seconds since the beginning. */
  get seconds(): string {
    return ((performance.now() - this.#begun) / 1000).toFixed(1)
  }

  /** Writes a line of the demo. */
  line(text: string): void {
    if (this.#isTerminal) process.stdout.write("\r\u001B[K")
    console.log(text)
  }

  /** Writes a line about an event, if people want to know it. */
  event(event: FlameEvent): void {
    const text = describe(event)
    if (text !== undefined) this.line(`${this.seconds.padStart(5)} s  ${cut(text, WIDTH - 9)}`)
  }

  /** Writes a heading. */
  rule(title: string): void {
    this.line(`\n── ${title} ${"─".repeat(Math.max(0, WIDTH - 4 - title.length))}`)
  }

  /** Ends the live line. */
  close(): void {
    clearInterval(this.#timer)
    if (this.#isTerminal) process.stdout.write("\r\u001B[K")
  }

  #drawLiveLine(): void {
    process.stdout.write(`\r\u001B[K${cut(`${this.seconds.padStart(5)} s  ${this.#working()} …`, WIDTH)}`)
  }
}

const SIGNS: Record<string, string> = { completed: "[x]", failed: "[!]", blocked: "[?]", invalidated: "[-]" }

/** Returns the text of an event for people; undefined if the event is not worth a line. */
function describe(event: FlameEvent): string | undefined {
  switch (event.kind) {
    case "begun":
      return `[>] ${event.frame} ${event.title}`
    case "ended":
      return event.status === "blocked" ? undefined : `${SIGNS[event.status]} ${event.frame} ${event.results}`
    case "waiting":
      return `[?] ${event.frame} asks: ${event.question}`
    case "tool":
      return event.tool.startsWith("mcp__") ? undefined : `    ${event.frame} ${event.tool} ${subjectOf(event.input)}`
    case "retry":
      return `    ${event.frame} a request failed (${event.error}) and is repeated`
    default:
      return undefined
  }
}

/** The subject of a tool call: a file or a command. */
function subjectOf(input: unknown): string {
  const { file_path, command } = input as { file_path?: string; command?: string }
  return file_path === undefined ? (command ?? "") : basename(file_path)
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`
}
