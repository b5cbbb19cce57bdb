// @ts-check
// The frames and the requests of the page, from its data and from the changes that follow.

/** @typedef {import("./words.js").Status} Status */
/** @typedef {[number, number, number, number, number, number, number, number, number | null, boolean]} SumsData */

/**
 * A frame in the data. The names are explained in snapshot.rs.
 * @typedef {object} FrameData
 * @property {number} n
 * @property {number} [p]
 * @property {number[]} [ch]
 * @property {Status} s
 * @property {string} t
 * @property {[number, number, number]} [b]
 * @property {[number, number][]} [k]
 * @property {SumsData} [u]
 * @property {SumsData} [a]
 * @property {number[]} [d]
 * @property {number} [r]
 * @property {[string, string][]} [x]
 * @property {boolean} [z]
 */

/** @typedef {[number, number, number, number, number, number, number, number, number, number, number]} RequestData */

/**
 * All of a stack, or what has changed.
 * @typedef {object} Data
 * @property {number} revision
 * @property {boolean} isWhole
 * @property {number} origin
 * @property {number} to
 * @property {number} rows
 * @property {number | null} active
 * @property {boolean} hasPrices
 * @property {string[]} models
 * @property {FrameData[]} frames
 * @property {number} groupSize
 * @property {number} requestsFrom
 * @property {RequestData[]} requests
 */

/**
 * Sums of requests.
 * @typedef {object} Usage
 * @property {number} requests
 * @property {number} failed
 * @property {number} uncached
 * @property {number} cached
 * @property {number} written
 * @property {number} output
 * @property {number} reasoning
 * @property {number} duration
 * @property {number | null} cost
 * @property {boolean} isComplete
 */

/**
 * The bar of a frame, with times in milliseconds since the beginning of the chart.
 * @typedef {object} Bar
 * @property {number} from
 * @property {number} to
 * @property {number} row
 * @property {[number, number][]} blocked
 */

/**
 * A request, or neighbouring ones taken together.
 * @typedef {object} Request
 * @property {number} frame
 * @property {number} from
 * @property {number} to
 * @property {number} requests
 * @property {number} failed
 * @property {number} uncached
 * @property {number} cached
 * @property {number} written
 * @property {number} output
 * @property {number} reasoning
 * @property {number} model
 */

/** @type {Usage} */
const NOTHING = usage([0, 0, 0, 0, 0, 0, 0, 0, 0, true])

/**
 * @param {SumsData} sums
 * @returns {Usage}
 */
function usage([requests, failed, uncached, cached, written, output, reasoning, duration, cost, isComplete]) {
  return { requests, failed, uncached, cached, written, output, reasoning, duration, cost, isComplete }
}

/**
 * All tokens of requests: those of prompts and those of answers.
 * @param {Usage | Request} usage
 */
export function tokensOf(usage) {
  return promptOf(usage) + usage.output + usage.reasoning
}

/** @param {Usage | Request} usage */
export function promptOf(usage) {
  return usage.uncached + usage.cached + usage.written
}

/** A frame. Its object stays the same when the frame changes. */
export class Frame {
  /** @param {number} n the number of its handle */
  constructor(n) {
    this.number = n
    this.handle = `f${n}`
    /** @type {Frame | null} */
    this.parent = null
    /** @type {Frame[]} */
    this.children = []
    this.level = 0
    /** @type {Status} */
    this.status = "planned"
    this.title = ""
    /** @type {Bar | null} */
    this.bar = null
    this.isOpen = false
    this.own = NOTHING
    this.total = NOTHING
    /** @type {number[]} */
    this.dependencies = []
    /** @type {number | null} */
    this.retryOf = null
    /** @type {[string, string][]} */
    this.texts = []
    this.isCut = false
    /** @type {number | null} */
    this.parentNumber = null
    /** @type {number[]} */
    this.order = []
    /** @type {FrameData | null} */
    this.data = null
  }

  /**
   * @param {FrameData} data
   */
  take(data) {
    this.data = data
    this.bar = null
    this.status = data.s
    this.title = data.t
    this.isOpen = data.s === "in_progress" || data.s === "blocked"
    this.own = data.u ? usage(data.u) : NOTHING
    this.total = data.a ? usage(data.a) : this.own
    this.dependencies = data.d ?? []
    this.retryOf = data.r ?? null
    this.texts = data.x ?? []
    this.isCut = data.z ?? false
    this.parentNumber = data.p ?? null
    this.order = data.ch ?? []
  }

  /**
   * Lets the bar last until the end of the chart, if it has not ended.
   * @param {number} end
   */
  setEnd(end) {
    const bar = this.data?.b
    // A bar that has ended stays as it is.
    if (!bar || (this.bar && !this.isOpen)) return
    const [from, barEnd, row] = bar
    const to = this.isOpen ? Math.max(end, from) : barEnd
    /** @type {[number, number][]} */
    const blocked = (this.data?.k ?? []).map(([begin, over]) => [begin, this.isOpen && over === 0 ? to : over])
    this.bar = { from, to, row, blocked }
  }

  /** The time in which it was blocked, in milliseconds. */
  blockedTime() {
    return (this.bar?.blocked ?? []).reduce((sum, [from, to]) => sum + to - from, 0)
  }
}

/** All frames and requests. */
export class Model {
  /** @param {Data} data */
  constructor(data) {
    /** @type {Map<number, Frame>} */
    this.byNumber = new Map()
    /** @type {Frame[]} The frames, parents before their children. */
    this.frames = []
    /** @type {Frame[]} */
    this.roots = []
    /** @type {Request[]} */
    this.requests = []
    /** @type {string[]} */
    this.models = []
    this.revision = 0
    this.origin = 0
    this.to = 0
    this.groupSize = 1
    /** @type {number | null} */
    this.active = null
    this.hasPrices = false
    this.merge(data)
  }

  /**
   * Takes all of the stack, or what has changed.
   * @param {Data} data
   */
  merge(data) {
    this.revision = data.revision
    this.origin = data.origin
    this.to = data.to
    this.active = data.active
    this.hasPrices = data.hasPrices
    this.models = data.models
    this.groupSize = data.groupSize
    const known = this.byNumber
    if (data.isWhole) this.byNumber = new Map()
    for (const frameData of data.frames) {
      const frame = known.get(frameData.n) ?? new Frame(frameData.n)
      frame.take(frameData)
      this.byNumber.set(frameData.n, frame)
    }
    this.requests.length = Math.min(this.requests.length, data.requestsFrom)
    for (const request of data.requests) this.requests.push(requestOf(request))
    this.connect()
  }

  /** Finds the roots, the children and the order of all frames. */
  connect() {
    this.roots = []
    for (const frame of this.byNumber.values()) {
      frame.children = []
      frame.setEnd(this.to)
    }
    const numbers = [...this.byNumber.keys()].sort((one, other) => one - other)
    for (const key of numbers) {
      const frame = this.byNumber.get(key)
      if (!frame) continue
      frame.parent = frame.parentNumber === null ? null : (this.byNumber.get(frame.parentNumber) ?? null)
      const siblings = frame.parent ? frame.parent.children : this.roots
      siblings.push(frame)
    }
    this.frames = []
    const rest = [...this.roots].reverse()
    for (let frame = rest.pop(); frame; frame = rest.pop()) {
      frame.level = frame.parent ? frame.parent.level + 1 : 0
      if (frame.order.length > 0) {
        const places = new Map(frame.order.map((child, place) => [child, place]))
        frame.children.sort((one, other) => (places.get(one.number) ?? 0) - (places.get(other.number) ?? 0))
      }
      this.frames.push(frame)
      for (const child of frame.children.toReversed()) rest.push(child)
    }
  }

  /** The requests of all frames. */
  total() {
    const sum = { ...NOTHING }
    for (const { total } of this.roots) {
      sum.requests += total.requests
      sum.failed += total.failed
      sum.uncached += total.uncached
      sum.cached += total.cached
      sum.written += total.written
      sum.output += total.output
      sum.reasoning += total.reasoning
      sum.duration += total.duration
      sum.cost = sum.cost === null || total.cost === null ? null : sum.cost + total.cost
      sum.isComplete = sum.isComplete && total.isComplete
    }
    return sum
  }
}

/**
 * @param {RequestData} data
 * @returns {Request}
 */
function requestOf([frame, from, to, requests, failed, uncached, cached, written, output, reasoning, model]) {
  return { frame, from, to, requests, failed, uncached, cached, written, output, reasoning, model }
}
