// The events of an orchestrator, for programs and people, and the streams in which they are read.

import type { FrameStatus, Handle, ModelRequest } from "callstack-core"
import type { SessionNews } from "./driver.js"

/** Something that has happened. `frame` is the handle of the frame that it is about. */
export type FlameEvent =
  /** The session of a frame began to work. `again`: it had worked before, and goes on. */
  | { kind: "begun"; frame: Handle; title: string; parent: Handle | undefined; sessionID: string; again: boolean }
  /**
   * A frame was completed, failed, blocked or invalidated, by whomever. `reason`: why, if its agent has not ended it: it was
   * interrupted, stopped or invalidated.
   */
  | { kind: "ended"; frame: Handle; title: string; status: FrameStatus; results: string; reason?: string }
  /** A frame waits for a person. Answer with {@link Flame.answer}, or with `callstack answer` in another terminal. */
  | { kind: "waiting"; frame: Handle; title: string; question: string }
  /** A model has answered a request. */
  | { kind: "usage"; frame: Handle; request: ModelRequest }
  /** A frame, or what is below it, has spent what it may, and is stopped. */
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

/** The number of events that a stream keeps for a reader who is late. Older ones are dropped. */
const KEPT = 10_000

/** Those who listen to events. */
export class Events {
  readonly #listeners = new Set<Listener>()
  /** Listeners that have thrown. The process is warned once of each. */
  readonly #failing = new WeakSet<Listener>()

  /** Adds a listener, and returns a function that removes it. */
  on(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Tells all listeners. What one throws becomes a warning of the process, and reaches nobody else. */
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

  /** Returns the events from now on, until the reader leaves the loop or `signal` is aborted. */
  async *stream(signal: AbortSignal): AsyncGenerator<FlameEvent, void, void> {
    const queue: FlameEvent[] = []
    let wake: () => void = () => undefined
    const remove = this.on((event) => {
      queue.push(event)
      if (queue.length > KEPT) queue.shift()
      wake()
    })
    const aborted = () => wake()
    signal.addEventListener("abort", aborted)
    try {
      for (;;) {
        const event = queue.shift()
        if (event !== undefined) yield event
        else if (signal.aborted) return
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    } finally {
      remove()
      signal.removeEventListener("abort", aborted)
    }
  }
}
