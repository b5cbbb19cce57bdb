// Signals: the first one stops everything so that it can be resumed, the second one ends the program at once.

import { Exit, type ExitCode } from "./exit.js"

/** The signals that end the program, and its exit codes. */
const CODES = { SIGINT: Exit.interrupted, SIGTERM: Exit.terminated, SIGHUP: Exit.hangup } as const

/** Waits for signals. */
export class Interrupts {
  /** Stops what runs. */
  readonly #stop: (code: ExitCode) => Promise<void>
  #isStopping = false

  constructor(stop: (code: ExitCode) => Promise<void>) {
    this.#stop = stop
    for (const [signal, code] of Object.entries(CODES)) process.on(signal, () => void this.end(code))
  }

  /** True while everything is stopped, before the program ends. */
  get isStopping(): boolean {
    return this.#isStopping
  }

  /** Stops everything and ends the program; at once if that was asked before. */
  async end(code: ExitCode): Promise<void> {
    if (this.#isStopping) process.exit(code)
    this.#isStopping = true
    try {
      await this.#stop(code)
    } finally {
      process.exit(code)
    }
  }
}
