// Connects the engine with a driver: the engine decides, the driver runs sessions, and events report what
// happens.

import {
  type Frame,
  type Handle,
  Host,
  type HostActions,
  type HostAnswer,
  type HostEvent,
  type HostLogLevel,
  type SessionMessage,
  type Stack,
  type StackEvent,
  type TakePrompt,
  type Tool,
} from "callstack-core"
import { ancestorsOf } from "./ancestors.js"
import {
  requestOf,
  type SessionContext,
  type SessionDriver,
  SessionError,
  type SessionLimits,
  type SessionNews,
  type SessionOwner,
} from "./driver.js"
import { Events } from "./events.js"
import { dollars, microUsd } from "./limits.js"
import { questionOf } from "./questions.js"

/** The answer to a tool call whose wait was aborted. */
const ABORTED = "The wait was aborted."

/** The parts of an orchestrator. */
export interface Parts {
  stack: Stack
  driver: SessionDriver
  /** The folder in which sessions work. */
  directory: string
  /** The folder of the stack. */
  folder: string
  /** The session in whose name the orchestrator begins roots and waits for frames. It has no frame. */
  ownSession: string
}

/** The interval of a timer that does nothing, in milliseconds. */
const ALIVE_INTERVAL = 60_000
/** Runs the frames of a stack as sessions of a driver. */
export class Orchestrator implements HostActions, SessionOwner {
  readonly directory: string
  readonly folder: string
  readonly host: Host
  readonly events = new Events()
  readonly #stack: Stack
  readonly #driver: SessionDriver
  /** The session in whose name this process begins trees. */
  readonly ownSession: string
  /**
   * The frames that were begun from outside: the frames that {@link Orchestrator.stop} stops, with all frames
   * below them.
   */
  readonly #begun = new Set<Handle>()
  /**
   * The sessions that have a turn, each with the controller that ends the wait between two prompts of the
   * turn.
   */
  readonly #turns = new Map<string, AbortController>()
  /**
   * The frames of those sessions. A model's answer has hundreds of pieces, and each is reported with its
   * frame.
   */
  readonly #handles = new Map<string, Handle>()
  /** The functions that wait until the turn of a session begins or ends. */
  readonly #watching = new Set<() => void>()
  /** The tools that sessions are offered: the settings of an orchestrator do not change. */
  #tools: readonly Tool[] | undefined
  /** The last revision of the stack whose events were reported. */
  #told: number
  #isClosed = false
  #stops = 0

  constructor({ stack, driver, directory, folder, ownSession }: Parts) {
    this.#stack = stack
    this.#driver = driver
    this.directory = directory
    this.folder = folder
    this.ownSession = ownSession
    this.host = new Host(stack, this)
    this.#told = stack.info().revision
  }

  /** The sessions that have a turn now, including those that are only summarized. */
  get working(): readonly string[] {
    return [...this.#turns.keys()]
  }

  /** How often everything was stopped: also by an error after which no session can continue. */
  get stops(): number {
    return this.#stops
  }

  /**
   * Begins a frame in the name of a session. The session does not wait for the frame. Rejects with the
   * engine's explanation.
   */
  async begin(handle: Handle, callerID: string, answer?: string): Promise<void> {
    const args = { sessionID: handle, background: true, ...(answer !== undefined && { answer }) }
    this.#begun.add(handle)
    const { text, isError } = await this.call(callerID, "stack_frame_activate", args)
    if (!isError) return
    // If another process runs the frame, a stop of this orchestrator must not reach it.
    this.#begun.delete(handle)
    throw new Error(text)
  }

  /** Waits until no process runs these frames any more. Returns the engine's report on them. */
  async wait(handles: readonly Handle[], signal: AbortSignal): Promise<string> {
    // Nothing else keeps this process alive while another process runs the frames.
    const alive = setInterval(() => undefined, ALIVE_INTERVAL)
    let aborted: () => void = () => undefined
    const abort = new Promise<HostAnswer>((resolve) => {
      // The engine answers an aborted wait at once, unless the stack cannot be written.
      aborted = () => setImmediate(() => resolve({ text: ABORTED, title: ABORTED, ended: [], isError: false }))
    })
    if (signal.aborted) aborted()
    signal.addEventListener("abort", aborted)
    try {
      const answer = this.call(this.ownSession, "stack_wait", { frames: handles }, signal)
      return (await Promise.race([answer, abort])).text
    } finally {
      clearInterval(alive)
      signal.removeEventListener("abort", aborted)
      for (const handle of handles) this.#begun.delete(handle)
    }
  }

  /**
   * Stops the frames that this orchestrator runs, or those that run at or below one frame. They are blocked
   * with the reason, keep what they have, and can be resumed. Returns when no session of theirs has a turn.
   */
  async stop(reason: string, frame?: Handle): Promise<void> {
    if (frame === undefined) this.#stops += 1
    try {
      for (const handle of frame === undefined ? this.#running() : [frame]) this.#stack.stop(handle, reason)
      await this.host.poll()
      this.tellChanges()
    } finally {
      // This also ends the sessions whose frames have ended already, and all sessions if the stack cannot be
      // written.
      if (frame === undefined) await this.#endTurns()
    }
  }

  /** Closes the stack. */
  close(): void {
    this.#isClosed = true
    this.host.close()
  }

  /** Reports what has changed in the stack since the last time, no matter which actor has changed it. */
  tellChanges(): void {
    if (this.#isClosed) return
    if (this.#stack.info().revision === this.#told) return
    const events = this.#stack.history({ since: this.#told })
    this.#told = events.at(-1)?.revision ?? this.#told
    for (const event of events) this.#tellChange(event)
  }

  /** Executes a tool in the name of a session, and reports the changes. */
  async call(sessionID: string, name: string, args: object, signal?: AbortSignal): Promise<HostAnswer> {
    const pending = this.host.tool(sessionID, name, args, signal)
    this.tellChanges()
    const answer = await pending
    this.tellChanges()
    return answer
  }

  // What the engine asks of its host.

  log(level: HostLogLevel, message: string, data: Record<string, unknown>): void {
    this.events.emit({ kind: "log", frame: undefined, level, message, data })
  }

  createSession(parentID: string, title: string): Promise<string> {
    return this.#driver.start(parentID === this.ownSession ? undefined : parentID, title)
  }

  describeSession(sessionID: string): Promise<{ parentID?: string; title: string } | undefined> {
    if (sessionID === this.ownSession) return Promise.resolve({ title: "flame" })
    const frame = this.#frameOf(sessionID)
    return Promise.resolve(frame && { parentID: frame.parentSessionID ?? this.ownSession, title: frame.title })
  }

  messages(sessionID: string): Promise<readonly SessionMessage[]> {
    return sessionID === this.ownSession ? Promise.resolve([]) : this.#driver.messages(sessionID)
  }

  prompt(sessionID: string, text: string): Promise<void> {
    return this.#inTurn(sessionID, async (signal) => {
      this.tellChanges()
      try {
        signal.throwIfAborted()
        this.#checkSpendable(sessionID)
        await this.#driver.send(sessionID, text)
        signal.throwIfAborted()
      } catch (error) {
        // No other session can continue either. The engine first records the end of this session.
        if (error instanceof SessionError && error.isFatal) {
          setImmediate(() => this.host.background("stop", () => this.stop(error.message)))
        }
        throw error
      }
    })
  }

  /**
   * Ends the turn of a session, and of all others whose frames were blocked with its frame. All turns end at
   * the same time, so that no session asks its model again while another one ends.
   */
  async abort(sessionID: string): Promise<void> {
    const isBlocked = (other: string) => this.#frameOf(other)?.status === "blocked"
    await this.#interrupt(new Set([sessionID, ...[...this.#turns.keys()].filter(isBlocked)]))
  }

  compact(sessionID: string): Promise<boolean> {
    return this.#inTurn(sessionID, (signal) => {
      // An agent that asks for a checkpoint continues in a smaller conversation. A session that has ended is
      // only asked for a summary. Only the request for a checkpoint is recorded in the frame, and the engine
      // asks for a last summary only after the checkpoint.
      const isCheckpoint = this.#frameOf(sessionID)?.summaryRequest?.type === "manual_summary"
      return isCheckpoint ? this.#driver.compact(sessionID) : this.#summarize(sessionID, signal)
    })
  }

  // What a driver asks of its owner.

  get tools(): readonly Tool[] {
    this.#tools ??= this.#stack.tools()
    return this.#tools
  }

  context(sessionID: string): SessionContext | undefined {
    return this.host.context(sessionID)
  }

  tool(sessionID: string, name: string, args: object, signal: AbortSignal): Promise<HostAnswer> {
    return this.call(sessionID, name, args, signal)
  }

  /**
   * Reports an event. The engine has taken the event when this returns. Only a caller that wants the prompt
   * of a compaction waits for the effects, because one of the effects can end the turn that reports.
   */
  async report(event: HostEvent, takePrompt?: TakePrompt): Promise<void> {
    const done = this.host.report(event, takePrompt)
    const frame = "sessionID" in event ? this.#handleOf(event.sessionID) : undefined
    const request = requestOf(event)
    if (request !== undefined && frame !== undefined) {
      this.events.emit({ kind: "usage", frame, request })
      this.#checkBudget(frame)
    }
    if (takePrompt !== undefined) await done
    else this.host.background(event.kind, () => done)
    // These two are frequent, and do not change the status of a frame.
    if (event.kind !== "messageFinished" && event.kind !== "toolExecuted") this.tellChanges()
  }

  tell(sessionID: string, news: SessionNews): void {
    const frame = this.#handleOf(sessionID)
    if (frame === undefined) return
    this.events.emit({ ...news, frame })
    if (news.kind !== "cost") return
    this.#stack.recordCost(frame, { conversation: news.session, costMicroUsd: microUsd(news.costUsd) })
    this.#checkBudget(frame)
  }

  isWorking(sessionID: string): boolean {
    return this.#frameOf(sessionID)?.status === "in_progress"
  }

  isOpen(sessionID: string): boolean {
    const status = this.#frameOf(sessionID)?.status
    return status === "in_progress" || status === "blocked"
  }

  limits(sessionID: string): SessionLimits {
    const frame = this.#handleOf(sessionID)
    if (frame === undefined) throw new Error(`session ${sessionID} has no frame`)
    const { model, tools = [], maxTurns, maxCostMicroUsd } = this.#stack.allowance(frame)
    const maxBudgetUsd = maxCostMicroUsd === undefined ? undefined : dollars(maxCostMicroUsd)
    return { frame, model, tools, maxTurns, maxBudgetUsd }
  }

  /** Works in a session. The signal is aborted when the turn of the session is ended. */
  async #inTurn<Result>(sessionID: string, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const turn = new AbortController()
    try {
      this.#turns.set(sessionID, turn)
      this.#tellTurns()
      return await work(turn.signal)
    } finally {
      this.#turns.delete(sessionID)
      this.#handles.delete(sessionID)
      this.#tellTurns()
    }
  }

  /** Asks a session that has ended without a pop for a summary. Returns false if there is no summary. */
  async #summarize(sessionID: string, signal: AbortSignal): Promise<boolean> {
    let prompt = ""
    await this.report({ kind: "sessionCompacting", sessionID }, (text) => {
      prompt = text
    })
    if (signal.aborted) return false
    const summary = await this.#driver.summarize(sessionID, prompt)
    if (summary === undefined) return false
    for (const artifact of summary.artifacts) this.#stack.addArtifact(`id:${sessionID}`, artifact)
    for (const decision of summary.decisions) this.#stack.addDecision(`id:${sessionID}`, decision)
    const message = { id: `summary-${Date.now()}`, role: "assistant", text: summary.text, summary: true }
    await this.report({ kind: "sessionCompacted", sessionID, messages: [message] })
    return true
  }

  /** @throws SessionError if a session may not spend any more, so that no further request is made. */
  #checkSpendable(sessionID: string): void {
    const handle = this.#handleOf(sessionID)
    const overspent = handle === undefined ? undefined : this.#stack.overspent(handle)
    if (overspent !== undefined) throw new SessionError(`${overspent.frame} may not continue: ${overspent.reason}`)
  }

  #checkBudget(handle: Handle): void {
    const overspent = this.#stack.overspent(handle)
    if (overspent === undefined) return
    const { frame, reason } = overspent
    if (this.#stack.stop(frame, reason).length === 0) return
    this.events.emit({ kind: "overspent", frame, reason })
    this.host.background("stop", () => this.host.poll())
  }

  #tellChange(event: StackEvent): void {
    if (event.kind !== "statusChanged" && event.kind !== "held" && event.kind !== "invalidated") return
    const frame = this.#stack.frame(event.handle)
    const { handle, title, sessionID } = frame
    if (event.kind === "held") {
      if (event.holder.kind !== "host" || event.holder.since !== event.time) return
      const parent = ancestorsOf(this.#stack, handle)[0]
      const again = frame.usage !== undefined || frame.questions !== undefined
      this.events.emit({ kind: "begun", frame: handle, title, parent, sessionID, again })
    } else if (event.kind === "invalidated") {
      const { reason } = event
      this.events.emit({
        kind: "ended",
        frame: handle,
        title,
        status: "invalidated",
        results: frame.results ?? "",
        reason,
      })
    } else if (event.status !== "in_progress") {
      const question = questionOf(frame)
      const reason = interruptionOf(frame)
      const { status } = event
      this.events.emit({
        kind: "ended",
        frame: handle,
        title,
        status,
        results: frame.results ?? "",
        ...(reason !== undefined && { reason }),
      })
      if (question !== undefined) this.events.emit({ kind: "waiting", frame: handle, title, question })
    }
  }

  /** The frames that this orchestrator runs. */
  #running(): Set<Handle> {
    const working = this.working.flatMap((sessionID) => this.#handleOf(sessionID) ?? [])
    return new Set([...this.#begun, ...working])
  }

  async #interrupt(sessions: Iterable<string>): Promise<void> {
    const ends = [...sessions].map((sessionID) => {
      this.#turns.get(sessionID)?.abort(new SessionError("the session was stopped"))
      return this.#driver.interrupt(sessionID)
    })
    await Promise.all(ends)
  }

  /** Ends the turns of all sessions, also of those that begin meanwhile, and waits for their ends. */
  async #endTurns(): Promise<void> {
    const seen = new Set<AbortController>()
    const interrupts: Promise<void>[] = []
    while (this.#turns.size > 0) {
      const changed = new Promise<void>((resolve) => this.#watching.add(resolve))
      const begun = [...this.#turns].filter(([, turn]) => !seen.has(turn))
      for (const [, turn] of begun) seen.add(turn)
      interrupts.push(this.#interrupt(begun.map(([sessionID]) => sessionID)))
      // If a session cannot be interrupted, its turn would never end.
      await Promise.race([changed, Promise.all(interrupts).then(() => changed)])
    }
  }

  #tellTurns(): void {
    for (const resolve of this.#watching) resolve()
    this.#watching.clear()
  }

  #handleOf(sessionID: string): Handle | undefined {
    const known = this.#handles.get(sessionID)
    if (known !== undefined) return known
    const handle = this.#frameOf(sessionID)?.handle
    if (handle !== undefined && this.#turns.has(sessionID)) this.#handles.set(sessionID, handle)
    return handle
  }

  #frameOf(sessionID: string): Frame | undefined {
    try {
      return this.#stack.frame(`id:${sessionID}`)
    } catch {
      return undefined
    }
  }
}

/**
 * Returns why the work on a blocked frame was interrupted or stopped; undefined if its agent has blocked it.
 */
function interruptionOf({ status, questions }: Frame): string | undefined {
  const last = questions?.at(-1)
  return status === "blocked" && last?.interruption === true ? last.question : undefined
}
