// The context of a frame.

import { readJson } from "./json.js"
import { Native } from "./native.js"
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

/**
 * Returns what of a volatile part has changed, for a conversation that keeps what it was told: a whole newer part would leave the
 * older one beside it. Empty if there is nothing to tell; `now` itself if that is not longer.
 *
 * @param before - The volatile part that the conversation was told last.
 * @param now - The newest one.
 */
export function contextChanges(before: string, now: string): string {
  return Native.get().text("context_changes", undefined, before, now)
}
