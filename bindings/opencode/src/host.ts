// OpenCode as a host of the engine: executes what the engine asks for.

import type { PluginInput } from "@opencode-ai/plugin"
import type { Host as Engine, HostActions, Stack } from "callstack-core"
import { Adapter, isCompacted, messageOf } from "./adapter.js"
import type { Entry } from "./context.js"

/**
 * The module of the engine. It is passed on, because a static import of it is not possible: see plugin.ts.
 */
type Callstack = Pick<typeof import("callstack-core"), "fold" | "Host">

/** Connects one stack with OpenCode. */
export class Host extends Adapter implements HostActions {
  /** Reports events to the engine, and executes its effects with the methods of this class. */
  readonly engine: Engine

  readonly #fold: Callstack["fold"]

  constructor(callstack: Callstack, stack: Stack, input: PluginInput) {
    super(input)
    this.engine = new callstack.Host(stack, this)
    this.#fold = callstack.fold
  }

  override fold(messages: Entry[]): void {
    const { request, report } = this.#fold("opencode", JSON.stringify(messages))
    if (report.stretches.length === 0) return
    // OpenCode sends the same list object that it has passed to the hook.
    messages.splice(0, messages.length, ...(JSON.parse(request) as Entry[]))
  }

  /**
   * Shows a line for a few seconds in OpenCode's terminal interface, which does not draw the titles of such
   * tools.
   */
  notify(message: string): void {
    void this.client.tui.showToast({ body: { message, variant: "info" } }).catch(() => undefined)
  }

  async createSession(parentID: string, title: string): Promise<string> {
    const { data, error } = await this.client.session.create({ body: { parentID, title } })
    if (data === undefined) throw failure(error)
    return data.id
  }

  async describeSession(sessionID: string): Promise<{ parentID: string | undefined; title: string } | undefined> {
    const { data } = await this.client.session.get({ path: { id: sessionID } })
    return data && { parentID: data.parentID, title: data.title }
  }

  async prompt(sessionID: string, text: string, callerID: string): Promise<void> {
    const { agent, model } = this.modes.get(callerID) ?? {}
    const body = { ...(agent && { agent }), ...(model && { model }), parts: [{ type: "text" as const, text }] }
    const { data, error } = await this.client.session.prompt({ path: { id: sessionID }, body })
    const problem = error ?? data?.info.error
    if (problem !== undefined) throw failure(problem)
  }

  async abort(sessionID: string): Promise<void> {
    await this.client.session.abort({ path: { id: sessionID } })
  }

  /** Compacts a session. The hook of a compaction and an event report its beginning and its end. */
  async compact(sessionID: string): Promise<boolean> {
    const model = this.modes.get(sessionID)?.model
    const done = model && (await this.client.session.summarize({ path: { id: sessionID }, body: model }))
    if (done?.data !== true) return false
    const { data } = await this.client.session.messages({ path: { id: sessionID } })
    return data !== undefined && isCompacted(data)
  }
}

/** Returns an error of the SDK, which is a record, as an error with the same message. */
function failure(error: unknown): Error {
  return new Error(messageOf(error), { cause: error })
}
