// The session that pi has open: what is reported about it to the engine, and what is added to its requests.

import type {
  BeforeAgentStartEvent,
  BeforeAgentStartEventResult,
  ExtensionAPI,
  ExtensionContext,
  SessionBeforeCompactEvent,
  SessionCompactEvent,
  SessionEntry,
  SessionStartEvent,
  SessionTreeEvent,
  ToolResultEvent,
} from "@mariozechner/pi-coding-agent"
import { type SessionBeforeCompactResult, summarize } from "./compaction.js"
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
  "The person has gone back to this point of the conversation. Files and the call stack were not set back: what was done since is still done. Frames that were begun since and not finished are blocked; activate one to resume it."

/** Connects one session of pi with the engine. */
export class Session {
  readonly host: Host
  readonly #pi: ExtensionAPI
  readonly #context: Context
  readonly #requests = new Requests()
  /** The name of the session that the engine knows. */
  #name: string | undefined
  /** The person's words that were reported before pi made a message of them. */
  #announced: string | undefined
  #announcements = 0
  /** Whether the agent is to be told that the person has gone back. */
  #isSetBack = false

  constructor(pi: ExtensionAPI, host: Host) {
    this.#pi = pi
    this.host = host
    this.#context = new Context(host)
  }

  /** Makes the session known to the engine. */
  async start({ reason }: SessionStartEvent, context: ExtensionContext): Promise<void> {
    const { engine, sessionID } = this.host
    this.#name = this.#pi.getSessionName()
    await engine.report({ kind: "sessionCreated", sessionID, title: this.#name ?? "" })
    // A person may have gone back with another program, or without this extension.
    if (reason !== "new") await this.#setBack(context.sessionManager.getBranch())
    this.showStatus(context)
  }

  /** Prepares a run of the agent, which the person's words begin. */
  async begin(
    { prompt, systemPrompt }: BeforeAgentStartEvent,
    { sessionManager }: ExtensionContext,
  ): Promise<BeforeAgentStartEventResult> {
    const { engine, sessionID } = this.host
    const name = this.#pi.getSessionName()
    if (name !== undefined && name !== this.#name) {
      await engine.report({ kind: "sessionUpdated", sessionID, title: name })
      this.#name = name
    }
    // The words give the session its frame, and the system prompt has the context of that frame.
    const messageID = `prompt-${Date.now()}-${this.#announcements++}`
    await engine.report({ kind: "message", sessionID, messageID, role: "user", text: prompt, time: Date.now() })
    this.#announced = prompt
    const owner = newestOwner(sessionManager.getBranch())
    const isCopied = owner !== undefined && owner !== sessionID
    const news = [...(isCopied ? [COPIED] : []), ...(this.#isSetBack ? [SET_BACK] : [])]
    this.#isSetBack = false
    return {
      systemPrompt: this.#context.begin(systemPrompt),
      ...(news.length > 0 && { message: this.#note(news.join("\n")) }),
    }
  }

  /** Returns the messages of a request to a model. */
  request(messages: Message[], { model }: ExtensionContext): Message[] {
    const prepared = this.#context.prepare(messages, model?.api)
    this.#requests.prepare(prepared)
    return prepared
  }

  /** Returns a request in the form that is sent to the provider of the model. */
  payload(payload: unknown, { model }: ExtensionContext): unknown {
    return this.#context.finish(payload, model?.api)
  }

  /** Reports a message that will not change any more. */
  async finished(message: Message, { model }: ExtensionContext): Promise<void> {
    const { engine, sessionID } = this.host
    if (message.role === "user") await this.#said(message)
    if (message.role === "assistant") await this.#answered(message, model?.contextWindow)
    await engine.report({ kind: "messageFinished", sessionID, message: sessionMessage(message) })
  }

  /**
   * Reports the person's words, unless they were announced. Words that are written while the agent works are
   * not announced.
   */
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

  /** Reports an answer of the model, with the request that the answer belongs to. */
  async #answered(message: Answer, contextLimit: number | undefined): Promise<void> {
    const { engine, sessionID } = this.host
    const { usage, timestamp: time } = message
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
  }

  /** Reports the outcome of a tool. */
  async toolWorked(
    { toolName: tool, input, isError: failed }: ToolResultEvent,
    context: ExtensionContext,
  ): Promise<void> {
    const { engine, sessionID } = this.host
    const path = pathOf(context.cwd, input)
    const command = tool === "bash" && typeof input["command"] === "string" ? input["command"] : undefined
    await engine.report({ kind: "toolExecuted", sessionID, tool, path, command, failed })
    this.showStatus(context)
  }

  /** Reports that the agent has ended its work. */
  async idle(context: ExtensionContext): Promise<void> {
    await this.host.engine.report({ kind: "sessionIdle", sessionID: this.host.sessionID })
    this.showStatus(context)
  }

  /** Makes the summary of a compaction; undefined if pi is to make it. */
  async compacting(event: SessionBeforeCompactEvent, context: ExtensionContext): Promise<SessionBeforeCompactResult> {
    const compaction = await summarize(this.#pi, this.host, this.#context, event, context)
    return compaction === undefined ? {} : { compaction }
  }

  /** Reports the summary of a compaction. */
  async compacted({ compactionEntry }: SessionCompactEvent, context: ExtensionContext): Promise<void> {
    const { id, summary: text, timestamp } = compactionEntry
    const messages = [{ id, role: "assistant", text, summary: true, time: Date.parse(timestamp) }]
    await this.host.engine.report({ kind: "sessionCompacted", sessionID: this.host.sessionID, messages })
    this.showStatus(context)
  }

  /** Shows in which frame the conversation is. */
  showStatus(context: ExtensionContext): void {
    if (!this.host.isClosed) showStatus(this.host, context)
  }

  /** Ends the work with the stack. */
  close(): void {
    this.host.close()
  }

  /** Handles that the person has gone to another place of the conversation's tree. */
  async wentBack({ oldLeafId }: SessionTreeEvent, context: ExtensionContext): Promise<void> {
    const { sessionManager } = context
    const branch = sessionManager.getBranch()
    const kept = new Set(branch.map(({ id }) => id))
    const left = sessionManager.getBranch(oldLeafId ?? undefined).filter(({ id }) => !kept.has(id))
    await this.#setBack(branch)
    if (left.some((entry) => detailsOf(entry) !== undefined)) this.#isSetBack = true
    this.showStatus(context)
  }

  /** Tells the engine where the conversation is, according to the messages that it still has. */
  async #setBack(branch: readonly SessionEntry[]): Promise<void> {
    const { engine, sessionID } = this.host
    // A copied conversation also has the answers to the conversation it was copied from, and assumes that it
    // is in the same frame as that conversation.
    const answers = messagesOf(branch.filter((entry) => detailsOf(entry) !== undefined)).map(textOf)
    const asked = messagesOf(branch).flatMap((message) => (message.role === "user" ? [textOf(message)] : []))
    await engine.report({ kind: "sessionSetBack", sessionID, answers, asked })
  }

  /** Makes a message for the agent that people do not see. */
  #note(content: string) {
    const details: Details = { session: this.host.sessionID }
    return { customType: MESSAGE_TYPE, content, display: false, details }
  }
}

/**
 * The data that this extension has kept with an entry of a session; undefined if the entry is not from this
 * extension.
 */
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
