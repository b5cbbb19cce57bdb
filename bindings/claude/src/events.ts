// The events of an orchestrator, for programs and people, and the streams from which they are read.

import type { FrameStatus, Handle, ModelRequest } from "callstack-core"
import type { SessionNews } from "./driver.js"

/** Something that has happened. `frame` is the handle of the frame that it is about. */
export type FlameEvent =
  /** The session of a frame began to work. `again`: it had worked before, and resumes. */
  | { kind: "begun"; frame: Handle; title: string; parent: Handle | undefined; sessionID: string; again: boolean }
  /**
   * A frame was completed, failed, blocked or invalidated, no matter which actor did it. `reason`: why it
   * ended, if its agent has not ended it: it was interrupted, stopped or invalidated.
   */
  | { kind: "ended"; frame: Handle; title: string; status: FrameStatus; results: string; reason?: string }
  /**
   * A frame waits for a person. Answer with {@link Flame.answer}, or with `callstack answer` in another
   * terminal.
   */
  | { kind: "waiting"; frame: Handle; title: string; question: string }
  /** A model has answered a request. */
  | { kind: "usage"; frame: Handle; request: ModelRequest }
  /** A frame, or the frames below it, have spent what they may spend, and are stopped. */
  | { kind: "overspent"; frame: Handle; reason: string }
  /** A line for a log. */
  | {
      kind: "log"
      frame: undefined
      level: "debug" | "info" | "warn" | "error"
      message: string
      data: Record<string, unknown>
    }
  | (SessionNews & { frame: Handle })

/** Receives events. */
export type Listener = (event: FlameEvent) => void

/** The number of events that a stream keeps for a slow reader. Older events are dropped. */
const KEPT = 10_000

/** The listeners to events. */
export class Events {
  readonly #listeners = new Set<Listener>()
  /** Listeners that have thrown. The process is warned once for each listener. */
  readonly #failing = new WeakSet<Listener>()

  /** Adds a listener, and returns a function that removes it. */
  on(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Calls all listeners. If a listener throws, the exception becomes a warning of the process, and does not
   * reach other code.
   */
  emit(event: FlameEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch (error) {
        this.#warn(listener, `a listener has failed at an event "${event.kind}": ${String(error)}`)
      }
    }
  }

  #warn(listener: Listener, message: string): void {
    if (this.#failing.has(listener)) return
    this.#failing.add(listener)
    process.emitWarning(message, "FlameWarning")
  }

  /**
   * Returns the events from now on, until the reader leaves the loop or `signal` is aborted. If more than
   * 10,000 are unread, the oldest of them are dropped.
   */
  stream(signal: AbortSignal): AsyncIterableIterator<FlameEvent, void, void> {
    const stream = new Stream()
    const remove = this.on((event) => stream.take(event))
    const end = () => {
      remove()
      signal.removeEventListener("abort", end)
      stream.end()
    }
    stream.left = end
    if (signal.aborted) end()
    else signal.addEventListener("abort", end)
    return stream
  }
}

/** Events for one reader. */
class Stream implements AsyncIterableIterator<FlameEvent, void, void> {
  /** Called when the reader leaves. */
  left: () => void = () => undefined
  readonly #unread: FlameEvent[] = []
  /** The reads that wait for an event. */
  readonly #waiting: ((result: IteratorResult<FlameEvent, void>) => void)[] = []
  #isEnded = false

  /** Takes an event for the reader. */
  take(event: FlameEvent): void {
    const read = this.#waiting.shift()
    if (read !== undefined) {
      read({ done: false, value: event })
      return
    }
    this.#unread.push(event)
    if (this.#unread.length > KEPT) this.#unread.shift()
  }

  /** Ends the stream after the unread events. */
  end(): void {
    this.#isEnded = true
    for (const read of this.#waiting.splice(0)) read({ done: true, value: undefined })
  }

  next(): Promise<IteratorResult<FlameEvent, void>> {
    const value = this.#unread.shift()
    if (value !== undefined) return Promise.resolve({ done: false, value })
    if (this.#isEnded) return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  return(): Promise<IteratorResult<FlameEvent, void>> {
    this.#unread.length = 0
    this.left()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
