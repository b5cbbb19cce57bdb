// Signals: the first one stops everything so that it can be resumed, the second one ends the program at once.

import { Exit, type ExitCode } from "./exit.js"

/** The signals that end the program, and its exit codes. */
const CODES = { SIGINT: Exit.interrupted, SIGTERM: Exit.terminated, SIGHUP: Exit.hangup } as const

/** The number of milliseconds after which a person is told that not everything has ended. */
export const PATIENCE = 10_000

/** Waits for signals. */
export class Interrupts {
  /** Stops what runs. */
  readonly #stop: (code: ExitCode) => Promise<void>
  /** Tells the person something. */
  readonly #tell: (text: string) => void
  #isStopping = false
  #isLeaving = false

  constructor(stop: (code: ExitCode) => Promise<void>, tell: (text: string) => void) {
    this.#stop = stop
    this.#tell = tell
    for (const [signal, code] of Object.entries(CODES)) process.on(signal, () => void this.end(code))
  }

  /** True while everything is stopped, before the program ends. */
  get isStopping(): boolean {
    return this.#isStopping
  }

  /** Stops everything and ends the program; at once if this was requested before. */
  async end(code: ExitCode): Promise<void> {
    if (this.#isStopping || this.#isLeaving) process.exit(code)
    this.#isStopping = true
    try {
      await patiently(this.#stop(code), this.#tell)
    } finally {
      process.exit(code)
    }
  }

  /**
   * Waits for the last work of a program that ends without a signal. From now on a signal ends it at once.
   */
  async leave(lastWork: () => Promise<void>): Promise<void> {
    this.#isLeaving = true
    await patiently(lastWork(), this.#tell)
  }
}

/** Waits for an end. Tells a person if this takes long. */
export async function patiently(work: Promise<void>, tell: (text: string) => void): Promise<void> {
  const late = setTimeout(() => tell("not everything has ended after 10 seconds; Ctrl-C ends at once"), PATIENCE)
  try {
    await work
  } finally {
    clearTimeout(late)
  }
}
