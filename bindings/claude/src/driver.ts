// The interface between the orchestrator and the program that runs its sessions: the Claude Agent SDK, or a
// server of OpenCode.

import type { Context, HostAnswer, HostEvent, HostLogLevel, SessionMessage, TakePrompt, Tool } from "callstack-core"

/** The request to a model that an event reports. */
export const requestOf = (event: HostEvent) => ("request" in event ? event.request : undefined)

/** The parts of the context of a session's frame. */
export type SessionContext = Pick<Context, "stable" | "volatile">

/**
 * What a session may do and spend. The orchestrator computes it for each turn, from the frame and all frames
 * above it.
 */
export interface SessionLimits {
  /** The frame's handle, such as `f3`. */
  frame: string
  /** The model; undefined: the driver's default. */
  model: string | undefined
  /** The names of the tools that it may use in addition to those of the stack. */
  tools: readonly string[]
  /** The number of turns of the model after which the prompt ends with an error; undefined: no limit. */
  maxTurns: number | undefined
  /** US dollars that the prompt may still spend; undefined: no limit. */
  maxBudgetUsd: number | undefined
}

/** What a driver tells the orchestrator about a session, in addition to the events of the engine. */
export type SessionNews =
  /** A piece of the text that the model writes. */
  | { kind: "text"; text: string }
  /** The model calls a tool. */
  | { kind: "tool"; tool: string; input: unknown }
  /** A tool call has ended. */
  | { kind: "toolEnded"; tool: string; failed: boolean }
  /** A request to the model failed and is repeated after this delay, in milliseconds. */
  | { kind: "retry"; status: number | undefined; error: string; attempt: number; delay: number }
  /** The model has sent nothing for this number of milliseconds. */
  | { kind: "silence"; milliseconds: number }
  /** The conversation of the session was compacted. */
  | { kind: "compacted" }
  /**
   * What a conversation has cost so far, over all its turns, in US dollars. It is the conversation of the
   * session, or another one in which the driver has asked for a summary. Newer values replace older ones. The
   * requests in it were reported before. Later requests are estimated by their price until the next cost.
   */
  | { kind: "cost"; session: string; costUsd: number }

/** What a driver asks of the orchestrator. All methods may be called for any session that was started. */
export interface SessionOwner {
  /** The project's folder, in which sessions work. */
  readonly directory: string
  /** The folder of the stack. */
  readonly folder: string
  /** The tools of the stack, in the order in which they are offered. Their names have no prefix. */
  readonly tools: readonly Tool[]
  /** Returns the present context of the session's frame; undefined if the session has no frame. */
  context(sessionID: string): SessionContext | undefined
  /** Executes a tool of the stack and waits for its answer. Never rejects. */
  tool(sessionID: string, name: string, args: object, signal: AbortSignal): Promise<HostAnswer>
  /** Reports an event to the engine. */
  report(event: HostEvent, takePrompt?: TakePrompt): Promise<void>
  /** Writes a line to the orchestrator's log. */
  log(level: HostLogLevel, message: string, data: Record<string, unknown>): void
  /** Reports something that people or programs may want to see. */
  tell(sessionID: string, news: SessionNews): void
  /** True while the frame of a session is in progress: neither its agent nor another actor has ended it. */
  isWorking(sessionID: string): boolean
  /** True while the frame of a session is in progress or blocked: its work may continue. */
  isOpen(sessionID: string): boolean
  /** Returns what a session may do and spend now. */
  limits(sessionID: string): SessionLimits
}

/** A prompt that ended with an error. */
export class SessionError extends Error {
  override readonly name = "SessionError"
  /**
   * True if no session can continue, for example because the API refuses the key. The orchestrator then stops
   * all sessions.
   */
  readonly isFatal: boolean

  constructor(message: string, { isFatal = false, cause }: { isFatal?: boolean; cause?: unknown } = {}) {
    super(message, { cause })
    this.isFatal = isFatal
  }
}

/** A summary of a frame's work. Its session was asked for it. */
export interface Summary {
  text: string
  /** Files and other resources that the work has produced. */
  artifacts: readonly string[]
  decisions: readonly string[]
}

/**
 * Runs sessions. A session belongs to one frame. The driver keeps the conversation of the session in its own
 * way.
 */
export interface SessionDriver {
  /**
   * The prefix of the names of the stack's tools, as models see them, such as `mcp__stack__`. Empty: no
   * prefix.
   */
  readonly toolPrefix: string
  /** The tools of sessions, in addition to those of the stack, if the orchestrator names none. */
  readonly defaultTools: readonly string[]
  /**
   * Connects the driver with its owner, before all other calls. Rejects if sessions cannot be run here; the
   * owner may then call it again.
   */
  open(owner: SessionOwner): Promise<void>
  /**
   * True if a session ID has the form of this driver's sessions: other programs may have frames in the same
   * stack.
   */
  isOwn(sessionID: string): boolean
  /** Returns the ID of a new session. Nothing runs before the first prompt. */
  start(parentID: string | undefined, title: string): Promise<string>
  /**
   * Sends a prompt to a session and waits until it has ended its turn. Rejects with a {@link SessionError}.
   */
  send(sessionID: string, prompt: string): Promise<void>
  /** Ends the current turn of a session, and of the sessions that it waits for. Their words are kept. */
  interrupt(sessionID: string): Promise<void>
  /** Reads the messages of a session; none if it does not exist. */
  messages(sessionID: string): Promise<readonly SessionMessage[]>
  /**
   * Replaces the conversation of a session by a summary. Reports `sessionCompacting` and `sessionCompacted`.
   * Returns false if that failed.
   */
  compact(sessionID: string): Promise<boolean>
  /**
   * Asks a session that has ended without a pop for a summary, with this prompt; undefined if there is no
   * summary.
   */
  summarize(sessionID: string, prompt: string): Promise<Summary | undefined>
  /** Ends everything: no process of a session is left. */
  close(): Promise<void>
}
