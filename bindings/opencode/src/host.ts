// OpenCode as a host of the engine: it carries out effects, waits for answers, and wakes the engine when something is due.

import type { PluginInput } from "@opencode-ai/plugin"
import type { Effect, HostEvent, HostSettings, SessionContext, SessionMessage, Stack } from "callstack-core"
import { messageOf, sessionMessage } from "./events.js"

/** The model and agent that a session works with. */
interface Mode {
  agent?: string | undefined
  model?: { providerID: string; modelID: string } | undefined
}

type EffectOf<Kind extends Effect["kind"]> = Extract<Effect, { kind: Kind }>

/** Takes the text for a summary that is being asked for. */
type TakePrompt = (text: string) => void

/** What connects one stack with OpenCode. */
export class Host {
  readonly client: PluginInput["client"]
  readonly directory: string
  /** By session. */
  readonly modes = new Map<string, Mode>()
  /** How many tokens the context of a session can hold. */
  readonly limits = new Map<string, number | undefined>()
  readonly #stack: Stack
  /** Tool calls that wait for their answers. */
  readonly #waiting = new Map<number, (text: string) => void>()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(stack: Stack, { client, directory }: PluginInput) {
    this.#stack = stack
    this.client = client
    this.directory = directory
  }

  /** Puts settings in force. What makes no sense is logged, and does not count. */
  configure(settings: HostSettings): void {
    for (const message of this.#stack.configure(settings)) this.#log("warn", message)
    this.#schedule()
  }

  /** A hook that never throws: what goes wrong is logged, and OpenCode goes on without it. */
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

  /** Tells the engine what has happened, and does what follows. */
  async report(event: HostEvent, takePrompt?: TakePrompt): Promise<void> {
    if (!this.#isClosed) await this.#perform(this.#stack.report(event), takePrompt)
  }

  /** The context of a session as it is now. */
  context(sessionID: string): SessionContext | undefined {
    this.#stack.refresh()
    const context = this.#stack.sessionContext(sessionID)
    this.#schedule()
    return context
  }

  /** Calls a tool, and waits for its answer. */
  async tool(sessionID: string, name: string, args: object, abort: AbortSignal): Promise<string> {
    try {
      const { text, call, effects } = this.#stack.tool(sessionID, name, args)
      const answer = call === undefined ? text : this.#answer(call, abort)
      await this.#perform(effects)
      return (await answer) ?? ""
    } catch (error) {
      return `${name}: ${messageOf(error)}`
    }
  }

  /** The messages of a session; none if it is not there. */
  async messages(sessionID: string): Promise<SessionMessage[]> {
    const { data } = await this.client.session.messages({ path: { id: sessionID } })
    return (data ?? []).map(sessionMessage)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#stack.close()
  }

  /** Never rejects. */
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
          // It takes as long as the work does; the engine is told of its end.
          this.background("prompt", () => this.#prompt(effect))
          break
        case "answer":
          this.#waiting.get(effect.call)?.(effect.text)
          this.#waiting.delete(effect.call)
          break
        case "abortSession":
          await this.client.session.abort({ path: { id: effect.sessionID } })
          break
        case "compactSession":
          this.background("compaction", () => this.#compact(effect))
          break
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
    // If it was done, OpenCode tells of it by an event.
    if (done?.data !== true) await this.report({ kind: "sessionCompacted", sessionID, messages: [] })
  }

  #log(level: "debug" | "info" | "warn" | "error", message: string, extra: Record<string, unknown> = {}): void {
    const body = { service: "callstack", level, message: `[stack] ${message}`, extra }
    void this.client.app.log({ body }).catch(() => undefined)
  }

  /** Wakes the engine when something will be due. */
  #schedule(): void {
    clearTimeout(this.#timer)
    const deadline = this.#isClosed ? undefined : this.#stack.deadline()
    if (deadline === undefined) return
    const poll = async () => {
      if (!this.#isClosed) await this.#perform(this.#stack.poll())
    }
    this.#timer = setTimeout(() => this.background("poll", poll), Math.max(0, deadline - Date.now()))
    this.#timer.unref()
  }
}
