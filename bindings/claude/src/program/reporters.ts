// Reporters for output that is not a dialogue: lines for people and logs, results alone, and JSON for
// programs.

import type { FlameEvent } from "../events.js"
import type { Flame, Outcome } from "../flame.js"
import type { Failure } from "./failure.js"
import { type Line, line, paint, showsColours, toned } from "./lines.js"
import { lineOf, lines, outcomeLines } from "./reports.js"
import { cut, harmlessJson } from "./text.js"

/** The streams that a program writes to. */
export interface Streams {
  output: NodeJS.WritableStream & { isTTY?: boolean; columns?: number }
  error: NodeJS.WritableStream & { isTTY?: boolean }
  env: NodeJS.ProcessEnv
}

/** Writes the work of a command. */
export interface Reporter {
  /** Writes what has happened. */
  event(event: FlameEvent): void
  /** Writes the answer of a command: as lines for people, or as data of a kind. */
  answer(kind: string, data: object, lines: readonly Line[]): void
  /** Writes how runs have ended. */
  outcomes(flame: Flame, outcomes: readonly Outcome[]): void
  /** Tells people something that is not an answer. */
  notice(text: string): void
  /** Writes why a command has failed. */
  complain(failure: Failure): void
}

/** How much a reporter writes of the events. */
export type Volume = "events" | "results"

/** Writes lines. */
export class LineReporter implements Reporter {
  readonly #streams: Streams
  readonly #volume: Volume
  /** The beginning of commands that are recommended. */
  readonly #command: string

  constructor(streams: Streams, volume: Volume, command: string) {
    this.#streams = streams
    this.#volume = volume
    this.#command = command
  }

  event(event: FlameEvent): void {
    const words = this.#volume === "events" ? lineOf(event) : undefined
    if (words !== undefined) this.#write([this.#cut(words)])
  }

  answer(_kind: string, _data: object, lines: readonly Line[]): void {
    this.#write(lines)
  }

  outcomes(flame: Flame, outcomes: readonly Outcome[]): void {
    for (const outcome of outcomes) {
      const { results = "", handle } = outcome.frame
      if (this.#volume === "results") this.#write(lines(results))
      else {
        const shown = results === "" ? [] : [line(""), ...lines(results), line("")]
        this.#write([...shown, ...outcomeLines(outcome, flame.usage(handle), this.#command)])
      }
    }
  }

  notice(text: string): void {
    this.#writeError([line(text)])
  }

  complain(failure: Failure): void {
    this.#writeError(failureLines(failure))
  }

  #write(written: readonly Line[]): void {
    const { output, env } = this.#streams
    const hasColours = showsColours(output, env)
    for (const words of written) output.write(`${paint(words, hasColours)}\n`)
  }

  #writeError(written: readonly Line[]): void {
    const { error, env } = this.#streams
    const hasColours = showsColours(error, env)
    for (const words of written) error.write(`${paint(words, hasColours)}\n`)
  }

  /** Cuts the last piece of an event's line if the terminal is too narrow for it. */
  #cut(words: Line): Line {
    const { isTTY, columns } = this.#streams.output
    const last = words.at(-1)
    if (isTTY !== true || !columns || last === undefined) return words
    const before = words.slice(0, -1)
    const room = columns - paint(before, false).length
    return [...before, toned(last.tone, cut(last.text, Math.max(1, room)))]
  }
}

/** Writes JSON: an envelope on each line. */
export class JsonReporter implements Reporter {
  readonly #streams: Streams

  constructor(streams: Streams) {
    this.#streams = streams
  }

  event(event: FlameEvent): void {
    this.#write("event", event)
  }

  answer(kind: string, data: object): void {
    this.#write(kind, data)
  }

  outcomes(flame: Flame, outcomes: readonly Outcome[]): void {
    for (const { frame, report, waiting } of outcomes) {
      this.#write("outcome", { frame, report, waiting, usage: flame.usage(frame.handle) })
    }
  }

  notice(text: string): void {
    this.#streams.error.write(`${text}\n`)
  }

  complain({ code, message, nextStep }: Failure): void {
    this.#streams.error.write(`${envelope("error", { code, message, ...(nextStep !== undefined && { nextStep }) })}\n`)
  }

  #write(kind: string, data: object): void {
    this.#streams.output.write(`${envelope(kind, data)}\n`)
  }
}

/** Returns a failure as lines for people. */
export function failureLines({ message, nextStep }: Failure): Line[] {
  const next = nextStep === undefined ? [] : [line(toned("faint", "next: "), nextStep)]
  const [first = [], ...others] = lines(message)
  return [[toned("bad", "error: "), ...first], ...others, ...next]
}

function envelope(kind: string, data: object): string {
  return harmlessJson({ schemaVersion: 1, kind, data })
}
