// A session's context in its requests: the stable part in the system prompt, the volatile part behind the newest message.

import type { Message, Part } from "@opencode-ai/sdk"
import type { SessionContext } from "callstack-core"
import type { Host } from "./host.js"

/** Agents of OpenCode's own whose requests are no work on a frame. */
const HELPERS = ["title", "summary", "compaction"]

/** A message with its parts, as OpenCode hands it to plugins. */
interface Entry {
  info: Message
  parts: Part[]
}

/** Puts contexts into requests. */
export class Context {
  /** Sessions whose next messages are those to be compacted. */
  readonly compacting = new Set<string>()
  readonly #host: Host
  /** Contexts of requests that are being made: both parts of one are of the same moment. */
  readonly #begun = new Map<string, SessionContext | undefined>()
  #helperPrompts: Promise<string[]> | undefined

  constructor(host: Host) {
    this.#host = host
  }

  /** Asks for what {@link Context.addStable} will need, so that it need not wait. */
  prepare(): Promise<string[]> {
    this.#helperPrompts ??= this.#readHelperPrompts()
    // Asked again next time. Who needs it now hears of it.
    this.#helperPrompts.catch(() => (this.#helperPrompts = undefined))
    return this.#helperPrompts
  }

  /** Adds the stable part to a system prompt, unless it is that of a title or a summary. */
  async addStable(sessionID: string, system: string[]): Promise<void> {
    const prompts = await this.prepare()
    if (prompts.some((prompt) => system[0]?.startsWith(prompt))) return
    const context = this.#begun.has(sessionID) ? this.#begun.get(sessionID) : this.#host.context(sessionID)
    this.#begun.delete(sessionID)
    if (context !== undefined) system.push(context.stable)
  }

  /** Adds the volatile part behind the newest message of this one request. */
  addVolatile(messages: Entry[]): void {
    const sessionID = messages[0]?.info.sessionID
    if (sessionID === undefined || this.compacting.delete(sessionID)) return
    const user = messages.findLast(({ info }) => info.role === "user")
    const context = this.#host.context(sessionID)
    this.#begun.set(sessionID, context)
    if (user === undefined || context === undefined) return
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
    const { data } = await this.#host.client.app.agents()
    if (data === undefined) throw new Error("OpenCode does not tell which agents it has")
    const helpers = data.filter(({ name }) => HELPERS.includes(name))
    return helpers.map(({ prompt }) => prompt ?? "").filter((prompt) => prompt !== "")
  }
}
