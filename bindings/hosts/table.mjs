// The cells of a table of costs, and the table in a document of docs/, between the comment that names its command and `<!-- end -->`.

import fs from "node:fs"

const END = "<!-- end -->\n"

/** A number of tokens in thousands. */
export const thousands = (tokens) => `${Math.round(tokens / 1000)}k`

/** A cost, with its share of the cost of one conversation. */
export const costCell = (cost, linear) => {
  const share = cost === linear ? "" : ` (${Math.round((100 * cost) / linear)} %)`
  return `${thousands(cost)}${share}`
}

/** Writes the rows of a table to its place in a document, a path from the root of the repository. */
export function intoDocument(name, command, rows) {
  const file = new URL(`../../${name}`, import.meta.url)
  const text = fs.readFileSync(file, "utf8")
  const begin = `<!-- ${command} -->\n`
  const start = text.indexOf(begin) + begin.length
  const end = text.indexOf(END, start)
  if (start < begin.length || end < 0) throw new Error(`${name} has no place for the table: ${begin}${END}`)
  fs.writeFileSync(file, `${text.slice(0, start)}${rows.join("\n")}\n${text.slice(end)}`)
}
