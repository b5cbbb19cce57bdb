// The session that pi has open: what is reported of it to the engine, and what goes into its requests.

import type {
  BeforeAgentStartEvent,
  ExtensionAPI,
  ExtensionContext,
  SessionEntry,
  SessionStartEvent,
  SessionTreeEvent,
  ToolResultEvent,
} from "@mariozechner/pi-coding-agent"
import { summarize } from "./compaction.js"
import { Context, MESSAGE_TYPE } from "./context.js"
import type { Host } from "./host.js"
import { type Answer, idOf, type Message, messagesOf, pathOf, sessionMessage, textOf } from "./messages.js"
import { Requests } from "./requests.js"
import { showStatus } from "./status.js"
import type { Details } from "./tools.js"

/** Told once to the agent of a conversation that was copied from another session. */
const COPIED =
  "This conversation was copied from another session. From now on it works on a frame of its own; the frames that it names belong to the other session. Their results are still true."
/** Told to the agent when the person has gone back. */
const SET_BACK =
  "The person has gone back to this point of the conversation. Files and the call stack were not set back: what was done since is still done. Frames that were begun since and not finished are blocked; activate one to go on with it."

/** Connects one session of pi with the engine. */
export class Session {
  readonly host: Host
  readonly #pi: ExtensionAPI
  readonly #context: Context
  readonly #requests = new Requests()
  /** The name of the session that the engine knows. */
  #name: string | undefined
  /** The person's words that were reported before pi has made a message of them. */
  #announced: string | undefined
  #announcements = 0
  /** What the agent is told with the person's next words. */
  #news: string | undefined

  constructor(pi: ExtensionAPI, host: Host) {
    this.#pi = pi
    this.host = host
    this.#context = new Context(host)
    this.#listen()
  }

  /** Makes the session known to the engine. */
  async start({ reason }: SessionStartEvent, context: ExtensionContext): Promise<void> {
    const { engine, sessionID } = this.host
    this.#name = this.#pi.getSessionName()
    await engine.report({ kind: "sessionCreated", sessionID, title: this.#name ?? "" })
    const branch = context.sessionManager.getBranch()
    const owner = newestOwner(branch)
    if (owner !== undefined && owner !== sessionID) this.#news = COPIED
    // Somebody may have gone back with another program, or without this extension.
    else if (reason !== "new") await this.#setBack(branch)
    this.showStatus(context)
  }

  #listen(): void {
    const pi = this.#pi
    const { engine, sessionID } = this.host
    /** Wraps a handler so that it never throws: a failure is shown, and pi goes on without it. */
    const safe =
      <Event, Result>(name: string, handle: (event: Event, context: ExtensionContext) => Result | Promise<Result>) =>
      async (event: Event, context: ExtensionContext): Promise<Awaited<Result> | undefined> => {
        let result: Awaited<Result> | undefined
        await engine.attempt(name, async () => {
          result = await handle(event, context)
        })
        return result
      }
    pi.on(
      "before_agent_start",
      safe("before_agent_start", (event) => this.#beforeRun(event)),
    )
    pi.on(
      "context",
      safe("context", ({ messages }, { model }) => {
        const prepared = this.#context.prepare(messages, model?.api)
        this.#requests.prepare(prepared)
        return { messages: prepared }
      }),
    )
    pi.on(
      "before_provider_request",
      safe("before_provider_request", ({ payload }, { model }) => this.#context.finish(payload, model?.api)),
    )
    pi.on(
      "message_end",
      safe("message_end", ({ message }, context) => this.#finished(message, context)),
    )
    // pi reports the message with the calls before it asks this, so its request counts in the frame in which it was made.
    pi.on("tool_call", () => undefined)
    pi.on(
      "tool_result",
      safe("tool_result", (event, context) => this.#toolWorked(event, context)),
    )
    pi.on(
      "agent_end",
      safe("agent_end", async (_, context) => {
        await engine.report({ kind: "sessionIdle", sessionID })
        this.showStatus(context)
      }),
    )
    pi.on(
      "session_before_compact",
      safe("session_before_compact", async (event, context) => {
        const compaction = await summarize(pi, this.host, this.#context, event, context)
        return compaction && { compaction }
      }),
    )
    pi.on(
      "session_compact",
      safe("session_compact", async ({ compactionEntry: { id, summary, timestamp } }, context) => {
        const time = Date.parse(timestamp)
        const messages = [{ id, role: "assistant", text: summary, summary: true, time }]
        await engine.report({ kind: "sessionCompacted", sessionID, messages })
        this.showStatus(context)
      }),
    )
    pi.on(
      "session_tree",
      safe("session_tree", (event, context) => this.#wentBack(event, context)),
    )
  }

  /** Prepares a run of the agent, which the person's words begin. */
  async #beforeRun({ prompt, systemPrompt }: BeforeAgentStartEvent) {
    const { engine, sessionID } = this.host
    const name = this.#pi.getSessionName()
    if (name !== undefined && name !== this.#name) {
      await engine.report({ kind: "sessionUpdated", sessionID, title: name })
      this.#name = name
    }
    // The words bring the session its frame, and the system prompt has the context of it.
    const messageID = `prompt-${Date.now()}-${this.#announcements++}`
    await engine.report({ kind: "message", sessionID, messageID, role: "user", text: prompt, time: Date.now() })
    this.#announced = prompt
    const news = this.#news
    this.#news = undefined
    return {
      systemPrompt: this.#context.begin(systemPrompt),
      ...(news !== undefined && { message: this.#note(news) }),
    }
  }

  /** Reports a message that will not change any more. */
  async #finished(message: Message, { model }: ExtensionContext): Promise<void> {
    const { engine, sessionID } = this.host
    if (message.role === "user") await this.#said(message)
    if (message.role === "assistant") await this.#answered(message, model?.contextWindow)
    await engine.report({ kind: "messageFinished", sessionID, message: sessionMessage(message) })
  }

  /** Reports the person's words, unless they were announced: what is written while the agent works is not. */
  async #said(message: Message): Promise<void> {
    const { engine, sessionID } = this.host
    const text = textOf(message)
    const isAnnounced = text === this.#announced
    if (isAnnounced) this.#announced = undefined
    else {
      const time = message.timestamp
      await engine.report({ kind: "message", sessionID, messageID: idOf(message), role: "user", text, time })
    }
  }

  /** Reports an answer of the model, with the request that it is for. */
  async #answered(message: Answer, contextLimit: number | undefined): Promise<void> {
    const { engine, sessionID } = this.host
    const { usage, stopReason, errorMessage = stopReason, timestamp: time } = message
    await engine.report({
      kind: "message",
      sessionID,
      messageID: idOf(message),
      role: "assistant",
      text: "",
      time,
      tokens: usage.totalTokens,
      contextLimit,
      request: this.#requests.answered(message),
    })
    if (stopReason === "error") await engine.report({ kind: "sessionError", sessionID, message: errorMessage })
  }

  async #toolWorked({ toolName: tool, input, isError: failed }: ToolResultEvent, { cwd }: ExtensionContext) {
    const { engine, sessionID } = this.host
    await engine.report({ kind: "toolExecuted", sessionID, tool, path: pathOf(cwd, input), failed })
  }

  /** Shows in which frame the conversation is. */
  showStatus(context: ExtensionContext): void {
    showStatus(this.host, context)
  }

  /** Ends the work with the stack. */
  close(): void {
    this.host.engine.close()
  }

  /** Handles that the person has gone to another place of the conversation's tree. */
  async #wentBack({ oldLeafId }: SessionTreeEvent, context: ExtensionContext): Promise<void> {
    const { sessionManager } = context
    const branch = sessionManager.getBranch()
    const kept = new Set(branch.map(({ id }) => id))
    const left = sessionManager.getBranch(oldLeafId ?? undefined).filter(({ id }) => !kept.has(id))
    await this.#setBack(branch)
    if (left.some((entry) => detailsOf(entry) !== undefined)) this.#news = SET_BACK
    this.showStatus(context)
  }

  /** Tells the engine where the conversation is by what it still has. */
  async #setBack(branch: readonly SessionEntry[]): Promise<void> {
    const { engine, sessionID } = this.host
    const answers = messagesOf(branch.filter((entry) => detailsOf(entry) !== undefined)).map(textOf)
    await engine.report({ kind: "sessionSetBack", sessionID, answers })
  }

  /** Makes a message for the agent that people do not see. */
  #note(content: string) {
    const details: Details = { session: this.host.sessionID }
    return { customType: MESSAGE_TYPE, content, display: false, details }
  }
}

/** What this extension has kept with an entry of a session; undefined if it is of others. */
function detailsOf(entry: SessionEntry): Details | undefined {
  if (entry.type === "custom_message" && entry.customType === MESSAGE_TYPE) return entry.details as Details | undefined
  const message = entry.type === "message" ? entry.message : undefined
  if (message?.role !== "toolResult" || !message.toolName.startsWith("stack_")) return undefined
  return message.details as Details | undefined
}

/** The session whose frames a conversation has named last; undefined if it has named none. */
function newestOwner(branch: readonly SessionEntry[]): string | undefined {
  return branch.map((entry) => detailsOf(entry)?.session).findLast((session) => session !== undefined)
}
