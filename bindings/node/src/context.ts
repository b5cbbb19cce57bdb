// The context of a frame.

import { type ContextParts, Native } from "./native.js"

/**
 * The context of a frame: what its agent should see before the next model call. Use either `xml`, or `stable`
 * and `volatile`: both ways carry the same information.
 */
export class Context {
  /** The whole context as one XML document, the stable part first. */
  readonly xml: string
  /**
   * The part that rarely changes, for the system prompt. It keeps its bytes, so that prompt caches stay
   * valid, until a frame is pushed, popped or invalidated, or a chunk that it shows changes.
   */
  readonly stable: string
  /** The part that changes often. Put it after the newest message. */
  readonly volatile: string
  /** An upper bound of the tokens of `xml`, and of `stable` and `volatile` together. */
  readonly tokens: number

  /** @internal */
  constructor({ xml, stable, volatile, tokens }: ContextParts) {
    this.xml = xml
    this.stable = stable
    this.volatile = volatile
    this.tokens = tokens
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
