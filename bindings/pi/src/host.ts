// pi as a host of the engine: one conversation, in which the agent works on all its frames.

import type { ExtensionContext } from "@mariozechner/pi-coding-agent"
import type { Host as Engine, HostActions, HostLogLevel, SessionMessage, Stack } from "callstack-core"
import { printable } from "callstack-core/people"
import { messagesOf, sessionMessage } from "./messages.js"

/** The module of the engine. It is passed on, because a static import of it is not possible: see index.ts. */
export type Callstack = typeof import("callstack-core")

/** The reason why frames have no sessions of their own. */
const NO_SESSIONS = "pi has one conversation for all frames"

/** Connects a stack with the session that pi has open. */
export class Host implements HostActions {
  /** Reports events to the engine, and executes its effects with the methods of this class. */
  readonly engine: Engine
  readonly callstack: Callstack
  /** The ID of pi's session. */
  readonly sessionID: string
  readonly #context: ExtensionContext
  #isClosed = false

  constructor(callstack: Callstack, stack: Stack, context: ExtensionContext) {
    this.callstack = callstack
    this.engine = new callstack.Host(stack, this)
    this.sessionID = context.sessionManager.getSessionId()
    this.#context = context
  }

  /**
   * Whether pi has closed the session, maybe while an event was reported. A closed session does not take
   * anything any more.
   */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Ends the work with the stack. */
  close(): void {
    this.#isClosed = true
    this.engine.close()
  }

  /** Shows what has failed. pi has no log; the history of the stack has everything else. */
  log(level: HostLogLevel, message: string, data: Record<string, unknown> = {}): void {
    if (this.#isClosed) return
    const { error } = data
    const isFailure = level === "error" || (level === "warn" && (error !== undefined || Object.keys(data).length === 0))
    const shown = error === undefined ? message : `${message}: ${error}`
    if (isFailure) tell(this.#context, level === "warn" ? "warning" : "error", shown)
  }

  /** A frame has no session of its own: the engine is told that calls stay in the conversation. */
  createSession(): Promise<string> {
    return Promise.reject(new Error(NO_SESSIONS))
  }

  describeSession(sessionID: string): Promise<{ title: string } | undefined> {
    if (sessionID !== this.sessionID) return Promise.resolve(undefined)
    return Promise.resolve({ title: this.#context.sessionManager.getSessionName() ?? "" })
  }

  messages(sessionID: string): Promise<SessionMessage[]> {
    const branch = sessionID === this.sessionID ? this.#context.sessionManager.getBranch() : []
    return Promise.resolve(messagesOf(branch).map(sessionMessage))
  }

  prompt(): Promise<void> {
    return Promise.reject(new Error(NO_SESSIONS))
  }

  abort(sessionID: string): Promise<void> {
    if (sessionID === this.sessionID) this.#context.abort()
    return Promise.resolve()
  }

  /** Compacts the conversation. The events of the compaction report its beginning and its end. */
  compact(sessionID: string): Promise<boolean> {
    if (sessionID !== this.sessionID) return Promise.resolve(false)
    return new Promise((resolve) => {
      this.#context.compact({ onComplete: () => resolve(true), onError: () => resolve(false) })
    })
  }
}

/**
 * Shows a text to the person: in the conversation, or in the standard error output if there is no interface.
 */
export function tell({ hasUI, ui }: ExtensionContext, level: "info" | "warning" | "error", message: string): void {
  const text = printable(level === "info" ? message : `[stack] ${message}`)
  if (hasUI) ui.notify(text, level)
  else if (level === "info") console.log(text)
  else console.error(text)
}
