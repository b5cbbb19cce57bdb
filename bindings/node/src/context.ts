// The context of a frame.

import { readJson } from "./json.js"
import type { Report } from "./types.js"

/**
 * The context of a frame: what its agent should see before the next model call. Use either `xml`, or `stable` and
 * `volatile`: both ways carry the same information.
 */
export class Context {
  /** The whole context as one XML document, the stable part first. */
  readonly xml: string
  /**
   * The part that rarely changes, for the system prompt. It keeps its bytes, so that prompt caches stay valid, until a
   * frame is pushed, popped or invalidated, or a chunk that it shows changes.
   */
  readonly stable: string
  /** The part that changes often. Put it after the newest message. */
  readonly volatile: string
  readonly #json: string
  #report: Report | undefined

  /** @internal */
  constructor(xml: string, stable: string, volatile: string, json: string) {
    this.xml = xml
    this.stable = stable
    this.volatile = volatile
    this.#json = json
  }

  /** Which frames and chunks were considered, and how much of each is shown. Parsed on first access. */
  get report(): Report {
    this.#report ??= readJson<Report>(this.#json)
    return this.#report
  }

  /** An upper bound of the tokens of `xml`, and of `stable` and `volatile` together. */
  get tokens(): number {
    return this.report.tokens
  }
}
