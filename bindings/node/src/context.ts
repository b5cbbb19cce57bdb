// The context of a frame.

import type { HeldContext } from "./held.js"
import { Native } from "./native.js"

/**
 * The context of a frame: what its agent should see before the next model call. Use either `xml`, or `stable`
 * and `volatile`: both ways carry the same information. A text is read from the library when it is asked for,
 * and stays readable after the stack is closed.
 */
export class Context {
  readonly #held: HeldContext

  /** @internal */
  constructor(held: HeldContext) {
    this.#held = held
  }

  /** The whole context as one XML document, the stable part first. */
  get xml(): string {
    return this.#held.xml
  }

  /**
   * The part that rarely changes, for the system prompt. It keeps its bytes, so that prompt caches stay
   * valid, until a frame is pushed, popped or invalidated, or a chunk that it shows changes.
   */
  get stable(): string {
    return this.#held.stable
  }

  /** The part that changes often. Put it after the newest message. */
  get volatile(): string {
    return this.#held.volatile
  }

  /** An upper bound of the tokens of `xml`, and of `stable` and `volatile` together. */
  get tokens(): number {
    return this.#held.tokens
  }

  /** Returns all texts and the tokens, for `JSON.stringify`. */
  toJSON(): { xml: string; stable: string; volatile: string; tokens: number } {
    const { xml, stable, volatile, tokens } = this.#held
    return { xml, stable, volatile, tokens }
  }
}

/**
 * Returns what has changed in a volatile part, for a conversation that keeps what it was told: a whole new
 * part would leave the older one beside it. Empty if nothing has changed; `now` itself if that is not longer.
 *
 * @param before - The volatile part that the conversation was told last.
 * @param now - The newest one.
 */
export function contextChanges(before: string, now: string): string {
  return Native.get().text("context_changes", undefined, before, now)
}
