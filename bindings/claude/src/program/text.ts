// Texts for terminals. This is the only place where texts of models, titles and names of files become
// harmless. It also computes how many columns a text takes.

import { stripVTControlCharacters } from "node:util"

/** The replacement of a character that cannot be seen although it changes how a text is read. */
const REPLACEMENT = "\u{FFFD}"

/** Characters that shape the one before them, in emoji, Han, and scripts whose letters are joined. */
const JOINER = "[\\u034F\\u180B-\\u180D\\u180F\\u200C\\u200D\\uFE00-\\uFE0F\\u{E0100}-\\u{E01EF}]"

/**
 * Control characters, separators, marks of the direction of writing, and other characters that cannot be
 * seen.
 */
const HIDDEN = new RegExp(
  `(?![\\n\\t])\\p{Cc}|[\\u2028\\u2029\\uFFF0-\\uFFFB]|(?!${JOINER})\\p{Default_Ignorable_Code_Point}|(?<=^|\\p{ASCII})${JOINER}(?!\\u20E3)`,
  "gu",
)

/** Characters that take no column: marks on other characters, and joiners. */
const ZERO = new RegExp(`^(?:\\p{Mn}|\\p{Me}|[\\u1160-\\u11FF]|${JOINER})$`, "u")

/** Characters that take two columns: emoji, and the scripts of East Asia. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115F\u2329\u232A\u2E80-\u303E\u3041-\u4DBF\u4E00-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18AFF}\u{1AFF0}-\u{1B2FF}\u{1F200}-\u{1F2FF}\u{20000}-\u{3FFFD}])$/u

/**
 * Returns a text that a terminal only shows: without escape sequences, and with a replacement for every other
 * control character except line ends and tabs.
 */
export function harmless(text: string): string {
  return stripVTControlCharacters(text.replace(/\r\n/g, "\n")).replace(HIDDEN, REPLACEMENT)
}

/** Returns a harmless text on one line: each run of white space and control characters is a space. */
export function oneLine(text: string): string {
  return harmless(
    stripVTControlCharacters(text)
      .replace(/[\s\p{Cc}]+/gu, " ")
      .trim(),
  )
}

/** Returns JSON in which every character that a terminal could obey is an escape sequence. */
export function harmlessJson(value: unknown): string {
  const escaped = (character: string) =>
    Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
      .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
      .join("")
  return JSON.stringify(value).replace(HIDDEN, escaped)
}

/** Returns the number of columns that a text on one line takes. */
export function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  for (const character of text) width += widthOfCharacter(character)
  return width
}

/**
 * Returns the beginning of a text that fits into this number of columns. If something is cut off, it ends
 * with a mark.
 */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  return `${fitting([...text], columns - 1).join("")}…`
}

/**
 * Returns the end of a text that fits into this number of columns. If something is cut off, it begins with a
 * mark.
 */
export function cutStart(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  return `…${fitting([...text].reverse(), columns - 1)
    .reverse()
    .join("")}`
}

/** Splits a text on one line into rows of at most this number of columns. An empty text has one row. */
export function rowsOf(text: string, columns: number): string[] {
  const rows = [""]
  let width = 0
  for (const character of text) {
    const own = widthOfCharacter(character)
    if (width + own > columns && width > 0) {
      rows.push("")
      width = 0
    }
    rows[rows.length - 1] += character
    width += own
  }
  return rows
}

function fitting(characters: readonly string[], columns: number): string[] {
  let width = 0
  const end = characters.findIndex((character) => {
    width += widthOfCharacter(character)
    return width > columns
  })
  return end < 0 ? [...characters] : characters.slice(0, end)
}

function widthOfCharacter(character: string): number {
  if (character >= " " && character <= "~") return 1
  return ZERO.test(character) ? 0 : WIDE.test(character) ? 2 : 1
}
