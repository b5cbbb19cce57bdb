// Shows what the time of frames and requests is used for: moments of each frame, and the work of handlers for
// each request.

import { openSync, readSync } from "node:fs"

/** A moment of a frame, in the order in which the moments occur. */
export type Moment =
  /** The parent has called the tool. */
  | "called"
  /** The driver makes the session's ID. */
  | "started"
  /** The driver gets the session's prompt. */
  | "sent"
  /** `query()` is called. */
  | "queried"
  /** The SDK gives its result. */
  | "result"
  /** The last message was read: the session's process has ended. */
  | "ended"
  /** The tool returns to the parent. */
  | "answered"

type Span = [from: number, to: number]

/** The measurements. Times are in milliseconds, without those in which this thread waited for a free core. */
export class Probe {
  /** The work of handlers for each request that has ended. */
  readonly requests: number[] = []
  /** The part of that work for which the session's process waits: hooks and tools. */
  readonly waits: number[] = []
  /** The moments of frames, by their titles. */
  readonly #frames = new Map<string, Partial<Record<Moment, number>>>()
  readonly #titles = new Map<string, string>()
  /** The work for the request that each session makes now, and the part for which its process waits. */
  readonly #work = new Map<string, number>()
  readonly #wait = new Map<string, number>()
  /** The work of this thread that does not count, oldest first. */
  readonly #others: Span[] = []
  readonly #schedule = scheduleFile()
  readonly #buffer = Buffer.alloc(100)

  /** The present time. */
  now(): number {
    return performance.now() - this.#waited()
  }

  /** Notes which session a frame has. */
  name(sessionID: string, title: string): void {
    this.#titles.set(sessionID, title)
  }

  mark(title: string, moment: Moment): void {
    this.#frames.set(title, { ...this.#frames.get(title), [moment]: this.now() })
  }

  markSession(sessionID: string, moment: Moment): void {
    const title = this.#titles.get(sessionID)
    if (title !== undefined) this.mark(title, moment)
  }

  /** Adds the time since `begun` to the work for a session's request. */
  worked(sessionID: string, begun: number, isAwaited = false): void {
    const length = this.#length([begun, this.now()])
    this.#work.set(sessionID, (this.#work.get(sessionID) ?? 0) + length)
    if (isAwaited) this.#wait.set(sessionID, (this.#wait.get(sessionID) ?? 0) + length)
  }

  /** Notes that a session makes its next request, or makes no more requests. */
  nextRequest(sessionID: string): void {
    const work = this.#work.get(sessionID)
    if (work === undefined) return
    this.requests.push(work)
    this.waits.push(this.#wait.get(sessionID) ?? 0)
    this.#work.delete(sessionID)
    this.#wait.delete(sessionID)
  }

  /** Runs work that does not count: work for the measurement, or work within the SDK. */
  without<Result>(work: () => Result): Result {
    const from = this.now()
    const result = work()
    this.#others.push([from, this.now()])
    return result
  }

  /** Returns the time between two moments of each frame that has both. */
  between(from: Moment, to: Moment): number[] {
    return this.#lengths([[from, to]])
  }

  /** Returns the time of each frame that is not spent within the SDK. */
  outside(): number[] {
    return this.#lengths([
      ["called", "queried"],
      ["ended", "answered"],
    ])
  }

  #lengths(pairs: [Moment, Moment][]): number[] {
    return [...this.#frames.values()].flatMap((frame) => {
      const spans = pairs.map(([from, to]): Span => [frame[from] ?? Number.NaN, frame[to] ?? Number.NaN])
      const length = spans.reduce((sum, span) => sum + this.#length(span), 0)
      return Number.isNaN(length) ? [] : [length]
    })
  }

  /** The length of a span, without the work that does not count. */
  #length([from, to]: Span): number {
    let length = to - from
    for (let index = this.#others.length - 1; index >= 0; index--) {
      const [begun, ended] = this.#others[index] as Span
      if (ended <= from) break
      length -= Math.max(0, Math.min(to, ended) - Math.max(from, begun))
    }
    return length
  }

  /**
   * How long this thread has waited for a free core. Without this, other programs on this computer would be
   * measured, too.
   */
  #waited(): number {
    if (this.#schedule === undefined) return 0
    const length = readSync(this.#schedule, this.#buffer, 0, this.#buffer.length, 0)
    return Number(this.#buffer.toString("latin1", 0, length).split(" ")[1]) / 1e6
  }
}

/** On Linux, the file in which the kernel counts the times of this thread. */
function scheduleFile(): number | undefined {
  try {
    return openSync(`/proc/self/task/${process.pid}/schedstat`, "r")
  } catch {
    return undefined
  }
}

/** The probe of this process. */
export const probe = new Probe()
