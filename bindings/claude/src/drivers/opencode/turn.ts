// A turn of a session: the data about it while it runs, and the news in OpenCode's events.

import type { Event, Part } from "@opencode-ai/sdk/v2"
import { SessionError, type SessionLimits, type SessionNews } from "../../driver.js"

/** What a turn is for. */
export type Purpose = "work" | "summary" | "compaction"

/** How much later events may arrive than what they report, in milliseconds. */
const LATENESS = 5000

/** A turn that a session has now. */
export class Turn {
  readonly purpose: Purpose
  /** The number of requests to the model so far, including the request that is being prepared. */
  requests = 0
  /** What it may do and spend; undefined: not known yet. */
  limits: SessionLimits | undefined
  /** What the session had cost before it, in US dollars. */
  costBefore = 0
  /** Why the driver has ended it. */
  failure: SessionError | undefined
  /** True if the frame of the turn has ended, so that the model need not say more. */
  isOver = false
  /** True if the driver has ended it while a request was being prepared, which is not sent. */
  isCut = false
  /** The error of the session that OpenCode has reported. */
  problem: unknown
  /** Aborted when the turn is given up, because the server does not end it. */
  readonly #givenUp = new AbortController()
  #giveUpTimer: NodeJS.Timeout | undefined
  /** The marks that have been seen. */
  readonly #seen = new Set<string>()
  /** The functions that wait until a mark has been seen. */
  readonly #waiting = new Set<() => void>()
  readonly #textParts = new Set<string>()
  readonly #calls = new Set<string>()

  constructor(purpose: Purpose) {
    this.purpose = purpose
  }

  /** Aborts the requests of the turn when it is given up. */
  get signal(): AbortSignal {
    return this.#givenUp.signal
  }

  /** Gives the turn up after this number of milliseconds, unless it ends before. */
  giveUpAfter(milliseconds: number): void {
    this.#giveUpTimer ??= setTimeout(() => this.#givenUp.abort(), milliseconds)
  }

  /** Notes that the turn has ended. */
  end(): void {
    clearTimeout(this.#giveUpTimer)
  }

  /** Waits for something of the turn. Rejects when the turn is given up. */
  async whileHeld<Result>(work: Promise<Result>): Promise<Result> {
    const { signal } = this.#givenUp
    let giveUp: () => void = () => undefined
    const givenUp = new Promise<never>((_, reject) => {
      giveUp = () => reject(this.failure ?? new SessionError("OpenCode's server has not ended the turn"))
    })
    signal.addEventListener("abort", giveUp)
    if (signal.aborted) giveUp()
    try {
      return await Promise.race([work, givenUp])
    } finally {
      signal.removeEventListener("abort", giveUp)
    }
  }

  /** Notes that something has been seen. */
  note(what: string): void {
    this.#seen.add(what)
    for (const look of this.#waiting) look()
  }

  /** Whether something has been seen. */
  hasSeen(what: string): boolean {
    return this.#seen.has(what)
  }

  /** Waits until all of these have been seen, or are too late. */
  seen(all: readonly string[], lateness = LATENESS): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(late)
        this.#waiting.delete(look)
        resolve()
      }
      const late = setTimeout(end, lateness)
      const look = () => {
        if (all.every((what) => this.#seen.has(what))) end()
      }
      this.#waiting.add(look)
      look()
    })
  }

  /** Notes what an event says about the turn. Returns the news in the event; undefined if there is none. */
  take(event: Event): SessionNews | undefined {
    switch (event.type) {
      case "message.updated": {
        const { info } = event.properties
        if (info.role === "assistant" && info.time.completed !== undefined) this.note(told(info.id))
        return undefined
      }
      case "message.part.delta": {
        const { partID, field, delta } = event.properties
        return field === "text" && this.#textParts.has(partID) ? { kind: "text", text: delta } : undefined
      }
      case "message.part.updated":
        return this.#takePart(event.properties.part)
      case "session.status": {
        const { status } = event.properties
        if (status.type !== "retry") return undefined
        const delay = Math.max(0, status.next - Date.now())
        return { kind: "retry", status: undefined, error: status.message, attempt: status.attempt, delay }
      }
      case "session.error":
        this.problem = event.properties.error
        this.note(PROBLEM)
        return undefined
      default:
        return undefined
    }
  }

  #takePart(part: Part): SessionNews | undefined {
    if (part.type === "text") this.#textParts.add(part.id)
    if (part.type !== "tool") return undefined
    const { tool, callID, state } = part
    if (state.status === "running" && !this.#calls.has(callID)) {
      this.#calls.add(callID)
      return { kind: "tool", tool, input: state.input }
    }
    const isEnd = (state.status === "completed" || state.status === "error") && this.#calls.delete(callID)
    return isEnd ? { kind: "toolEnded", tool, failed: state.status === "error" } : undefined
  }
}

/** The prompt has been answered. */
export const ANSWERED = "answered"
/** The conversation has been compacted, and the engine knows it. */
export const COMPACTED = "compacted"
/** OpenCode has reported an error of the session. */
export const PROBLEM = "problem"

/** An event has reported that a message is complete. */
export function told(messageID: string): string {
  return `told ${messageID}`
}

/** The bridge has reported that a message is finished. */
export function reported(messageID: string): string {
  return `reported ${messageID}`
}
