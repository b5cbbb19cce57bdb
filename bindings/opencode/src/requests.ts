// The requests to models, as the engine records them: their tokens, their time and how many messages they
// had.

import type { AssistantMessage, Message } from "@opencode-ai/sdk"
import type { ModelRequest } from "callstack-core"

/** A request that OpenCode has prepared. Times are in milliseconds since the Unix epoch. */
interface Prepared {
  model: string
  messages: number
  at: number
  /** When the last tool that its answer calls began. */
  calledAt?: number
}

/**
 * The requests of all sessions that have no answer yet. OpenCode also stores messages of assistants that no
 * model has written, such as the output of a person's shell command and the copies in a forked session. So a
 * message counts only if OpenCode has prepared a request for it.
 */
export class Requests {
  readonly #prepared = new Map<string, Prepared[]>()

  /** Notes that a request with these messages is about to be sent. A session sends one at a time. */
  prepare(messages: readonly { info: Message }[]): void {
    const asked = messages.findLast(({ info }) => info.role === "user")?.info
    if (asked?.role !== "user") return
    const { providerID, modelID } = asked.model
    const request = { model: modelName(providerID, modelID), messages: messages.length, at: Date.now() }
    this.#prepared.set(asked.sessionID, [...(this.#prepared.get(asked.sessionID) ?? []), request])
  }

  /** Notes that the answer to the newest request of a session calls a tool. */
  toolCalled(sessionID: string): void {
    const newest = this.#prepared.get(sessionID)?.at(-1)
    if (newest !== undefined) newest.calledAt = Date.now()
  }

  /** Returns the request that has failed and that OpenCode repeats; undefined if there is no such request. */
  failed(sessionID: string): ModelRequest | undefined {
    const newest = this.#prepared.get(sessionID)?.at(-1)
    return newest && { model: newest.model, messages: newest.messages, failed: true }
  }

  /**
   * Returns the request that a finished message answers, the first time; undefined if no model has written
   * it.
   */
  answered({
    sessionID,
    providerID,
    modelID,
    time,
    tokens,
    error,
    finish,
    summary,
  }: AssistantMessage): ModelRequest | undefined {
    const { created, completed = created } = time
    const prepared = this.#prepared.get(sessionID) ?? []
    // OpenCode makes the message of a compaction after it has prepared the request, and other messages before
    // it.
    const request = prepared.findLast(({ at }) => at <= completed && (created <= at || summary === true))
    if (request === undefined) return undefined
    // OpenCode finishes a message when its tools have ended, but the answer itself ended when the last tool
    // began.
    const duration = (request.calledAt ?? completed) - created
    this.#prepared.set(
      sessionID,
      prepared.filter(({ at }) => at > completed),
    )
    return {
      model: modelName(providerID, modelID),
      uncachedInput: tokens.input,
      cacheRead: tokens.cache.read,
      cacheWrite: tokens.cache.write,
      output: tokens.output,
      reasoning: tokens.reasoning,
      duration,
      messages: request.messages,
      // A prompt that is too long leaves a message without an error, because OpenCode compacts and asks
      // again.
      failed: error !== undefined || finish === undefined,
    }
  }

  /** Forgets a session. */
  forget(sessionID: string): void {
    this.#prepared.delete(sessionID)
  }
}

/** Returns OpenCode's name of a model, such as `anthropic/claude-sonnet-4-5`. */
function modelName(providerID: string, modelID: string): string {
  return `${providerID}/${modelID}`
}
