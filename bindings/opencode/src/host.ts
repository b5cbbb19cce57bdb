// OpenCode as a host of the engine: what the effects of the engine mean in OpenCode, and what is known of its sessions.

import type { PluginInput } from "@opencode-ai/plugin"
import type { Host as Engine, HostActions, LogLevel, SessionMessage, Stack } from "callstack-core"
import { messageOf, sessionMessage } from "./events.js"
import { Requests } from "./requests.js"

/** The agent and the model of a session. */
interface Mode {
  agent?: string | undefined
  model?: { providerID: string; modelID: string } | undefined
}

/** The module of the engine. It is passed on, because a static import of it is not possible: see plugin.ts. */
type Callstack = Pick<typeof import("callstack-core"), "Host">

/** Connects one stack with OpenCode. */
export class Host implements HostActions {
  readonly client: PluginInput["client"]
  readonly directory: string
  /** Reports events to the engine and carries out its effects with the methods of this class. */
  readonly engine: Engine
  /** The requests to models that have no answer yet. */
  readonly requests = new Requests()
  /** The mode of each session, by session ID. */
  readonly modes = new Map<string, Mode>()
  /** The context window of each session's model, in tokens, by session ID. */
  readonly limits = new Map<string, number | undefined>()

  constructor(callstack: Callstack, stack: Stack, { client, directory }: PluginInput) {
    this.client = client
    this.directory = directory
    this.engine = new callstack.Host(stack, this)
  }

  /** Wraps a hook so that it never throws: a failure is logged, and OpenCode continues without the hook. */
  safe<Input, Output>(
    name: string,
    hook: (input: Input, output: Output) => void | Promise<void>,
  ): (input: Input, output: Output) => Promise<void> {
    return (input, output) => this.engine.attempt(name, () => hook(input, output))
  }

  /** Shows a line for a few seconds in OpenCode's terminal interface, which does not draw the titles of such tools. */
  notify(message: string): void {
    void this.client.tui.showToast({ body: { message, variant: "info" } }).catch(() => undefined)
  }

  /** Reports a message that is finished, with all its parts. */
  async reportFinished(sessionID: string, messageID: string): Promise<void> {
    const { data } = await this.client.session.message({ path: { id: sessionID, messageID } })
    if (data === undefined) return
    await this.engine.report({ kind: "messageFinished", sessionID, message: sessionMessage(data) })
  }

  log(level: LogLevel, message: string, extra: Record<string, unknown>): void {
    const body = { service: "callstack", level, message: `[stack] ${message}`, extra }
    void this.client.app.log({ body }).catch(() => undefined)
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

  async messages(sessionID: string): Promise<SessionMessage[]> {
    const { data } = await this.client.session.messages({ path: { id: sessionID } })
    return (data ?? []).map(sessionMessage)
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
    return done?.data === true
  }
}

/** Returns an error of the SDK, which is a record, as an error with the same message. */
function failure(error: unknown): Error {
  return new Error(messageOf(error), { cause: error })
}
