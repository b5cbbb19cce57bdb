// The lower end of a terminal: lines that change while frames work, and below them the line that a person
// types. Permanent lines appear above this area, and never damage it.

import { cut, harmless, rowsOf, widthOf } from "./text.js"

/** A terminal, as far as a screen needs it. */
export interface Surface {
  write(text: string): unknown
  /** The size; 0 or undefined if it is not known. */
  columns?: number | undefined
  rows?: number | undefined
}

/** The content of the lower end. */
export interface Area {
  /** Lines that change. Each is cut to one row. */
  live: readonly string[]
  /** The text before the typed line. */
  label: string
  /** The typed line. */
  typed: string
  /** The position of the cursor in the typed line. */
  cursor: number
}

/** Rows as they were written, and the position of the cursor in them. */
interface Drawn {
  rows: readonly string[]
  row: number
  column: number
}

/** The size of a terminal that does not report its size. */
const COLUMNS = 80
const ROWS = 24
/** The maximum number of live lines that are shown. */
const MOST_LIVE = 8

/** How escape sequences change the look of the area. */
export interface Looks {
  live: (text: string) => string
  label: (text: string) => string
}

/** Draws the lower end of a terminal. */
export class Screen {
  readonly #surface: Surface
  readonly #looks: Looks
  #drawn: Drawn | undefined
  /** The width for which the rows were drawn. */
  #width = COLUMNS

  constructor(surface: Surface, looks: Looks = { live: (text) => text, label: (text) => text }) {
    this.#surface = surface
    this.#looks = looks
  }

  /**
   * The columns that a row may use. The last one stays free, because terminals differ in what they do after
   * it.
   */
  get width(): number {
    return Math.max(10, (this.#surface.columns || COLUMNS) - 1)
  }

  /** Writes painted lines permanently, above the area, and draws the area again. */
  draw(area: Area, lines: readonly string[] = []): void {
    const next = layOut(area, this.width, this.#surface.rows || ROWS)
    const above = lines.map((text) => `${text}\r\n`).join("")
    const live = next.rows.slice(0, next.liveRows).map((row) => this.#looks.live(row))
    const [first = "", ...others] = next.rows.slice(next.liveRows)
    const label = first.slice(0, next.label.length)
    const typed = [this.#looks.label(label) + first.slice(next.label.length), ...others]
    const up = next.rows.length - 1 - next.row
    const back = `${up > 0 ? `\u001b[${up}A` : ""}\r${next.column > 0 ? `\u001b[${next.column}C` : ""}`
    this.#surface.write(this.#erasing() + above + [...live, ...typed].join("\r\n") + back)
    this.#drawn = next
    this.#width = this.width
  }

  /** Removes the area. The cursor is at the place where the area began. */
  erase(): void {
    if (this.#drawn !== undefined) this.#surface.write(this.#erasing())
    this.#drawn = undefined
  }

  /** Removes everything from the terminal. */
  clear(): void {
    this.#surface.write("\u001b[2J\u001b[H")
    this.#drawn = undefined
  }

  /** The sequence that moves the cursor to the beginning of the area and removes everything from there on. */
  #erasing(): string {
    if (this.#drawn === undefined) return ""
    const up = this.#rowsAbove(this.#drawn)
    return `${up > 0 ? `\u001b[${up}A` : ""}\r\u001b[J`
  }

  /** The rows above the cursor. Terminals that became narrower have broken rows that were longer. */
  #rowsAbove({ rows, row }: Drawn): number {
    if (this.width >= this.#width) return row
    const columns = this.width + 1
    return rows.slice(0, row).reduce((sum, text) => sum + Math.max(1, Math.ceil(widthOf(text) / columns)), 0)
  }
}

/** Computes the rows of an area, and where the cursor is in them. */
function layOut(
  { live, label, typed, cursor }: Area,
  width: number,
  height: number,
): Drawn & { liveRows: number; label: string } {
  const most = Math.max(0, Math.min(MOST_LIVE, height - 3))
  const shown = live.length <= most ? live : [...live.slice(0, most - 1), `… and ${live.length - most + 1} more`]
  const liveRows = most === 0 ? [] : shown.map((text) => cut(harmless(text), width))
  const head = cut(harmless(label), Math.floor(width / 2))
  const words = [...visible(typed)]
  const all = rowsOf(head + words.join(""), width)
  const untilCursor = rowsOf(head + words.slice(0, [...typed.slice(0, cursor)].length).join(""), width)
  const row = untilCursor.length - 1
  const column = widthOf(untilCursor[row] ?? "")
  const room = Math.max(1, height - 1 - liveRows.length)
  const first = Math.max(0, Math.min(row - Math.floor(room / 2), all.length - room))
  return {
    rows: [...liveRows, ...all.slice(first, first + room)],
    row: liveRows.length + row - first,
    column,
    liveRows: liveRows.length,
    label: first === 0 ? head : "",
  }
}

/**
 * Returns typed text with one visible character for each of its characters, also for those that cannot be
 * seen.
 */
function visible(text: string): string {
  return harmless(text.replace(/\p{Cc}/gu, "\u{FFFD}"))
}
