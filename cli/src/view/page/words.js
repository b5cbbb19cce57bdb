// @ts-check
// Numbers, times and statuses in words, and elements with texts. Texts of frames only ever become text nodes.

/** @typedef {"planned" | "in_progress" | "blocked" | "completed" | "failed" | "invalidated"} Status */

/**
 * The statuses in the order of the legend, each with its name and its mark.
 * @type {[Status, string, string][]}
 */
export const STATUSES = [
  ["in_progress", "in progress", "▶"],
  ["blocked", "blocked", "?"],
  ["completed", "completed", "✓"],
  ["failed", "failed", "✕"],
  ["planned", "planned", ""],
  ["invalidated", "invalidated", "–"],
]

/** @type {Map<Status, string>} */
const names = new Map(STATUSES.map(([status, name]) => [status, name]))
/** @type {Map<Status, string>} */
const marks = new Map(STATUSES.map(([status, , mark]) => [status, mark]))

/** @param {Status} status */
export function nameOf(status) {
  return names.get(status) ?? status
}

/** @param {Status} status */
export function markOf(status) {
  return marks.get(status) ?? ""
}

/**
 * A number with its thousands apart: `88,120`.
 * @param {number} value
 */
export function number(value) {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, ",")
}

/**
 * A number in three digits: `88.1k`.
 * @param {number} value
 */
export function short(value) {
  /** @type {[number, string][]} */
  const units = [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ]
  for (const [unit, letter] of units) {
    const scaled = value / unit
    if (scaled >= 0.9995) return `${scaled >= 100 ? Math.round(scaled) : Number(scaled.toPrecision(3))}${letter}`
  }
  return String(Math.round(value))
}

/**
 * A noun behind its number: `1 frame`, `2 frames`.
 * @param {number} value
 * @param {string} noun
 */
export function count(value, noun) {
  return `${number(value)} ${noun}${value === 1 ? "" : "s"}`
}

/**
 * A duration in its two largest units: `1h 20m`.
 * @param {number} milliseconds
 */
export function duration(milliseconds) {
  if (milliseconds < 1000) return `${Math.round(milliseconds)}ms`
  const seconds = milliseconds / 1000
  if (seconds < 10) return `${Number(seconds.toFixed(1))}s`
  const whole = Math.round(seconds)
  /** @type {[number, string, number, string][]} */
  const units = [
    [86400, "d", 3600, "h"],
    [3600, "h", 60, "m"],
    [60, "m", 1, "s"],
  ]
  for (const [large, name, small, smallName] of units) {
    if (whole < large) continue
    const rest = Math.floor((whole % large) / small)
    return `${Math.floor(whole / large)}${name}${rest > 0 ? ` ${rest}${smallName}` : ""}`
  }
  return `${whole}s`
}

/**
 * A time in the time zone of the reader: `2026-11-23 14:03:07`.
 * @param {number} milliseconds since the Unix epoch
 */
export function moment(milliseconds) {
  const date = new Date(milliseconds)
  if (Number.isNaN(date.getTime())) return `${milliseconds} ms`
  /** @param {number} part */
  const two = (part) => String(part).padStart(2, "0")
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/**
 * A cost with as many digits as it needs.
 * @param {number | null} cost
 * @param {boolean} isComplete False: a part of the cost is not known.
 */
export function money(cost, isComplete) {
  if (cost === null || (!isComplete && cost === 0)) return "?"
  const text = cost >= 100 ? cost.toFixed(0) : cost >= 1 ? cost.toFixed(2) : cost.toFixed(4)
  return isComplete ? text : `${text} + ?`
}

/**
 * A new element with a class and a text.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} [className]
 * @param {string} [text]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, className, text) {
  const made = document.createElement(tag)
  if (className) made.className = className
  if (text !== undefined) made.textContent = text
  return made
}

/**
 * The element of the page with an ID.
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} kind
 * @returns {Kind}
 */
export function byId(id, kind) {
  const found = document.getElementById(id)
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} #${id}`)
  return found
}

/**
 * The mark of a status, which is also said in words beside it.
 * @param {Status} status
 */
export function statusMark(status) {
  const mark = element("span", `mark ${status}`, markOf(status))
  mark.setAttribute("aria-hidden", "true")
  return mark
}

/**
 * Replaces what is in an element, unless it is the same: texts that a reader has selected stay selected. The focus stays on
 * the button at its place.
 * @param {HTMLElement} container
 * @param {(Node | string)[]} content
 */
export function replaceContent(container, ...content) {
  const next = container.cloneNode(false)
  if (!(next instanceof HTMLElement)) return
  next.append(...content)
  if (container.isEqualNode(next)) return
  const focused = document.activeElement
  const place = focused instanceof HTMLButtonElement ? [...container.querySelectorAll("button")].indexOf(focused) : -1
  container.replaceChildren(...next.childNodes)
  if (place >= 0) container.querySelectorAll("button")[place]?.focus({ preventScroll: true })
}
