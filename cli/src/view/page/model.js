// @ts-check
// The frames and the requests of the page, from its data and from the changes that follow.

/** @typedef {import("./words.js").Status} Status */
/** @typedef {[number, number, number, number, number, number, number, number, number, number | null, boolean]} SumsData */

/**
 * A frame in the data. The names are explained in snapshot.rs.
 * @typedef {object} FrameData
 * @property {number} n
 * @property {number} [p]
 * @property {number[]} [ch]
 * @property {Status} s
 * @property {string} t
 * @property {[number, number | null, number]} [b]
 * @property {number} [w]
 * @property {[number, number | null][]} [k]
 * @property {number} [ko]
 * @property {SumsData} [u]
 * @property {SumsData} [a]
 * @property {number} [c]
 * @property {string} [l]
 * @property {number[]} [d]
 * @property {number} [do]
 * @property {number} [r]
 * @property {boolean} [o]
 * @property {[string, string][]} [x]
 * @property {boolean} [z]
 */

/** @typedef {[number | null, number, number, number, number, number, number, number, number | null]} RequestData */

/**
 * The whole stack, or its changes.
 * @typedef {object} Data
 * @property {number} revision
 * @property {boolean} isWhole
 * @property {number} origin
 * @property {number} to
 * @property {number[]} roots The roots, if their order is not that of their numbers.
 * @property {number | null} active
 * @property {boolean} hasPrices
 * @property {SumsData} total
 * @property {number[]} costliest
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
 * @property {number} tokens
 * @property {number} prompt
 * @property {number} uncached
 * @property {number} cached
 * @property {number} written
 * @property {number} output
 * @property {number} reasoning
 * @property {number | null} cost
 * @property {boolean} isComplete
 */

/**
 * The bar of a frame, with times in milliseconds since the beginning of the chart.
 * @typedef {object} Bar
 * @property {number} from
 * @property {number} to
 * @property {number} row
 * @property {boolean} isOpen True if the frame has not ended: the bar lasts until the end of the chart.
 * @property {[number, number][]} blocked The newest times in which it was blocked.
 * @property {number} older Number of older ones.
 * @property {number} blockedTime The sum of all of them.
 */

/**
 * A request, or neighbouring ones taken together.
 * @typedef {object} Request
 * @property {number | null} frame null: several
 * @property {number} from
 * @property {number} to
 * @property {number} requests
 * @property {number} failed
 * @property {number} prompt
 * @property {number} cached
 * @property {number} answer
 * @property {number | null} model null: several
 */

/** @type {Usage} */
const NOTHING = usage([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, true])

/**
 * @param {SumsData} data
 * @returns {Usage}
 */
function usage(data) {
  const [requests, failed, tokens, prompt, uncached, cached, written, output, reasoning, cost, isComplete] = data
  return { requests, failed, tokens, prompt, uncached, cached, written, output, reasoning, cost, isComplete }
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
    this.own = NOTHING
    this.total = NOTHING
    /** What it has cost with everything below it, as hosts tell it, in US dollars. */
    this.toldCost = 0
    /** Its limits, in words. */
    this.limits = ""
    /** @type {number[]} */
    this.dependencies = []
    this.furtherDependencies = 0
    /** @type {Frame[]} The frames that it depends on, and those that depend on it. */
    this.needs = []
    /** @type {Frame[]} */
    this.neededBy = []
    /** True if it is out of the plan, with everything below it. */
    this.isOut = false
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
    /** @type {string | null} Its title and its texts in lower case, made by the first search. */
    this.letters = null
  }

  /**
   * @param {FrameData} data
   */
  take(data) {
    this.data = data
    this.bar = null
    this.status = data.s
    this.title = data.t
    this.own = data.u ? usage(data.u) : NOTHING
    this.total = data.a ? usage(data.a) : this.own
    this.toldCost = (data.c ?? 0) / 1e6
    this.limits = data.l ?? ""
    this.dependencies = data.d ?? []
    this.furtherDependencies = data.do ?? 0
    this.retryOf = data.r ?? null
    this.texts = data.x ?? []
    this.isCut = data.z ?? false
    this.parentNumber = data.p ?? null
    this.order = data.ch ?? []
    this.letters = null
  }

  /**
   * If the bar has not ended, makes it last until the end of the chart.
   * @param {number} end
   */
  setEnd(end) {
    const data = this.data
    // A bar that has ended stays as it is.
    if (!data?.b || (this.bar && !this.bar.isOpen)) return
    const [from, over, row] = data.b
    const to = over ?? Math.max(end, from)
    const spans = data.k ?? []
    /** @type {[number, number][]} */
    const blocked = spans.map(([begin, over]) => [begin, over ?? to])
    // Only the newest one can still last.
    const [begin, last] = spans.at(-1) ?? [0, 0]
    const blockedTime = (data.w ?? 0) + (last === null ? to - begin : 0)
    this.bar = { from, to, row, isOpen: over === null, blocked, older: data.ko ?? 0, blockedTime }
  }

  /** Its title and its texts in lower case. */
  lowercase() {
    this.letters ??= [this.title, ...this.texts.map(([, text]) => text)].join("\n").toLowerCase()
    return this.letters
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
    /** @type {number[]} */
    this.rootOrder = []
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
    /** The requests of all frames. */
    this.total = NOTHING
    /** @type {Frame[]} The frames whose own requests cost most. */
    this.costliest = []
    this.merge([data])
  }

  /**
   * Takes the whole stack, or changes of it, in their order.
   * @param {Data[]} changes
   */
  merge(changes) {
    for (const data of changes) this.take(data)
    this.connect()
    const last = changes.at(-1)
    this.costliest = (last?.costliest ?? []).flatMap((number) => this.byNumber.get(number) ?? [])
  }

  /** @param {Data} data */
  take(data) {
    this.revision = data.revision
    this.origin = data.origin
    this.to = data.to
    this.active = data.active
    this.hasPrices = data.hasPrices
    this.rootOrder = data.roots
    this.total = usage(data.total)
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
  }

  /** Finds the roots, the children and the order of all frames. */
  connect() {
    this.roots = []
    for (const frame of this.byNumber.values()) {
      frame.children = []
      frame.needs = []
      frame.neededBy = []
      frame.setEnd(this.to)
    }
    const numbers = [...this.byNumber.keys()].sort((one, other) => one - other)
    for (const key of numbers) {
      const frame = this.byNumber.get(key)
      if (!frame) continue
      frame.parent = frame.parentNumber === null ? null : (this.byNumber.get(frame.parentNumber) ?? null)
      const siblings = frame.parent ? frame.parent.children : this.roots
      siblings.push(frame)
      for (const number of frame.dependencies) {
        const other = this.byNumber.get(number)
        if (!other) continue
        frame.needs.push(other)
        other.neededBy.push(frame)
      }
    }
    arrange(this.roots, this.rootOrder)
    this.frames = []
    const rest = [...this.roots].reverse()
    for (let frame = rest.pop(); frame; frame = rest.pop()) {
      frame.level = frame.parent ? frame.parent.level + 1 : 0
      frame.isOut = frame.data?.o === true || frame.parent?.isOut === true
      arrange(frame.children, frame.order)
      this.frames.push(frame)
      for (const child of frame.children.toReversed()) rest.push(child)
    }
  }
}

/**
 * Brings frames, which are in the order of their numbers, into another order, if another order is given.
 * @param {Frame[]} frames
 * @param {number[]} order
 */
function arrange(frames, order) {
  if (order.length === 0) return
  const places = new Map(order.map((number, place) => [number, place]))
  frames.sort((one, other) => (places.get(one.number) ?? 0) - (places.get(other.number) ?? 0))
}

/**
 * @param {RequestData} data
 * @returns {Request}
 */
function requestOf([frame, from, to, requests, failed, prompt, cached, answer, model]) {
  return { frame, from, to, requests, failed, prompt, cached, answer, model }
}
