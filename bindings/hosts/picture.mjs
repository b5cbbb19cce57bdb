#!/usr/bin/env node
// The picture docs/run.svg: Claude Code under `callstack run` with a scripted model, and below it
// `callstack watch` on the same stack. Both programs are real, and each runs in a pseudo-terminal. The
// screens are drawn as they are.
//
//   node picture.mjs    CALLSTACK is the program

import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { hosts, prepare } from "./hosts.mjs"
import { startModel } from "./model.mjs"
import { Terminal } from "./terminal.mjs"

const program = path.resolve(process.env.CALLSTACK ?? "")
if (!process.env.CALLSTACK) throw new Error("CALLSTACK must be the path of the program callstack")

const NAME = "claude"
const COLUMNS = 100
/** The path that a person would see instead of the temporary folder. */
const SHOWN = "~/shop"
/** The size of a cell, the room around a screen, and the height of the line above it, in pixels. */
const [WIDTH, HEIGHT, MARGIN, HEAD] = [8.4, 18, 14, 26]
const [BACKGROUND, FOREGROUND, FAINT] = ["#16181d", "#d7dae0", "#8b929e"]
/** The colors 0 to 15 of terminals. */
const PALETTE =
  "#16181d #ff7b72 #7ee787 #f2cc60 #79c0ff #d2a8ff #56d4dd #d7dae0 #8b929e #ffa198 #aff5b4 #f8e3a1 #a5d6ff #e2c5ff #b3f0ff #ffffff".split(
    " ",
  )

const push = (title, successCriteria) => ({ calls: [{ name: "push", args: { title, successCriteria } }] })
const pop = (results) => ({ calls: [{ name: "pop", args: { status: "completed", results } }] })
const read = (text, ...files) => ({
  text,
  calls: files.map((file) => ({ name: "Bash", args: { command: `cat ${file}` } })),
})
const SCRIPT = [
  push("Build a shop", "Customers can pay"),
  push("Shopping cart", "Totals are right for all rates"),
  read("The cart adds floats, so totals can be a cent off. I make them integers.", "src/cart.rs"),
  pop("Totals are integers in cents: src/cart.rs, Cart::total(), 9 tests"),
  push("Search", "Results in 50 ms"),
  read("The index is on disk; I keep its head in memory.", "src/search.rs"),
  pop("Median 12 ms, slowest 31 ms: src/search.rs, 4 tests"),
  push("Pay for the cart", "Cards and vouchers work"),
  read("Now the payments: cards go through the provider, vouchers are ours.", "src/pay.rs"),
]
const source = (name) =>
  `// ${name} of the shop\n${"pub fn line(&self) -> u64 { self.cents * self.count }\n".repeat(60)}`
const FILES = {
  "src/cart.rs": source("The cart"),
  "src/search.rs": source("The search"),
  "src/pay.rs": source("The payments"),
}

const root = fs.mkdtempSync(path.join(os.tmpdir(), "picture-"))
const place = { root }
let done = 0
let hold
const held = new Promise((ok) => {
  hold = ok
})
const model = await startModel((request) => {
  if (!request.tools.includes("Bash")) return { text: "{}" }
  if (done < SCRIPT.length) return SCRIPT[done++]
  hold()
  return { text: "Done.", wait: 60_000 }
})
place.url = model.url
const { cwd, env } = prepare(NAME, place, FILES)
hosts[NAME].greet(place)
const open = (words, rows) => new Terminal([program, ...words], { cwd, env, rows, cols: COLUMNS })
const agent = open(["run", ...hosts[NAME].interactive(place, "claude-sonnet-5")], 34)
await agent.waitFor(/^❯/)
agent.type("Build the shop")
await agent.waitFor(/^❯\s*Build the shop/)
agent.type("\r")
await held
const watch = open(["watch"], 13)
await watch.waitFor(/Pay for the cart/)
// The log of the frame, which contains the agent's words.
watch.type("\t\x1b[C\x1b[C")
await watch.waitFor(/Now the payments/)
const picture = draw([
  ["callstack run claude", agent],
  ["callstack watch", watch],
])
for (const terminal of [agent, watch]) terminal.close("SIGTERM")
await Promise.all([agent.ended(), watch.ended()])
await model.close()
fs.rmSync(root, { recursive: true, force: true, maxRetries: 10 })
fs.writeFileSync(new URL("../../docs/run.svg", import.meta.url), picture)

/** The screens of terminals, one below the other, each with its command above it. */
function draw(screens) {
  const heights = screens.map(([, { screen }]) => HEAD + screen.rows * HEIGHT + MARGIN)
  const [width, height] = [COLUMNS * WIDTH + 2 * MARGIN, heights.reduce((sum, one) => sum + one + MARGIN, -MARGIN)]
  const font = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${font}" font-size="14">`,
    `<title>${screens.map(([name]) => name).join(", and beside it ")}</title>`,
  ]
  let top = 0
  for (const [place, [name, terminal]] of screens.entries()) {
    parts.push(
      `<rect y="${top}" width="${width}" height="${heights[place]}" rx="8" fill="${BACKGROUND}"/>`,
      text(MARGIN, top + 19, `$ ${name}`, { color: FAINT }),
      ...Array.from({ length: terminal.screen.rows }, (_, row) =>
        line(terminal.screen, row, top + HEAD + row * HEIGHT),
      ).flat(),
    )
    top += heights[place] + MARGIN
  }
  return `${[...parts, "</svg>"].join("\n")}\n`
}

/** A line of a screen: its backgrounds, and its runs of cells of the same look. */
function line(screen, row, y) {
  const buffer = screen.buffer.active
  const cells = Array.from({ length: screen.cols }, (_, column) => buffer.getLine(buffer.baseY + row)?.getCell(column))
  const runs = []
  for (const [column, cell] of cells.entries()) {
    const look = lookOf(cell)
    const key = JSON.stringify(look)
    if (runs.at(-1)?.key !== key) runs.push({ key, look, column, text: "" })
    runs.at(-1).text += cell?.getChars() || " "
  }
  return runs.flatMap(({ look, column, text: shown }) => {
    const x = MARGIN + column * WIDTH
    const length = (shown.length * WIDTH).toFixed(1)
    const behind =
      look.background &&
      `<rect x="${x.toFixed(1)}" y="${y}" width="${length}" height="${HEIGHT}" fill="${look.background}"/>`
    // Pieces between wide gaps stand at their own columns.
    const pieces = [...shown.replace(place.project, SHOWN).matchAll(/\S+(?: \S+)*/g)]
    return [
      ...(behind ? [behind] : []),
      ...pieces.map(({ 0: piece, index }) => text(x + index * WIDTH, y + 14, piece, look)),
    ]
  })
}

function text(x, y, shown, { color, isBold, isDim }) {
  const safe = shown.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
  const style = `${isBold ? ' font-weight="bold"' : ""}${isDim ? ' fill-opacity=".6"' : ""}`
  return `<text x="${x.toFixed(1)}" y="${y}" textLength="${([...shown].length * WIDTH).toFixed(1)}" fill="${color}"${style} xml:space="preserve">${safe}</text>`
}

/** The look of a cell. */
function lookOf(cell) {
  if (!cell) return { color: FOREGROUND }
  const front = colorOf(cell.isFgRGB(), cell.isFgPalette(), cell.getFgColor()) ?? FOREGROUND
  const back = colorOf(cell.isBgRGB(), cell.isBgPalette(), cell.getBgColor())
  const isTurned = cell.isInverse() !== 0
  return {
    color: isTurned ? (back ?? BACKGROUND) : front,
    background: isTurned ? front : back,
    isBold: cell.isBold() !== 0,
    isDim: cell.isDim() !== 0,
  }
}

/** A color of a terminal in the form of SVG. Undefined: the usual color. */
function colorOf(isRgb, isPalette, value) {
  if (isRgb) return `#${value.toString(16).padStart(6, "0")}`
  if (!isPalette) return undefined
  if (value < 16) return PALETTE[value]
  const gray = value >= 232 ? 8 + (value - 232) * 10 : undefined
  const part = (place) => gray ?? [0, 95, 135, 175, 215, 255][Math.floor((value - 16) / place) % 6]
  return `#${[36, 6, 1].map((place) => part(place).toString(16).padStart(2, "0")).join("")}`
}
