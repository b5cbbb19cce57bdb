// OpenCode as a host of the engine: carries out effects, waits for answers, and polls the engine when something is due.

import type { PluginInput } from "@opencode-ai/plugin"
import type { Effect, HostEvent, HostSettings, SessionContext, SessionMessage, Stack } from "callstack-core"
import { messageOf, sessionMessage } from "./events.js"
import { Requests } from "./requests.js"
import type { Answer } from "./titles.js"

/** The agent and the model of a session. */
interface Mode {
  agent?: string | undefined
  model?: { providerID: string; modelID: string } | undefined
}

type EffectOf<Kind extends Effect["kind"]> = Extract<Effect, { kind: Kind }>

/** Receives text for the prompt of a compaction. */
type TakePrompt = (text: string) => void

/** The longest delay of a timer, in milliseconds: 24.8 days. With a longer one `setTimeout` fires at once. */
const LONGEST_DELAY = 2 ** 31 - 1

/** Connects one stack with OpenCode. */
export class Host {
  readonly client: PluginInput["client"]
  readonly directory: string
  readonly stack: Stack
  /** The requests to models that have no answer yet. */
  readonly requests = new Requests()
  /** The mode of each session, by session ID. */
  readonly modes = new Map<string, Mode>()
  /** The context window of each session's model, in tokens, by session ID. */
  readonly limits = new Map<string, number | undefined>()
  /** Tool calls that wait for their answers, by the number of the call. */
  readonly #waiting = new Map<number, (text: string) => void>()
  /** The compactions that run, by session ID. */
  readonly #compactions = new Map<string, Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(stack: Stack, { client, directory }: PluginInput) {
    this.stack = stack
    this.client = client
    this.directory = directory
  }

  /** Applies settings. Invalid values are logged and ignored. */
  configure(settings: HostSettings): void {
    for (const message of this.stack.configure(settings)) this.#log("warn", message)
    this.#schedule()
  }

  /** Wraps a hook so that it never throws: a failure is logged, and OpenCode continues without the hook. */
  safe<Input, Output>(
    name: string,
    hook: (input: Input, output: Output) => void | Promise<void>,
  ): (input: Input, output: Output) => Promise<void> {
    return (input, output) => this.#logFailure(name, () => hook(input, output))
  }

  /** Starts work that nobody waits for. If it fails, the failure is logged. */
  background(name: string, work: () => Promise<void>): void {
    void this.#logFailure(name, work)
  }

  /** Reports an event to the engine and carries out the effects. */
  async report(event: HostEvent, takePrompt?: TakePrompt): Promise<void> {
    if (!this.#isClosed) await this.#perform(this.stack.report(event), takePrompt)
  }

  /** Returns the present context of a session; undefined if it has none. */
  context(sessionID: string): SessionContext | undefined {
    this.stack.refresh()
    const context = this.stack.sessionContext(sessionID)
    this.#schedule()
    return context
  }

  /** Executes a tool call and waits for its answer. Never rejects: the answer explains a failure. */
  async tool(sessionID: string, name: string, args: object, abort: AbortSignal): Promise<Answer> {
    try {
      const { text, call, effects, isError } = this.stack.tool(sessionID, name, args)
      const answer = call === undefined ? text : this.#answer(call, abort)
      await this.#perform(effects)
      return { text: (await answer) ?? "", isError }
    } catch (error) {
      return { text: `${name}: ${messageOf(error)}`, isError: true }
    }
  }

  /** Shows a line for a few seconds in OpenCode's terminal interface, which does not draw the titles of such tools. */
  notify(message: string): void {
    void this.client.tui.showToast({ body: { message, variant: "info" } }).catch(() => undefined)
  }

  /** Returns the messages of a session; none if the session does not exist. */
  async messages(sessionID: string): Promise<SessionMessage[]> {
    const { data } = await this.client.session.messages({ path: { id: sessionID } })
    return (data ?? []).map(sessionMessage)
  }

  /** Reports a message that is finished, with all its parts. */
  async reportFinished(sessionID: string, messageID: string): Promise<void> {
    const { data } = await this.client.session.message({ path: { id: sessionID, messageID } })
    if (data !== undefined) await this.report({ kind: "messageFinished", sessionID, message: sessionMessage(data) })
  }

  /** Stops the timer and closes the stack. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.stack.close()
  }

  /** Runs work and logs its failure. The promise never rejects. */
  async #logFailure(name: string, work: () => void | Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#log("error", `${name} failed: ${messageOf(error)}`)
    }
  }

  #answer(call: number, abort: AbortSignal): Promise<string> {
    const aborted = () => this.background("abort", () => this.report({ kind: "callAborted", call }))
    const answer = new Promise<string>((resolve) => {
      this.#waiting.set(call, (text) => {
        abort.removeEventListener("abort", aborted)
        resolve(text)
      })
    })
    if (abort.aborted) aborted()
    else abort.addEventListener("abort", aborted, { once: true })
    return answer
  }

  async #perform(effects: readonly Effect[], takePrompt?: TakePrompt): Promise<void> {
    this.#schedule()
    for (const effect of effects) {
      switch (effect.kind) {
        case "log":
          this.#log(effect.level, effect.message, effect.data)
          break
        case "describeSession":
          await this.#describe(effect)
          break
        case "readMessages": {
          const { sessionID } = effect
          await this.report({ kind: "sessionMessages", sessionID, messages: await this.messages(sessionID) })
          break
        }
        case "createSession":
          await this.#create(effect)
          break
        case "prompt":
          // The prompt lasts until the child has finished. An event tells the engine about the end.
          this.background("prompt", () => this.#prompt(effect))
          break
        case "answer":
          this.#waiting.get(effect.call)?.(effect.text)
          this.#waiting.delete(effect.call)
          break
        case "abortSession":
          await this.client.session.abort({ path: { id: effect.sessionID } })
          break
        case "compactSession": {
          const { sessionID } = effect
          const compaction = this.#logFailure("compaction", () => this.#compact(effect))
          this.#compactions.set(sessionID, compaction)
          void compaction.then(() => this.#compactions.delete(sessionID))
          break
        }
        case "compactionPrompt":
          takePrompt?.(effect.text)
          break
      }
    }
  }

  async #describe({ sessionID }: EffectOf<"describeSession">): Promise<void> {
    const { data } = await this.client.session.get({ path: { id: sessionID } })
    if (data === undefined) await this.report({ kind: "sessionDeleted", sessionID })
    else await this.report({ kind: "sessionCreated", sessionID, parentID: data.parentID, title: data.title })
  }

  async #create({ call, parentID, title }: EffectOf<"createSession">): Promise<void> {
    const { data, error } = await this.client.session.create({ body: { parentID, title } })
    if (data === undefined) await this.report({ kind: "callEnded", call, error: messageOf(error) })
    else await this.report({ kind: "callStarted", call, sessionID: data.id })
  }

  async #prompt({ call, sessionID, callerID, text }: EffectOf<"prompt">): Promise<void> {
    const { agent, model } = this.modes.get(callerID) ?? {}
    const body = { ...(agent && { agent }), ...(model && { model }), parts: [{ type: "text" as const, text }] }
    let problem: unknown
    // OpenCode sends the event about a compaction before its session is free.
    await this.#compactions.get(sessionID)
    try {
      const { data, error } = await this.client.session.prompt({ path: { id: sessionID }, body })
      problem = error ?? data?.info.error
    } catch (error) {
      problem = error
    }
    await this.report({ kind: "callEnded", call, error: problem === undefined ? undefined : messageOf(problem) })
  }

  async #compact({ sessionID }: EffectOf<"compactSession">): Promise<void> {
    const model = this.modes.get(sessionID)?.model
    const done = model && (await this.client.session.summarize({ path: { id: sessionID }, body: model }))
    // After a successful compaction OpenCode sends an event.
    if (done?.data !== true) await this.report({ kind: "sessionCompacted", sessionID, messages: [] })
  }

  #log(level: "debug" | "info" | "warn" | "error", message: string, extra: Record<string, unknown> = {}): void {
    const body = { service: "callstack", level, message: `[stack] ${message}`, extra }
    void this.client.app.log({ body }).catch(() => undefined)
  }

  /** Sets the timer for the next poll of the engine. A poll before the deadline is harmless and sets the timer again. */
  #schedule(): void {
    clearTimeout(this.#timer)
    const deadline = this.#isClosed ? undefined : this.stack.deadline()
    if (deadline === undefined) return
    const poll = async () => {
      if (!this.#isClosed) await this.#perform(this.stack.poll())
    }
    const delay = Math.min(Math.max(0, deadline - Date.now()), LONGEST_DELAY)
    this.#timer = setTimeout(() => this.background("poll", poll), delay)
    this.#timer.unref()
  }
}
