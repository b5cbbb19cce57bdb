// The requests to models, as the engine records them: their tokens, their time and how many messages they
// had.

import type { ModelRequest } from "callstack-core"
import type { Answer } from "./messages.js"

/** The requests of one session, which sends one at a time. */
export class Requests {
  #prepared: { messages: number; at: number } | undefined

  /** Notes that a request with these messages is about to be sent. */
  prepare(messages: readonly unknown[]): void {
    this.#prepared = { messages: messages.length, at: Date.now() }
  }

  /**
   * Returns the request that an answer belongs to; undefined if no request was sent, for example because an
   * error came before it.
   */
  answered({ provider, model, usage, stopReason }: Answer): ModelRequest | undefined {
    const prepared = this.#prepared
    this.#prepared = undefined
    if (prepared === undefined) return undefined
    return {
      model: `${provider}/${model}`,
      uncachedInput: usage.input,
      cacheRead: usage.cacheRead,
      cacheWrite: usage.cacheWrite,
      output: usage.output,
      duration: Date.now() - prepared.at,
      messages: prepared.messages,
      failed: stopReason === "error" || stopReason === "aborted",
    }
  }
}
