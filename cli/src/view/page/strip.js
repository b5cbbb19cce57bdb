// @ts-check
// The strip of the requests: a bar for each request, as high as its prompt, with the part that was read from
// a cache. Bars of the same time are on top of each other.
import { prepare } from "./theme.js"
import { byId, cachedShare, count, duration, element, number } from "./words.js"

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./model.js").Request} Request */
/** @typedef {import("./model.js").Frame} Frame */
/** @typedef {import("./theme.js").Theme} Theme */

/** The room above the highest bar, for the marks of failed requests, in pixels. */
const HEAD = 10

export class Strip {
  /**
   * @param {Model} model
   * @param {Theme} theme
   */
  constructor(model, theme) {
    this.canvas = byId("strip", HTMLCanvasElement)
    this.model = model
    this.theme = theme
    this.view = { from: 0, to: 1 }
    /** @type {Frame | null} */
    this.selected = null
    /** @type {number | null} The place of the request that the keys have selected. */
    this.current = null
  }

  /**
   * Writes the sums of the strip next to it.
   * @param {boolean} isApart True if the chart below has another axis.
   */
  describe(isApart) {
    const { total } = this.model
    const failed = total.failed > 0 ? `, ${number(total.failed)} failed (✕)` : ""
    const group = this.model.groupSize > 1 ? `, ${number(this.model.groupSize)} to a bar` : ""
    const texts = [
      element("span", "", `${count(total.requests, "request")}${failed}${group}${isApart ? ", by time" : ""}`),
      element("span", "key cached", `prompt read from the cache: ${cachedShare(total)}`),
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
    const columns = this.columns(visible, Math.ceil(width))
    const highest = columns.prompt.reduce((most, prompt) => Math.max(most, prompt), 1)
    const up = (height - HEAD) / highest
    const { colors } = this.theme
    for (const [x, prompt] of columns.prompt.entries()) {
      if (prompt === 0) continue
      const cached = (columns.cached[x] ?? 0) * up
      const top = Math.max(prompt * up, 1)
      context.fillStyle = colors.uncached
      context.fillRect(x, height - top, 1, top)
      context.fillStyle = colors.cached
      context.fillRect(x, height - cached, 1, cached)
    }
    context.fillStyle = colors.accent
    /** @type {Set<number>} The columns with crosses: one cross is drawn in each. */
    const failed = new Set()
    for (const request of visible) {
      const [first, end] = [(request.from - from) * scale, (request.to - from) * scale]
      if (this.selected?.number === request.frame) context.fillRect(first, height - 3, Math.max(end - first, 2), 3)
      if (request.failed > 0) failed.add(Math.round((first + end) / 2))
    }
    crosses(context, failed, HEAD / 2, colors.alarm)
    const current = this.currentRequest()
    if (current) {
      const first = (current.from - from) * scale
      context.strokeStyle = colors.text
      context.lineWidth = 2
      context.strokeRect(first - 1, 1, Math.max((current.to - current.from) * scale, 2) + 2, height - 2)
    }
  }

  /** The request that the keys have selected. */
  currentRequest() {
    return this.current === null ? null : (this.model.requests[this.current] ?? null)
  }

  /**
   * Goes to another request. Returns false if the key does nothing here.
   * @param {string} key
   */
  go(key) {
    const last = this.model.requests.length - 1
    const now = this.current ?? (key === "ArrowLeft" ? last + 1 : -1)
    /** @type {Record<string, number>} */
    const places = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last }
    const place = places[key]
    if (place === undefined || last < 0) return false
    this.current = Math.min(Math.max(place, 0), last)
    return true
  }

  /**
   * The middle of a request in view, in pixels.
   * @param {Request} request
   */
  middleOf(request) {
    const { from, to } = this.view
    const width = this.canvas.clientWidth
    const middle = (((request.from + request.to) / 2 - from) / (to - from)) * width
    return Math.min(Math.max(middle, 0), width)
  }

  /**
   * A request, or several, in lines of words.
   * @param {Request} request
   */
  words(request) {
    const { byNumber, models } = this.model
    const title = request.frame === null ? "" : (byNumber.get(request.frame)?.title ?? "")
    const failures = request.requests > 1 ? `${number(request.failed)} of ${number(request.requests)} failed` : "failed"
    const model = request.model === null ? "several models" : models[request.model] || "unknown model"
    return [
      request.frame === null ? "several frames" : `f${request.frame} ${title}`,
      ...(request.requests > 1 ? [count(request.requests, "request")] : []),
      ...(request.failed > 0 ? [failures] : []),
      `${model}, ${duration(request.to - request.from)}`,
      `prompt ${number(request.prompt)}, ${cachedShare(request)} from the cache`,
      `answer ${number(request.answer)}`,
    ]
  }

  /**
   * The prompts of the requests that ran in each column of pixels, and their cached parts. There is a gap
   * between requests that follow each other, if they are wide enough.
   * @param {Request[]} requests
   * @param {number} width
   */
  columns(requests, width) {
    const prompt = new Float64Array(width)
    const cached = new Float64Array(width)
    const { from, to } = this.view
    const scale = width / (to - from)
    for (const request of requests) {
      const first = Math.max(Math.round((request.from - from) * scale), 0)
      const end = Math.min(Math.round((request.to - from) * scale), width)
      const last = Math.max(end - first > 3 ? end - 1 : end, first + 1)
      for (let x = first; x < last; x++) {
        prompt[x] = (prompt[x] ?? 0) + request.prompt
        cached[x] = (cached[x] ?? 0) + request.cached
      }
    }
    return { prompt, cached }
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
      (/** @type {Request | null} */ best, each) => (best && best.prompt <= each.prompt ? best : each),
      null,
    )
  }
}

/**
 * Draws crosses at these places, as one line.
 * @param {CanvasRenderingContext2D} context
 * @param {Iterable<number>} places
 * @param {number} y
 * @param {string} color
 */
function crosses(context, places, y, color) {
  context.strokeStyle = color
  context.lineWidth = 1.6
  context.beginPath()
  for (const x of places) {
    context.moveTo(x - 3, y - 3)
    context.lineTo(x + 3, y + 3)
    context.moveTo(x + 3, y - 3)
    context.lineTo(x - 3, y + 3)
  }
  context.stroke()
}
