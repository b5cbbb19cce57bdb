// @ts-check
// The places of the frames in the chart: by time, or by tokens.
/** @typedef {import("./model.js").Frame} Frame */
/** @typedef {import("./model.js").Model} Model */
/** @typedef {"time" | "tokens"} Mode */

/**
 * A bar in the chart. Its ends are milliseconds since the beginning of the chart, or tokens.
 * @typedef {object} Box
 * @property {Frame} frame
 * @property {number} from
 * @property {number} to
 * @property {number} row
 */

/**
 * @typedef {object} Layout
 * @property {Mode} mode
 * @property {number} end The end of the last bar; all begin at 0 or later.
 * @property {Box[][]} rows The bars of each row, from left to right; none overlaps another.
 * @property {Map<Frame, Box>} boxes
 */

/**
 * @param {Model} model
 * @param {Mode} mode
 * @returns {Layout}
 */
export function layOut(model, mode) {
  const boxes = mode === "time" ? byTime(model) : byTokens(model)
  /** @type {Box[][]} */
  const rows = []
  for (const box of boxes.values()) {
    while (rows.length <= box.row) rows.push([])
    rows[box.row]?.push(box)
  }
  for (const row of rows) row.sort((one, other) => one.from - other.from)
  return { mode, end: Math.max(mode === "time" ? model.to : model.total.tokens, 1), rows, boxes }
}

/** @param {Model} model */
function byTime(model) {
  /** @type {Map<Frame, Box>} */
  const boxes = new Map()
  for (const frame of model.frames) {
    if (frame.bar) boxes.set(frame, { frame, from: frame.bar.from, to: frame.bar.to, row: frame.bar.row })
  }
  return boxes
}

/**
 * Children are side by side below their parent. The parent's own share is the rest, at the end.
 * @param {Model} model
 */
function byTokens(model) {
  /** @type {Map<Frame, Box>} */
  const boxes = new Map()
  /** @type {Map<Frame | null, number>} Where the next child of a frame begins. */
  const next = new Map()
  for (const frame of model.frames) {
    const { tokens } = frame.total
    if (tokens === 0) continue
    const from = next.get(frame.parent) ?? 0
    boxes.set(frame, { frame, from, to: from + tokens, row: frame.level })
    next.set(frame.parent, from + tokens)
    next.set(frame, from)
  }
  return boxes
}

/**
 * The place of the first bar of a row that ends after a point.
 * @param {Box[]} row
 * @param {number} point
 */
export function firstAfter(row, point) {
  let low = 0
  let high = row.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((row[middle]?.to ?? 0) < point) low = middle + 1
    else high = middle
  }
  return low
}
