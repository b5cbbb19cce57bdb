// @ts-check
// The axis of the chart: its steps and its labels.
import { font, prepare } from "./theme.js"
import { number } from "./words.js"

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
 * The smallest good step that is not smaller than another.
 * @param {number} least
 * @param {Mode} mode
 */
function stepOf(least, mode) {
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
 * The step between the lines of an axis.
 * @param {number} from
 * @param {number} to
 * @param {number} width
 * @param {Mode} mode
 */
function stepIn(from, to, width, mode) {
  return stepOf(((to - from) * ROOM) / Math.max(width, 1), mode)
}

/**
 * The places of the lines of an axis.
 * @param {number} from
 * @param {number} to
 * @param {number} width
 * @param {Mode} mode
 */
export function ticks(from, to, width, mode) {
  const step = stepIn(from, to, width, mode)
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
  const step = stepIn(view.from, view.to, width, mode)
  for (const place of ticks(view.from, view.to, width, mode)) {
    const x = ((place - view.from) / (view.to - view.from)) * width
    context.fillStyle = theme.colors.line
    context.fillRect(Math.round(x), 0, 1, height)
    context.fillStyle = theme.colors.faint
    context.fillText(mode === "time" ? timeLabel(place, step) : tokensLabel(place, step), Math.round(x) + 5, height / 2)
  }
}

/**
 * A time as exact as the step between two labels: `5h 6m 12s`, with steps of tenths `5h 6m 12.3s`.
 * @param {number} time
 * @param {number} step
 */
export function timeLabel(time, step) {
  if (time === 0) return "0"
  if (time < SECOND) return `${time}ms`
  const digits = decimals(step / SECOND)
  /** @type {[number, string][]} */
  const parts = [
    [Math.floor(time / DAY), "d"],
    [Math.floor((time % DAY) / HOUR), "h"],
    [Math.floor((time % HOUR) / MINUTE), "m"],
    [Number(((time % MINUTE) / SECOND).toFixed(digits)), "s"],
  ]
  return parts
    .filter(([value]) => value > 0)
    .map(([value, unit]) => `${unit === "s" ? value.toFixed(digits) : value}${unit}`)
    .join(" ")
}

/**
 * A number of tokens as exact as the step between two labels: `1.2345M`.
 * @param {number} tokens
 * @param {number} step
 */
export function tokensLabel(tokens, step) {
  /** @type {[number, string][]} */
  const units = [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ]
  const [unit, letter] = units.find(([unit]) => tokens >= unit) ?? [1, ""]
  const digits = decimals(step / unit)
  // More digits than that are easier to read without a unit.
  return digits > 4 ? number(tokens) : `${Number((tokens / unit).toFixed(digits))}${letter}`
}

/** The digits after the point that a step needs. */
function decimals(/** @type {number} */ step) {
  return Math.max(Math.ceil(-Math.log10(step) - 1e-9), 0)
}
