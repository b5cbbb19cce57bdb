// What an agent should see before its next model call.

import type { Report } from "./types.js"

/** The context of a frame: three texts, and what went into them. */
export class Context {
  /** All of it as one XML document, the static part first. */
  readonly xml: string
  /**
   * The part that seldom changes, for the system prompt, where it is cached: it keeps its bytes until a frame is pushed,
   * popped or invalidated.
   */
  readonly stable: string
  /** The part that changes often, for the place behind the newest message. */
  readonly volatile: string
  readonly #json: string
  #report: Report | undefined

  /** @internal */
  constructor(xml: string, stable: string, volatile: string, json: string) {
    this.xml = xml
    this.stable = stable
    this.volatile = volatile
    this.#json = json
  }

  /** What was considered, and what became of it. Read from JSON when it is first asked for. */
  get report(): Report {
    this.#report ??= JSON.parse(this.#json) as Report
    return this.#report
  }

  /** Upper bound of the tokens, of `xml` as well as of the two parts together. */
  get tokens(): number {
    return this.report.tokens
  }
}
