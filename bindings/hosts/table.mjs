// Writes a table into a document of docs/, between the comment that names its command and `<!-- end -->`.

import fs from "node:fs"

const END = "<!-- end -->\n"

export function intoDocument(name, command, rows) {
  const file = new URL(`../../docs/${name}`, import.meta.url)
  const text = fs.readFileSync(file, "utf8")
  const begin = `<!-- ${command} -->\n`
  const start = text.indexOf(begin) + begin.length
  const end = text.indexOf(END, start)
  if (start < begin.length || end < 0) throw new Error(`docs/${name} has no place for the table: ${begin}${END}`)
  fs.writeFileSync(file, `${text.slice(0, start)}${rows.join("\n")}\n${text.slice(end)}`)
}
