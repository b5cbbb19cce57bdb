// Adds contexts to model requests: the stable part to the system prompt, the volatile part after the newest
// message.

import type { PluginInput } from "@opencode-ai/plugin"
import type { Message, Part } from "@opencode-ai/sdk"
import type { Context as FrameContext } from "callstack-core"

/** OpenCode's helper agents. Their requests get no context. */
const HELPERS = ["title", "summary", "compaction"]

/** A message with its parts, as OpenCode passes it to plugins. */
export interface Entry {
  info: Message
  parts: Part[]
}

/** The parts of a frame's context. */
type Parts = Pick<FrameContext, "stable" | "volatile">

/** The source of the contexts. */
export interface ContextSource {
  /** Returns the present context of a session; undefined if the session has no context. */
  context(sessionID: string): Parts | undefined | Promise<Parts | undefined>
}

/** Adds the contexts of frames to the requests of their sessions. */
export class Context {
  /** Sessions whose next request is for a compaction; it gets no context. */
  readonly compacting = new Set<string>()
  readonly #source: ContextSource
  readonly #client: PluginInput["client"]
  /** The contexts of requests in preparation, by session, so that both parts come from the same revision. */
  readonly #begun = new Map<string, Parts | undefined>()
  #helperPrompts: Promise<string[]> | undefined

  constructor(source: ContextSource, client: PluginInput["client"]) {
    this.#source = source
    this.#client = client
  }

  /**
   * Requests the prompts of the helper agents early, so that {@link Context.addStable} does not wait for
   * them.
   */
  prepare(): Promise<string[]> {
    this.#helperPrompts ??= this.#readHelperPrompts()
    // Try again next time. The caller that awaits the promise gets the error.
    this.#helperPrompts.catch(() => (this.#helperPrompts = undefined))
    return this.#helperPrompts
  }

  /** Adds the stable part to a system prompt, unless it is the prompt of a helper agent. */
  async addStable(sessionID: string, system: string[]): Promise<void> {
    const prompts = await this.prepare()
    if (prompts.some((prompt) => system[0]?.startsWith(prompt))) return
    const begun = this.#begun.has(sessionID)
    const context = begun ? this.#begun.get(sessionID) : await this.#source.context(sessionID)
    this.#begun.delete(sessionID)
    if (context !== undefined) system.push(context.stable)
  }

  /** Adds the volatile part after the newest message, for this request only. */
  async addVolatile(messages: Entry[]): Promise<void> {
    const sessionID = messages[0]?.info.sessionID
    if (sessionID === undefined || this.compacting.delete(sessionID)) return
    const user = messages.findLast(({ info }) => info.role === "user")
    const context = await this.#source.context(sessionID)
    this.#begun.set(sessionID, context)
    if (user === undefined || context === undefined || context.volatile === "") return
    const messageID = `${user.info.id}-stack`
    const part = {
      id: `${messageID}-now`,
      sessionID,
      messageID,
      type: "text" as const,
      text: context.volatile,
      synthetic: true,
    }
    messages.push({ info: { ...user.info, id: messageID }, parts: [part] })
  }

  async #readHelperPrompts(): Promise<string[]> {
    const { data } = await this.#client.app.agents()
    if (data === undefined) throw new Error("OpenCode did not return its list of agents")
    const helpers = data.filter(({ name }) => HELPERS.includes(name))
    return helpers.map(({ prompt }) => prompt ?? "").filter((prompt) => prompt !== "")
  }
}
