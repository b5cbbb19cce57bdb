// Lines for people: pieces of text with tones. They become harmless and get their colours when they are
// painted.

import { harmless } from "./text.js"

/** The tone of a piece of text. */
export type Tone = "plain" | "strong" | "faint" | "good" | "bad" | "asking"

/** A piece of a line. */
export interface Piece {
  text: string
  tone: Tone
}

/** A line. Its texts may be hostile until it is painted. */
export type Line = readonly Piece[]

/** The escape sequences of the tones. */
const COLOURS: Readonly<Record<Tone, string>> = {
  plain: "",
  strong: "\u001b[1m",
  faint: "\u001b[2m",
  good: "\u001b[32m",
  bad: "\u001b[31m",
  asking: "\u001b[36m",
}

const RESET = "\u001b[0m"

/** Returns a line of plain texts and pieces. */
export function line(...parts: (string | Piece)[]): Line {
  return parts.map((part) => (typeof part === "string" ? { text: part, tone: "plain" } : part))
}

/** Returns a piece of a line. */
export function toned(tone: Tone, text: string): Piece {
  return { text, tone }
}

/** Returns the lines of a text, indented. */
export function indented(text: string, tone: Tone = "plain"): Line[] {
  const lines = harmless(text).trimEnd().split("\n")
  return lines.map((words) => line(toned(tone, words === "" ? "" : `  ${words}`)))
}

/** Returns a line as it is written: harmless, and with colours if the terminal has them. */
export function paint(pieces: Line, hasColours: boolean): string {
  return pieces
    .map(({ text, tone }) => {
      const words = harmless(text)
      return hasColours && tone !== "plain" && words !== "" ? `${COLOURS[tone]}${words}${RESET}` : words
    })
    .join("")
}

/** True if a stream is a terminal that shows colours. */
export function showsColours(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return isCapable(stream, env) && (env["NO_COLOR"] ?? "") === ""
}

/** True if a stream is a terminal that understands escape sequences. */
export function isCapable(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY === true && env["TERM"] !== "dumb"
}
