// @ts-check
// The axis of the chart: its steps and its labels.
import { font, prepare } from "./theme.js"
import { duration, short } from "./words.js"

/** @typedef {import("./layout.js").Mode} Mode */
/** @typedef {import("./theme.js").Theme} Theme */

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Steps of times above a second, in milliseconds. */
const TIMES = [1, 2, 5, 10, 15, 30]
  .map((step) => step * SECOND)
  .concat([1, 2, 5, 10, 15, 30].map((step) => step * MINUTE))
  .concat([1, 2, 3, 6, 12].map((step) => step * HOUR))
/** The room of a label, in pixels. */
const ROOM = 84

/**
 * The smallest good step that is no smaller than another.
 * @param {number} least
 * @param {Mode} mode
 */
export function stepOf(least, mode) {
  if (mode === "time" && least > SECOND / 2) {
    const step = TIMES.find((time) => time >= least)
    if (step) return step
    return DAY * decimal(least / DAY)
  }
  return Math.max(decimal(least), 1)
}

/**
 * 1, 2 or 5 times a power of ten.
 * @param {number} least
 */
function decimal(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)))
  const factor = [1, 2, 5].find((factor) => factor * power >= least) ?? 10
  return factor * power
}

/**
 * The places of the lines of an axis.
 * @param {number} from
 * @param {number} to
 * @param {number} width
 * @param {Mode} mode
 */
export function ticks(from, to, width, mode) {
  const step = stepOf(((to - from) * ROOM) / Math.max(width, 1), mode)
  /** @type {number[]} */
  const places = []
  for (let place = Math.ceil(from / step) * step; place <= to && places.length < 200; place += step) places.push(place)
  return places
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{from: number, to: number}} view
 * @param {Mode} mode
 * @param {Theme} theme
 */
export function drawAxis(canvas, view, mode, theme) {
  const { clientWidth: width, clientHeight: height } = canvas
  const context = prepare(canvas, width, height)
  if (!context) return
  context.font = font(11)
  context.textBaseline = "middle"
  for (const place of ticks(view.from, view.to, width, mode)) {
    const x = ((place - view.from) / (view.to - view.from)) * width
    context.fillStyle = theme.colors.line
    context.fillRect(Math.round(x), 0, 1, height)
    context.fillStyle = theme.colors.faint
    context.fillText(
      place === 0 ? "0" : mode === "time" ? duration(place) : short(place),
      Math.round(x) + 5,
      height / 2,
    )
  }
}
