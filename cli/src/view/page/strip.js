// @ts-check
// The strip of the requests: a bar for each, as high as its prompt, with the part that was read from a cache.
import { promptOf } from "./model.js"
import { prepare } from "./theme.js"
import { count, element, number } from "./words.js"

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./model.js").Request} Request */
/** @typedef {import("./model.js").Frame} Frame */
/** @typedef {import("./theme.js").Theme} Theme */

/** The room above the highest bar, for the marks of failed requests. */
const HEAD = 10

export class Strip {
  /**
   * @param {Model} model
   * @param {Theme} theme
   */
  constructor(model, theme) {
    this.canvas = /** @type {HTMLCanvasElement} */ (document.getElementById("strip"))
    this.model = model
    this.theme = theme
    this.view = { from: 0, to: 1 }
    /** @type {Frame | null} */
    this.selected = null
  }

  /** Describes the strip in words, which is all that a screen reader gets of it. */
  describe() {
    const total = this.model.total()
    const share = promptOf(total) > 0 ? Math.round((100 * total.cached) / promptOf(total)) : 0
    const failed = total.failed > 0 ? `, ${number(total.failed)} failed (✕)` : ""
    const group = this.model.groupSize > 1 ? `, ${number(this.model.groupSize)} to a bar` : ""
    const texts = [
      element("span", "", `${count(total.requests, "request")}${failed}${group}`),
      element("span", "key cached", `prompt read from the cache: ${share} %`),
      element("span", "key", "rest of the prompt"),
    ]
    document.getElementById("strip-caption")?.replaceChildren(...texts.slice(0, total.requests > 0 ? 3 : 1))
    this.canvas.hidden = total.requests === 0
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.canvas
    const context = prepare(this.canvas, width, height)
    if (!context || width === 0) return
    const { from, to } = this.view
    const scale = width / (to - from)
    const visible = this.model.requests.filter((request) => request.to >= from && request.from <= to)
    const highest = visible.reduce((most, request) => Math.max(most, promptOf(request)), 1)
    const up = (height - HEAD) / highest
    const bars =
      visible.length > width ? columns(visible, from, scale) : visible.map((request) => bar(request, from, scale))
    // Of requests at the same time, the smaller ones stand in front.
    bars.sort((one, other) => other.prompt - one.prompt)
    const { colors } = this.theme
    for (const { x, wide, prompt, cached, failed, frames } of bars) {
      const top = height - Math.max(prompt * up, 1)
      const isOther = this.selected && !frames.has(this.selected.number)
      context.globalAlpha = isOther ? 0.35 : 1
      if (wide > 3) {
        context.fillStyle = colors.card
        context.fillRect(x - 1, top - 1, wide + 2, height - top + 1)
      }
      context.fillStyle = colors.uncached
      context.fillRect(x, top, wide, height - top)
      context.fillStyle = colors.cached
      context.fillRect(x, height - cached * up, wide, cached * up)
      if (failed > 0) cross(context, x + wide / 2, Math.max(top - 6, 4), colors.alarm)
    }
    context.globalAlpha = 1
  }

  /**
   * The request at a point, the one with the smallest prompt if there are several.
   * @param {number} x
   * @returns {Request | null}
   */
  at(x) {
    const { from, to } = this.view
    const scale = (to - from) / Math.max(this.canvas.clientWidth, 1)
    const point = from + x * scale
    const near = this.model.requests.filter((each) => each.from - scale * 2 <= point && each.to + scale * 2 >= point)
    return near.reduce(
      (/** @type {Request | null} */ best, each) => (best && promptOf(best) <= promptOf(each) ? best : each),
      null,
    )
  }
}

/**
 * @param {Request} request
 * @param {number} from
 * @param {number} scale
 */
function bar(request, from, scale) {
  const x = (request.from - from) * scale
  const wide = Math.max((request.to - request.from) * scale, 1.5)
  const { cached, failed, frame } = request
  return { x, wide, prompt: promptOf(request), cached, failed, frames: new Set([frame]) }
}

/**
 * A bar for each column of pixels: as high as the largest prompt in it, with the cached share of all of them.
 * @param {Request[]} requests
 * @param {number} from
 * @param {number} scale
 */
function columns(requests, from, scale) {
  /** @type {Map<number, {largest: number, sum: number, cached: number, failed: number, frames: Set<number>}>} */
  const found = new Map()
  for (const request of requests) {
    const column = Math.round((request.to - from) * scale)
    const sums = found.get(column) ?? { largest: 0, sum: 0, cached: 0, failed: 0, frames: new Set() }
    sums.largest = Math.max(sums.largest, promptOf(request))
    sums.sum += promptOf(request)
    sums.cached += request.cached
    sums.failed += request.failed
    sums.frames.add(request.frame)
    found.set(column, sums)
  }
  return [...found].map(([x, { largest, sum, cached, failed, frames }]) => {
    return { x, wide: 1, prompt: largest, cached: sum > 0 ? (largest * cached) / sum : 0, failed, frames }
  })
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {string} color
 */
function cross(context, x, y, color) {
  context.strokeStyle = color
  context.lineWidth = 1.6
  context.beginPath()
  context.moveTo(x - 3, y - 3)
  context.lineTo(x + 3, y + 3)
  context.moveTo(x + 3, y - 3)
  context.lineTo(x - 3, y + 3)
  context.stroke()
}
