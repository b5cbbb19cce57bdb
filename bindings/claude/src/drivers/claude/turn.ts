// One turn of a session: the messages of a query become events of the engine and news for people.

import type {
  Query,
  SDKAPIRetryMessage,
  SDKAssistantMessage,
  SDKAssistantMessageError,
  SDKMessage,
  SDKPartialAssistantMessage,
  SDKResultMessage,
} from "@anthropic-ai/claude-agent-sdk"
import type { HostEvent, ModelRequest } from "callstack-core"
import type { SessionOwner } from "../../driver.js"
import { type Counted, countOf, minus, NOTHING, ofModel, sum } from "./counted.js"
import { SubagentMessages } from "./subagents.js"

/** How a turn has ended. */
export interface TurnResult {
  /** The SDK's result; undefined if the process ended without one. */
  result: SDKResultMessage | undefined
  /** What the SDK has thrown. It also throws after each result that is an error. */
  error: unknown
  /** The kind of the API's last error that the model's answer shows; undefined if there was none. */
  apiError: SDKAssistantMessageError | undefined
  /** Why the driver has interrupted the turn; undefined if the driver has not interrupted it. */
  interruption: "silence" | "refused" | "over" | undefined
}

/** A message of the model while it is being written. */
interface Unfinished {
  id: string
  model: string
  /** When its request was sent, and when the answer began. */
  asked: number
  begun: number
  text: string
  parts: unknown[]
  counted: Counted
  /** True if its request was reported. */
  isCounted: boolean
}

/** How long an interrupted turn may take to end before its process is killed, in milliseconds. */
export const GRACE = 5000

/** Reads one turn. */
export class Turn {
  readonly sessionID: string
  readonly #owner: SessionOwner
  readonly #silence: number
  readonly #kill: () => void
  #query: Query | undefined
  #unfinished: Unfinished | undefined
  /** The tools whose calls have no result yet, by the IDs of the calls. */
  readonly #calls = new Map<string, string>()
  /** When the next request is sent: when the process is ready, or when tools have answered. */
  #asked = Date.now()
  readonly #windows: Map<string, number>
  #hasAsked = false
  #counted: Counted = NOTHING
  readonly #agents = new SubagentMessages((event) => this.#report(event))
  /** True if the conversation was compacted. No message shows the request for the summary. */
  #isCompacted = false
  #interruption: TurnResult["interruption"]
  #apiError: SDKAssistantMessageError | undefined
  #timer: NodeJS.Timeout | undefined
  /** Kills the process of a turn that was interrupted here and does not end. */
  #killTimer: NodeJS.Timeout | undefined
  #overTimer: NodeJS.Timeout | undefined
  /** Reports that have not returned. The turn ends after them. */
  readonly #reports = new Set<Promise<void>>()
  #hasFailed = false

  /**
   * `silence` is the time without a word from the model after which the turn is interrupted, in milliseconds;
   * 0: no limit. `kill` ends the process of the turn, and with it the query. `windows` has the context
   * windows of models in tokens, as far as turns have reported them.
   */
  constructor(owner: SessionOwner, sessionID: string, windows: Map<string, number>, silence: number, kill: () => void) {
    this.#owner = owner
    this.sessionID = sessionID
    this.#windows = windows
    this.#silence = silence
    this.#kill = kill
  }

  /** Reads the query to its end. Never rejects: a failure to record something is logged. */
  async read(query: Query): Promise<TurnResult> {
    this.#query = query
    let result: SDKResultMessage | undefined
    let error: unknown
    try {
      this.#listen()
      for await (const message of query) {
        this.#listen()
        if (message.type === "result") result = message
        this.#take(message)
      }
    } catch (problem) {
      error = problem
    }
    clearTimeout(this.#timer)
    clearTimeout(this.#killTimer)
    clearTimeout(this.#overTimer)
    try {
      this.#finish()
      this.#countAll(this.#agents.finish())
      for (const call of [...this.#calls.keys()]) this.#toolEnded(call, true)
      if (result !== undefined) this.#settle(result)
      this.#agents.settle(0)
    } catch (failure) {
      this.#failed(failure)
    }
    await Promise.all(this.#reports)
    return { result, error, apiError: this.#apiError, interruption: this.#interruption }
  }

  /** Ends the turn. The words so far stay in the transcript. */
  async interrupt(): Promise<void> {
    // It rejects if the process has already ended.
    await this.#query?.interrupt().catch(() => undefined)
  }

  #take(message: SDKMessage): void {
    switch (message.type) {
      case "stream_event":
        if (message.parent_tool_use_id === null) this.#stream(message)
        break
      case "assistant":
        if (message.parent_tool_use_id === null) this.#collect(message)
        else this.#countAll(this.#agents.collect(message))
        break
      case "user":
        if (message.parent_tool_use_id === null) this.#answered(message.uuid ?? "", message.message.content)
        else this.#countAll(this.#agents.answered(message))
        break
      case "system":
        if (message.subtype === "init") this.#asked = Date.now()
        if (message.subtype === "api_retry") this.#retry(message)
        if (message.subtype === "compact_boundary") this.#compacted()
        break
      default:
      // The SDK has about 40 kinds of messages, and gets new ones. The other kinds have nothing that is
      // needed here.
    }
  }

  #stream({ event }: SDKPartialAssistantMessage): void {
    const message = this.#unfinished
    switch (event.type) {
      case "message_start": {
        this.#finish()
        const { id, model, usage } = event.message
        this.#unfinished = newMessage(id, model, countOf(usage), this.#asked)
        break
      }
      case "content_block_delta":
        if (event.delta.type !== "text_delta" || message === undefined) break
        message.text += event.delta.text
        this.#owner.tell(this.sessionID, { kind: "text", text: event.delta.text })
        break
      case "message_delta":
        if (message !== undefined) message.counted = { ...message.counted, output: event.usage.output_tokens }
        break
      case "message_stop":
        if (message !== undefined) this.#count(message)
        break
      default:
    }
  }

  /** Takes a block of a message. A message without a stream arrives in one piece, with its final tokens. */
  #collect({ message, error }: SDKAssistantMessage): void {
    // The text of an error is not a message of the model.
    if (error !== undefined) {
      this.#apiError = error
      return
    }
    if (this.#unfinished?.id !== message.id) {
      this.#finish()
      const whole = newMessage(message.id, message.model, countOf(message.usage), this.#asked)
      whole.text = message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")
      if (whole.text !== "") this.#owner.tell(this.sessionID, { kind: "text", text: whole.text })
      this.#unfinished = whole
      this.#count(whole)
    }
    this.#unfinished.parts.push(...message.content)
    for (const block of message.content) {
      if (block.type !== "tool_use") continue
      this.#calls.set(block.id, block.name)
      this.#owner.tell(this.sessionID, { kind: "tool", tool: block.name, input: block.input })
    }
  }

  /** Takes the results of tools, which the log keeps. */
  #answered(id: string, content: unknown): void {
    this.#finish()
    this.#asked = Date.now()
    for (const part of Array.isArray(content) ? content : []) {
      if (typeof part !== "object" || part === null || !("tool_use_id" in part)) continue
      this.#toolEnded(String(part.tool_use_id), "is_error" in part && part.is_error === true)
    }
    const message = {
      id,
      role: "user",
      text: "",
      time: Date.now(),
      parts: Array.isArray(content) ? content : [content],
    }
    this.#report({ kind: "messageFinished", sessionID: this.sessionID, message })
    this.#endIfOver()
  }

  /**
   * Reports that a tool has ended. If the tool has succeeded, a hook has reported it before the model sees
   * the result.
   */
  #toolEnded(toolCallID: string, failed: boolean): void {
    const { sessionID } = this
    const tool = this.#calls.get(toolCallID)
    if (tool === undefined) return
    this.#calls.delete(toolCallID)
    this.#owner.tell(sessionID, { kind: "toolEnded", tool, failed })
    if (failed) this.#report({ kind: "toolExecuted", sessionID, toolCallID, tool, failed })
  }

  #retry({ attempt, retry_delay_ms: delay, error_status, error }: SDKAPIRetryMessage): void {
    const status = error_status ?? undefined
    this.#owner.tell(this.sessionID, { kind: "retry", status, error, attempt, delay })
    this.#listen(delay)
    if (status === 401) this.#stop("refused")
  }

  #compacted(): void {
    this.#isCompacted = true
    this.#owner.tell(this.sessionID, { kind: "compacted" })
  }

  /**
   * Notes the tokens that subagents have used. They were reported already, and are part of what the SDK
   * counts for the turn.
   */
  #countAll(counted: readonly Counted[]): void {
    this.#counted = counted.reduce(sum, this.#counted)
  }

  /** Reports the request that a message answers, once. */
  #count(message: Unfinished): void {
    if (message.isCounted) return
    message.isCounted = true
    const { id: messageID, model, counted, asked, text } = message
    this.#counted = sum(this.#counted, counted)
    const { uncachedInput, cacheRead, cacheWrite, output } = counted
    const request = { model, ...counted, duration: Date.now() - asked }
    this.#report({
      kind: "message",
      sessionID: this.sessionID,
      messageID,
      role: "assistant",
      text,
      tokens: uncachedInput + cacheRead + cacheWrite + output,
      contextLimit: this.#windows.get(model),
      request,
    })
    this.#askForWindow(model)
  }

  /**
   * Asks the process once for the context window of a model. The results of turns also contain it, but the
   * first turn can be long.
   */
  #askForWindow(model: string): void {
    if (this.#windows.has(model) || this.#hasAsked) return
    this.#hasAsked = true
    // If the process has ended, or does not know the window, nothing happens.
    void this.#query
      ?.getContextUsage({ detail: "summary" })
      .then(({ rawMaxTokens }) => this.#noteWindow(model, rawMaxTokens))
      .catch(() => undefined)
  }

  #noteWindow(model: string, window: number): void {
    if (Number.isSafeInteger(window) && window > 0) this.#windows.set(model, window)
  }

  /** Reports the message of the model that was last written, with all its parts for the log. */
  #finish(): void {
    const message = this.#unfinished
    this.#unfinished = undefined
    if (message === undefined) return
    this.#count(message)
    const { id, text, begun: time, parts } = message
    this.#report({
      kind: "messageFinished",
      sessionID: this.sessionID,
      message: { id, role: "assistant", text, time, parts },
    })
  }

  /** Reports what the turn has cost, and the tokens of requests that no message has shown. */
  #settle(result: SDKResultMessage): void {
    const { sessionID } = this
    const { session_id: session, total_cost_usd: costUsd, uuid } = result
    // The result of a process that was cut off may lack it.
    const used = (result as Partial<SDKResultMessage>).modelUsage ?? {}
    for (const [model, { contextWindow }] of Object.entries(used)) this.#noteWindow(model, contextWindow)
    const request = this.#rest(result)
    if (request !== undefined) {
      this.#report({ kind: "modelRequested", sessionID, requestID: `rest-${uuid}`, request })
    }
    this.#owner.tell(sessionID, { kind: "cost", session, costUsd })
  }

  /** The tokens of requests that were cut off, and of requests for the summaries of compactions. */
  #rest(result: SDKResultMessage): ModelRequest | undefined {
    const since = (result as { model_usage_since_last_result?: SDKResultMessage["modelUsage"] })
      .model_usage_since_last_result
    const [model, ...others] = Object.keys(since ?? {})
    if (since === undefined || model === undefined) return undefined
    const all = [model, ...others].reduce((total, name) => sum(total, ofModel(since[name])), NOTHING)
    const { output, ...input } = minus(all, this.#counted)
    const isAnswers = Object.values(input).every((count) => count === 0)
    if (this.#agents.settle(isAnswers ? output : 0) && isAnswers) return undefined
    if (isAnswers && output === 0) return undefined
    const rest = { ...input, output }
    return { model, ...rest, failed: !this.#isCompacted }
  }

  #report(event: HostEvent): void {
    const report = this.#owner.report(event).catch((error: unknown) => this.#failed(error))
    this.#reports.add(report)
    void report.then(() => this.#reports.delete(report))
  }

  /**
   * Logs the first failure to record what has happened. Further failures in the same turn usually have the
   * same cause.
   */
  #failed(failure: unknown): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    const { sessionID } = this
    const message = failure instanceof Error ? failure.message : String(failure)
    this.#owner.log("error", `a turn of session ${sessionID} could not be recorded in full: ${message}`, { sessionID })
  }

  /**
   * Ends a turn that continues after the end of its frame. A background task, or an agent that the turn has
   * started, can cause this.
   */
  #endIfOver(): void {
    if (this.#owner.isWorking(this.sessionID)) return
    this.#overTimer ??= setTimeout(() => this.#stop("over"), GRACE)
  }

  /** Waits for the next word of the model. While a tool runs, silence is normal. */
  #listen(extra = 0): void {
    clearTimeout(this.#timer)
    if (this.#silence === 0 || this.#calls.size > 0) return
    const milliseconds = this.#silence + extra
    this.#timer = setTimeout(() => {
      this.#owner.tell(this.sessionID, { kind: "silence", milliseconds })
      this.#stop("silence")
    }, milliseconds)
    this.#timer.unref()
  }

  /** Interrupts the turn. A process that hangs does not react to the interruption, and is killed. */
  #stop(reason: NonNullable<TurnResult["interruption"]>): void {
    this.#interruption ??= reason
    this.#killTimer ??= setTimeout(this.#kill, GRACE)
    void this.interrupt()
  }
}

function newMessage(id: string, model: string, counted: Counted, asked: number): Unfinished {
  return { id, model, asked, begun: Date.now(), text: "", parts: [], counted, isCounted: false }
}
