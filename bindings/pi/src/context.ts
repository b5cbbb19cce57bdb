// The requests to the model: finished frames are folded, the stable part of the context is in the system
// prompt, and the volatile part comes after the newest message.

import type { Context as FrameContext } from "callstack-core"
import type { Host } from "./host.js"
import type { Message } from "./messages.js"
import { markBefore, replaceText } from "./payload.js"

/** The type of the messages that this extension adds. */
export const MESSAGE_TYPE = "callstack"

/** The parts of a frame's context. */
type Parts = Pick<FrameContext, "stable" | "volatile">

const NONE: Parts = { stable: "", volatile: "" }

/** The requests of one session. */
export class Context {
  readonly #host: Host
  /**
   * The stable part in the system prompt of the present run of the agent. pi keeps that prompt until the
   * person writes again.
   */
  #begun = ""
  /** The context of the request that is being prepared. */
  #context = NONE
  /** Whether that request is the first request of a run: its context was made with the system prompt. */
  #isFirst = false

  constructor(host: Host) {
    this.#host = host
  }

  /** Adds the stable part to the system prompt of a run of the agent. */
  begin(systemPrompt: string): string {
    this.#context = this.#present()
    this.#isFirst = true
    this.#begun = this.#context.stable
    return this.#begun === "" ? systemPrompt : `${systemPrompt}\n\n${this.#begun}`
  }

  /** Folds the messages of a request to an API, and adds the volatile part. */
  prepare(messages: Message[], api: string | undefined): Message[] {
    // Each context is for one request: it can have news that is told once.
    if (!this.#isFirst) this.#context = this.#present()
    this.#isFirst = false
    // Only the request of this API shows how the model thinks, and the folding depends on that: see `finish`.
    const folded = api === "anthropic-messages" ? messages : this.fold(messages)
    const { volatile } = this.#context
    if (volatile === "") return folded
    const [customType, display, timestamp] = [MESSAGE_TYPE, false, Date.now()]
    return [...folded, { role: "custom", customType, content: volatile, display, timestamp }]
  }

  /** Returns a request in the form that the API gets. */
  finish(payload: unknown, api: string | undefined): unknown {
    const { stable, volatile } = this.#context
    let request = payload
    if (api === "anthropic-messages") request = this.#folded("anthropic", request)
    // pi makes the system prompt when the person writes. A text on the heap can have changed since then.
    if (this.#begun !== "" && stable !== this.#begun) request = replaceText(request, this.#begun, stable)
    if (volatile !== "") markBefore(request, volatile)
    return request
  }

  /** Returns messages without the stretches of finished frames. */
  fold(messages: Message[]): Message[] {
    return this.#folded("pi", messages)
  }

  #folded<T>(wire: "anthropic" | "pi", value: T): T {
    const text = JSON.stringify(value)
    const { request } = this.#host.callstack.fold(wire, text)
    return request === text ? value : JSON.parse(request)
  }

  #present(): Parts {
    return this.#host.engine.context(this.#host.sessionID) ?? NONE
  }
}
