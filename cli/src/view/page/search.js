// @ts-check
// The search: frames whose handle, title or texts contain all words.

/** @typedef {import("./model.js").Frame} Frame */
/** @typedef {import("./words.js").Status} Status */

/** Looks for words and statuses. */
export class Search {
  constructor() {
    /** @type {string[]} */
    this.words = []
    /** @type {Set<Status>} The statuses that are shown; none: all. */
    this.statuses = new Set()
    /** @type {Set<Frame>} */
    this.found = new Set()
  }

  isOn() {
    return this.words.length > 0 || this.statuses.size > 0
  }

  /** @param {string} text */
  setText(text) {
    this.words = text
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "")
  }

  /** @param {Frame[]} frames */
  run(frames) {
    this.found = new Set(this.isOn() ? frames.filter((frame) => this.matches(frame)) : [])
  }

  /** @param {Frame} frame */
  matches(frame) {
    if (this.statuses.size > 0 && !this.statuses.has(frame.status)) return false
    if (this.words.length === 0) return true
    return this.words.every((word) => frame.lowercase().includes(word) || frame.handle === word)
  }

  /**
   * The frame that was found after another one, or before it.
   * @param {Frame[]} frames
   * @param {Frame | null} after
   * @param {boolean} isBackward
   * @returns {Frame | null}
   */
  next(frames, after, isBackward) {
    const found = frames.filter((frame) => this.found.has(frame))
    if (isBackward) found.reverse()
    const places = new Map(frames.map((frame, place) => [frame, isBackward ? -place : place]))
    const start = after ? (places.get(after) ?? Number.NEGATIVE_INFINITY) : Number.NEGATIVE_INFINITY
    return found.find((frame) => (places.get(frame) ?? 0) > start) ?? found[0] ?? null
  }
}
