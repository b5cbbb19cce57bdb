// A host of the engine: reports events, carries out the effects that they cause, lets tool calls wait for
// their answers, and polls the engine when something is due. What a host has to do itself is in
// `HostActions`.

import type { Context } from "./context.js"
import type { Effect, Handle, HostEvent, HostSettings, SessionMessage } from "./generated/types.js"
import type { Stack } from "./stack.js"

/** The level of a line in a host's log. */
export type HostLogLevel = "debug" | "info" | "warn" | "error"

/**
 * What a host does with its sessions. Each method may reject: the failure is reported to the engine, or
 * logged.
 */
export interface HostActions {
  /** Writes a line to the log of the host. */
  log(level: HostLogLevel, message: string, data: Record<string, unknown>): void
  /** Creates a session for a frame, and returns its ID. It is recorded before the session is prompted. */
  createSession(parentID: string, title: string): Promise<string>
  /** Describes a session; undefined if it does not exist. */
  describeSession(sessionID: string): Promise<{ parentID?: string | undefined; title: string } | undefined>
  /** Reads the messages of a session; none if it does not exist. */
  messages(sessionID: string): Promise<readonly SessionMessage[]>
  /** Prompts a session with the model of the session `callerID`, and waits until it has ended its turn. */
  prompt(sessionID: string, text: string, callerID: string): Promise<void>
  /** Ends the current turn of a session. What it has said is kept. */
  abort(sessionID: string): Promise<void>
  /**
   * Compacts a session, and returns when that has ended. Reports `sessionCompacting` before it asks for the
   * summary, and `sessionCompacted` with messages after a success. Returns false if there is no summary.
   */
  compact(sessionID: string): Promise<boolean>
}

/** The answer of an agent's tool. */
export interface HostAnswer {
  /** The text for the model. */
  text: string
  /** One line for people: what the call was about, and what became of that. Empty if its arguments say it. */
  title: string
  /** The frames that the call has popped, or for whose ends it has waited. */
  ended: Handle[]
  /** Whether the text explains why nothing was done. */
  isError: boolean
}

/** What the engine has answered to a call. */
type Answered = Omit<HostAnswer, "isError"> & { isError?: boolean }

/** Tells that no caller waits for an answer any more: an AbortSignal, whose type not every program has. */
export interface CancelSignal {
  readonly aborted: boolean
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void
  removeEventListener(type: "abort", listener: () => void): void
}

/** Receives the text for the prompt of a compaction. */
export type TakePrompt = (text: string) => void

/** The longest delay of a timer, in milliseconds: 24.8 days. With a longer one `setTimeout` fires at once. */
const LONGEST_DELAY = 2 ** 31 - 1
/** Time from a poll that failed to the next one, in milliseconds. */
const AFTER_FAILURE = 1000

/**
 * Connects a stack with a host that has sessions: an editor, an agent program or an orchestrator. The engine
 * decides, the actions carry out.
 *
 * ```js
 * const host = new Host(Stack.open("stack"), actions)
 * const prompt = { kind: "message", sessionID: "ses_1", messageID: "m1", role: "user" }
 * await host.report({ ...prompt, text: "Build the shop" })
 * const criteria = { successCriteria: "Totals are right", successCriteriaCompacted: "Totals right" }
 * const { text } = await host.tool("ses_1", "stack_frame_push", { title: "Cart", ...criteria }, signal)
 * ```
 */
export class Host {
  /** The stack. The caller may read and change it; the host closes it. */
  readonly stack: Stack
  readonly #actions: HostActions
  /** Tool calls that wait for their answers, by the number of the call. */
  readonly #waiting = new Map<number, (answer: Answered) => void>()
  /** The compactions that run, by session ID. */
  readonly #compactions = new Map<string, Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(stack: Stack, actions: HostActions) {
    this.stack = stack
    this.#actions = actions
  }

  /** Applies settings. Invalid values are ignored. Returns a message for each, and logs it. */
  configure(settings: HostSettings): string[] {
    const problems = this.stack.configure(settings)
    for (const message of problems) this.#actions.log("warn", message, {})
    this.#schedule()
    return problems
  }

  /** Starts work that no caller waits for. If it fails, the failure is logged with this name. */
  background(name: string, work: () => void | Promise<void>): void {
    void this.attempt(name, work)
  }

  /** Runs work. If it fails, the failure is logged with this name; the promise never rejects. */
  async attempt(name: string, work: () => void | Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      try {
        this.#actions.log("error", `${name} failed: ${messageOf(error)}`, {})
      } catch {
        // The log itself has failed: there is no other place for the message.
      }
    }
  }

  /** Reports an event to the engine and carries out the effects. After {@link Host.close} it does nothing. */
  async report(event: HostEvent, takePrompt?: TakePrompt): Promise<void> {
    if (!this.#isClosed) await this.#perform(this.stack.report(event), takePrompt)
  }

  /**
   * Polls the engine now and carries out what is due. The host does so by itself when the engine has a
   * deadline.
   */
  async poll(): Promise<void> {
    if (!this.#isClosed) await this.#perform(this.stack.poll())
  }

  /** Returns the present context of a session; undefined if it has none. */
  context(sessionID: string): Context | undefined {
    if (this.#isClosed) return undefined
    this.stack.refresh()
    const context = this.stack.sessionContext(sessionID)
    this.#schedule()
    return context
  }

  /**
   * Executes a tool call and waits for its answer. Never rejects: the answer explains a failure. `args` can
   * also be their JSON text, as model APIs deliver it.
   */
  async tool(sessionID: string, name: string, args: object | string, signal?: CancelSignal): Promise<HostAnswer> {
    try {
      const { call, effects, isError, text = "", title, ended } = this.stack.tool(sessionID, { name, arguments: args })
      const answer = call === undefined ? { text, title, ended } : this.#answer(call, signal)
      await this.#perform(effects)
      return { isError, ...(await answer) }
    } catch (error) {
      const text = `${name}: ${messageOf(error)}`
      return { text, title: text, ended: [], isError: true }
    }
  }

  /** Stops the timer and closes the stack. Tool calls that still wait fail. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#timer)
    const text = "the host was closed before the answer came"
    for (const answer of this.#waiting.values()) answer({ text, title: text, ended: [], isError: true })
    this.#waiting.clear()
    this.stack.close()
  }

  #answer(call: number, signal: CancelSignal | undefined): Promise<Answered> {
    const aborted = () => this.background("abort", () => this.report({ kind: "callAborted", call }))
    const answer = new Promise<Answered>((resolve) => {
      this.#waiting.set(call, (answer) => {
        signal?.removeEventListener("abort", aborted)
        resolve(answer)
      })
    })
    if (signal?.aborted) aborted()
    else signal?.addEventListener("abort", aborted, { once: true })
    return answer
  }

  /** Answers the tool call that waits for a call. Does nothing if none waits. */
  #deliver({ call, text, title, ended }: Omit<Extract<Effect, { kind: "answer" }>, "kind">): void {
    this.#waiting.get(call)?.({ text, title, ended })
    this.#waiting.delete(call)
  }

  async #perform(effects: readonly Effect[], takePrompt?: TakePrompt): Promise<void> {
    this.#schedule()
    // A failure of one effect must not keep the others from being carried out: one of them may answer a tool
    // call.
    for (const effect of effects) await this.attempt(effect.kind, () => this.#performOne(effect, takePrompt))
  }

  async #performOne(effect: Effect, takePrompt?: TakePrompt): Promise<void> {
    switch (effect.kind) {
      case "log":
        return this.#actions.log(effect.level, effect.message, effect.data)
      case "describeSession":
        return this.#describe(effect.sessionID)
      case "readMessages": {
        const { sessionID } = effect
        return this.report({ kind: "sessionMessages", sessionID, messages: await this.#actions.messages(sessionID) })
      }
      case "createSession":
        return this.#create(effect)
      case "prompt":
        // The prompt lasts until the child has finished. An event tells the engine about the end.
        return this.background("prompt", () => this.#prompt(effect))
      case "answer":
        return this.#deliver(effect)
      case "abortSession":
        return this.#actions.abort(effect.sessionID)
      case "compactSession":
        return this.#compact(effect.sessionID)
      case "compactionPrompt":
        takePrompt?.(effect.text)
    }
  }

  async #describe(sessionID: string): Promise<void> {
    const session = await this.#actions.describeSession(sessionID)
    if (session === undefined) await this.report({ kind: "sessionDeleted", sessionID })
    else await this.report({ kind: "sessionCreated", sessionID, ...session })
  }

  async #create({ call, parentID, title }: Extract<Effect, { kind: "createSession" }>): Promise<void> {
    try {
      const sessionID = await this.#actions.createSession(parentID, title)
      await this.report({ kind: "callStarted", call, sessionID })
    } catch (error) {
      await this.#end(call, messageOf(error))
    }
  }

  async #prompt({ call, sessionID, callerID, text }: Extract<Effect, { kind: "prompt" }>): Promise<void> {
    let error: string | undefined
    // A host can report the end of a compaction before the session is free.
    await this.#compactions.get(sessionID)
    try {
      await this.#actions.prompt(sessionID, text, callerID)
    } catch (problem) {
      error = messageOf(problem)
    }
    await this.#end(call, error)
  }

  /**
   * Reports the end of a call. If the engine cannot record it, the tool call that waits gets the reason as
   * its answer.
   */
  async #end(call: number, error: string | undefined): Promise<void> {
    try {
      await this.report({ kind: "callEnded", call, error })
    } catch (problem) {
      const ended = error === undefined ? "The call has ended" : `The call has ended with an error: ${error}`
      const text = `${ended}. It could not be recorded: ${messageOf(problem)}`
      this.#deliver({ call, text, title: text, ended: [] })
      throw problem
    }
  }

  /** Starts a compaction. Only the next prompt of the session waits for it. */
  #compact(sessionID: string): void {
    const work = async () => {
      let isDone = false
      try {
        isDone = await this.#actions.compact(sessionID)
      } finally {
        if (!isDone) await this.report({ kind: "sessionCompacted", sessionID, messages: [] })
      }
    }
    const compaction = this.attempt("compaction", work)
    this.#compactions.set(sessionID, compaction)
    void compaction.then(() => {
      if (this.#compactions.get(sessionID) === compaction) this.#compactions.delete(sessionID)
    })
  }

  /**
   * Sets the timer for the next poll of the engine. A poll before the deadline is harmless and sets the timer
   * again.
   */
  #schedule(): void {
    clearTimeout(this.#timer)
    const deadline = this.#isClosed ? undefined : this.stack.deadline()
    if (deadline === undefined) return
    const delay = Math.min(Math.max(0, deadline - Date.now()), LONGEST_DELAY)
    this.#pollAfter(delay)
  }

  #pollAfter(delay: number): void {
    this.#timer = setTimeout(() => this.background("poll", () => this.#pollOrRepeat()), delay)
    this.#timer.unref()
  }

  /**
   * Polls. If that fails, for example because the disk is full, it is tried again: a time limit must not be
   * forgotten.
   */
  async #pollOrRepeat(): Promise<void> {
    try {
      await this.poll()
    } catch (error) {
      if (!this.#isClosed) this.#pollAfter(AFTER_FAILURE)
      throw error
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error)
}
