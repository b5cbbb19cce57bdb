// Texts that agents have written in part, as a terminal can show them.

/** A line is cut to this number of characters. */
const LONGEST = 160

/**
 * Makes one line that a terminal can show, of a text that agents have written in part. A long line is cut.
 */
export function singleLine(text: string): string {
  const characters = Array.from(text.replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim())
  if (characters.length <= LONGEST) return characters.join("")
  return `${characters
    .slice(0, LONGEST - 1)
    .join("")
    .trimEnd()}…`
}

/** Makes lines that a terminal can show, of a text that agents have written in part. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{C}\n]+/gu, " ").trimEnd()
}
