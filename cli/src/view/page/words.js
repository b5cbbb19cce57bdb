// @ts-check
// Numbers, times and statuses in words, and elements with texts. Texts of frames only become text nodes.

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
 * A number with separated thousands: `88,120`.
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
 * A noun after its number: `1 frame`, `2 frames`.
 * @param {number} value
 * @param {string} noun
 * @param {string} [plural]
 */
export function count(value, noun, plural = `${noun}s`) {
  return `${number(value)} ${value === 1 ? noun : plural}`
}

/**
 * A duration as all commands write it: `850ms`, `12.3s`, `4m 10s`, `1h 20m`.
 * @param {number} milliseconds
 */
export function duration(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000)
  if (milliseconds < 1000) return `${milliseconds}ms`
  if (milliseconds < 60_000) return `${seconds}.${Math.floor((milliseconds % 1000) / 100)}s`
  if (milliseconds < 3_600_000) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`
  return `${Math.floor(seconds / 3600)}h ${Math.floor((seconds % 3600) / 60)}m`
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
 * A cost as `callstack usage` writes it.
 * @param {number | null} cost
 * @param {boolean} isComplete False: a part of the cost is not known.
 */
export function money(cost, isComplete) {
  if (cost === null || (!isComplete && cost === 0)) return "?"
  return isComplete ? cost.toFixed(4) : `${cost.toFixed(4)} + ?`
}

/**
 * The part of prompts that was read from a cache.
 * @param {{prompt: number, cached: number}} usage
 */
export function cachedShare({ prompt, cached }) {
  return prompt > 0 ? `${Math.round((100 * cached) / prompt)} %` : "–"
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
 * The mark of a status. The status is also written in words next to it.
 * @param {Status} status
 */
export function statusMark(status) {
  const mark = element("span", `mark ${status}`, markOf(status))
  mark.setAttribute("aria-hidden", "true")
  return mark
}

/**
 * Replaces the content of an element, unless it is the same: texts that a reader has selected stay selected.
 * The focus stays on the button with the same key. If there is no such button any more, the focus goes to the
 * part of the page around it.
 * @param {HTMLElement} container
 * @param {(Node | string)[]} content
 */
export function replaceContent(container, ...content) {
  const next = container.cloneNode(false)
  if (!(next instanceof HTMLElement)) return
  next.append(...content)
  if (container.isEqualNode(next)) return
  const focused = document.activeElement
  const key = focused instanceof HTMLElement && container.contains(focused) ? focused.dataset["key"] : undefined
  container.replaceChildren(...next.childNodes)
  if (key === undefined) return
  const same = [...container.querySelectorAll("button")].find((button) => button.dataset["key"] === key)
  const heir = same ?? container.closest("section")
  heir?.focus({ preventScroll: true })
}
