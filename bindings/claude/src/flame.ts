// The public class of the orchestrator.

import { randomUUID } from "node:crypto"
import { setMaxListeners } from "node:events"
import { statSync } from "node:fs"
import { resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { Budget, Frame, FrameRef, FrameUsage, Handle, HostSettings, PopStatus } from "callstack-core"
import { Stack } from "callstack-core"
import { ancestorsOf } from "./ancestors.js"
import type { SessionDriver } from "./driver.js"
import { ClaudeDriver, type ClaudeOptions } from "./drivers/claude/index.js"
import type { FlameEvent, Listener } from "./events.js"
import { given } from "./given.js"
import { dollars, engineLimits, type FrameLimits } from "./limits.js"
import { Orchestrator } from "./orchestrator.js"
import { questionOf } from "./questions.js"
import { titleOf } from "./titles.js"

/** Options of a {@link Flame}. The limits are those of each root, and of all frames below it together. */
export interface FlameOptions extends FrameLimits {
  /** The folder in which sessions work: the project. Default: the current folder. */
  directory?: string
  /** The folder of the stack. Default: `.callstack` in the project. */
  folder?: string
  /** The driver that runs the sessions. Default: the Claude Agent SDK, with the options `claude`. */
  driver?: SessionDriver
  /** Options of the Claude Agent SDK: permissions, further servers of tools, the environment. */
  claude?: ClaudeOptions
  /** The token budget of contexts. */
  budget?: Budget
  /** How many ancestors a frame may have. Default 5. */
  maxDepth?: number
  /**
   * How many sessions work at the same time. A session that waits for other sessions does not count. 0: no
   * limit. Default 4.
   */
  maxConcurrent?: number
  /** After how many milliseconds the work on a frame is stopped. 0, the default: never. */
  timeLimit?: number
  /**
   * Whether `state.json` and `frames/` next to the database are kept up to date, for programs that read these
   * files. This doubles the work for each request. Default false: the program `callstack` and this library
   * read the database.
   */
  mirror?: boolean
  /** Whether the work on a frame that waits for a person lasts until a person has answered. Default true. */
  waitForAnswers?: boolean
  /** More settings of the engine's host: which tools are offered, contexts, suggestions. */
  settings?: HostSettings
}

/** A frame for {@link Flame.plan} and {@link Flame.push}. */
export interface FramePlan extends FrameLimits {
  /** The work to be done. Agents see the whole text, as the beginning of the criteria. */
  goal: string
  /** Short name, two to five words. Default: the beginning of the goal. */
  title?: string
  /** More conditions that must hold when the frame is done. Default: that the goal is reached. */
  successCriteria?: string
  /** The parent; undefined: a root. */
  parent?: FrameRef | undefined
  /** The frames whose results this frame needs. */
  dependsOn?: readonly FrameRef[]
}

/** How the work on a frame has ended. */
export interface Outcome {
  /** The frame as it is now: its status, results, artifacts and decisions. */
  frame: Frame
  /** The engine's report on the frame, as the caller of a frame gets it. */
  report: string
  /** The frames, at or below it, that wait for a person, with their questions. */
  waiting: { frame: Handle; question: string }[]
}

/** A frame whose session works now. */
export interface Running {
  frame: Handle
  title: string
  sessionID: string
}

/** The tokens and costs that frames have used. Costs are in US dollars, as the driver has reported them. */
export interface Usage extends FrameUsage {
  ownCostUsd: number
  totalCostUsd: number
}

/** The interval of looks at a frame that waits for a person, in milliseconds. */
const LOOK_INTERVAL = 200

/**
 * An orchestrator: runs a goal as a tree of frames, each in a session of its own, and brings the results of
 * each frame back to the frame that has begun it.
 *
 * ```js
 * const flame = new Flame({ model: "claude-sonnet-5", claude: { permissionMode: "acceptEdits" } })
 * flame.on((event) => console.log(event.frame, event.kind))
 * const { frame } = await flame.run("Build a REST API with authentication")
 * console.log(flame.tree(), frame.results)
 * await flame.close()
 * ```
 */
export class Flame {
  /** The stack: for reading, and for commands that have no method here. */
  readonly stack: Stack
  readonly #driver: SessionDriver
  readonly #orchestrator: Orchestrator
  readonly #ownSession = `flame-${process.pid}-${randomUUID()}`
  readonly #closing = new AbortController()
  readonly #waitsForAnswers: boolean
  /** The operations that run, resume or wait in the name of a caller. */
  readonly #operations = new Set<Promise<unknown>>()
  #opened: Promise<void> | undefined
  #isDriverOpen = false
  #closed: Promise<void> | undefined

  /** @throws Error if the project's folder does not exist; CallstackError if the stack cannot be opened. */
  constructor(options: FlameOptions = {}) {
    const { model, maxTurns, maxTokens, maxBudgetUsd, maxDepth, maxConcurrent, timeLimit, budget, settings } = options
    const limits = engineLimits(given({ model, maxTurns, maxTokens, maxBudgetUsd }))
    const directory = resolve(options.directory ?? ".")
    if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
      throw new Error(`the project's folder ${directory} does not exist; create it, or name another one`)
    }
    const folder = resolve(directory, options.folder ?? ".callstack")
    this.#driver = options.driver ?? new ClaudeDriver(options.claude)
    this.#waitsForAnswers = options.waitForAnswers ?? true
    // Each wait listens to this signal.
    setMaxListeners(0, this.#closing.signal)
    this.stack = Stack.open(folder, { mirror: options.mirror ?? false })
    const tools = options.tools ?? this.#driver.defaultTools
    this.#orchestrator = new Orchestrator({
      stack: this.stack,
      driver: this.#driver,
      directory,
      folder,
      ownSession: this.#ownSession,
    })
    const prefix = this.#driver.toolPrefix
    const problems = this.#orchestrator.host.configure({
      ...settings,
      context: { tools: { prefix }, ...settings?.context, ...(budget && { budget }) },
      // The conversations of its sessions are not folded.
      calls: {
        ...settings?.calls,
        ...given({ maxDepth, maxConcurrent, timeLimit }),
        limits: { ...limits, tools },
        in: "session",
      },
    })
    if (problems.length === 0) return
    this.#orchestrator.close()
    throw new RangeError(problems.join("; "))
  }

  /** Calls the listener for every event from now on. Returns a function that removes the listener. */
  on(listener: Listener): () => void {
    return this.#orchestrator.events.on(listener)
  }

  /**
   * Returns the events from now on, until {@link Flame.close}. If more than 10,000 are unread, the oldest of
   * them are dropped.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<FlameEvent, void, void> {
    return this.#orchestrator.events.stream(this.#closing.signal)
  }

  /**
   * Runs a goal as a new root. Returns when the root is finished, or when it is blocked and the orchestrator
   * does not wait for a person: see {@link Flame.activate}.
   */
  run(goal: string, plan: Omit<FramePlan, "goal" | "parent"> = {}): Promise<Outcome> {
    return this.push({ ...plan, goal })
  }

  /** Plans a frame and runs it: see {@link Flame.plan} and {@link Flame.activate}. */
  push(plan: FramePlan): Promise<Outcome> {
    return this.#operate((isStopped) => {
      const handle = this.plan(plan)
      return this.#activate(handle, isStopped).catch((error: unknown) => {
        // No caller asked for a frame that stays planned.
        if (this.stack.frame(handle).status === "planned") this.stack.invalidate(handle, "it could not be begun")
        throw error
      })
    })
  }

  /**
   * Plans a frame. {@link Flame.activate}, or the agent of its parent, begins it. Returns its handle.
   *
   * @throws CallstackError `unknown_frame`, `parent_closed`, `dependency`, `tools_exceed`; RangeError for a
   * limit that is not positive.
   */
  plan({ goal, title, successCriteria, parent, dependsOn, ...limits }: FramePlan): Handle {
    const handle = this.stack.plan({
      title: title ?? titleOf(goal),
      successCriteria: successCriteria === undefined ? goal : `${goal}\n${successCriteria}`,
      parent: parent ?? null,
      limits: engineLimits(given(limits)),
      ...(dependsOn && { dependsOn: [...dependsOn] }),
    })
    this.#orchestrator.tellChanges()
    return handle
  }

  /**
   * Runs a planned frame, or resumes a frame that is blocked or was interrupted, also while other frames run,
   * and sets the limits that are given. The agent of its parent learns how it ends. Returns when the frame is
   * finished. Also returns when it is blocked, if neither it nor a frame below it waits for a person, or if
   * {@link FlameOptions.waitForAnswers} is false.
   *
   * @throws Error with the engine's explanation if the frame cannot be run: for example, another process runs
   * it.
   */
  activate(frame: FrameRef, { answer, ...limits }: { answer?: string } & FrameLimits = {}): Promise<Outcome> {
    return this.#operate((isStopped) => {
      const handle = this.stack.resolve(frame)
      this.stack.setLimits(handle, engineLimits(given(limits)))
      return this.#activate(handle, isStopped, answer)
    })
  }

  /**
   * Resumes everything that was interrupted or stopped, leaf first, so that each frame finds the results of
   * its children. Also resumes the frames that were answered meanwhile. Waits for frames that another process
   * runs. Returns how the trees ended that had open frames. Roots keep the limits with which they were begun,
   * except for those that are given here.
   */
  resume(limits: FrameLimits = {}): Promise<Outcome[]> {
    return this.#operate(async (isStopped) => {
      await this.#orchestrator.host.poll()
      const own = this.#ownFrames()
      // A process that was killed keeps its frames until its leases end.
      const elsewhere = own.filter((frame) => isCalled(frame) && !this.#runsHere(frame))
      const pending = [...this.#resumable(own.map(({ handle }) => handle)), ...elsewhere.map(({ handle }) => handle)]
      const waiting = this.#questions(own).map(({ frame }) => frame)
      const roots = new Set([...pending, ...waiting].map((handle) => ancestorsOf(this.stack, handle).at(-1) ?? handle))
      for (const root of roots) this.stack.setLimits(root, engineLimits(given(limits)))
      await this.#goOn(pending, isStopped)
      return Promise.all([...roots].map((root) => this.#settle(root, isStopped)))
    })
  }

  /**
   * Ends a frame in the name of a person. Its session is stopped, and its caller gets the results. If no
   * caller waits for them, the session of the parent gets them when the parent is resumed: see
   * {@link Flame.resume}.
   *
   * @throws CallstackError `transition` if the frame is not open.
   */
  async pop(frame: FrameRef, status: PopStatus, results: string): Promise<void> {
    this.stack.pop(frame, { status, results })
    await this.#changed()
  }

  /**
   * Answers a blocked frame. Its session resumes with the answer at once if an operation of this or another
   * process waits for the frame. Otherwise {@link Flame.resume} or {@link Flame.activate} resumes it.
   *
   * @throws CallstackError `not_blocked`.
   */
  async answer(frame: FrameRef, text: string): Promise<void> {
    this.stack.answer(frame, text)
    await this.#changed()
  }

  /**
   * Stops everything that this orchestrator runs, or what runs at or below one frame. All sessions stop at
   * the same time, so that no session asks its model again. The frames are blocked with the reason, keep what
   * they have said, and can be resumed.
   */
  async stop(reason = "its orchestrator was stopped", frame?: FrameRef): Promise<void> {
    this.#checkOpen()
    const handle = frame === undefined ? undefined : this.stack.resolve(frame)
    await this.#track(this.#orchestrator.stop(reason, handle))
  }

  /** Returns the frames whose sessions work now, oldest first. */
  status(): Running[] {
    this.stack.refresh()
    return this.#orchestrator.working.flatMap((sessionID) => {
      const frame = this.stack.frames({ status: "in_progress" }).find((open) => open.sessionID === sessionID)
      return frame === undefined ? [] : [{ frame: frame.handle, title: frame.title, sessionID }]
    })
  }

  /** Returns the frames that wait for a person, with their questions. */
  waiting(): Outcome["waiting"] {
    this.stack.refresh()
    return this.#questions(this.stack.frames({ status: "blocked" }))
  }

  /** Returns the tree as text for people, or the tree below a frame. */
  tree(frame?: FrameRef): string {
    this.stack.refresh()
    return this.stack.outline(frame === undefined ? {} : { root: frame })
  }

  /**
   * Returns the tokens and the costs of a frame, alone and with everything below it. Costs are in US dollars.
   */
  usage(frame: FrameRef): Usage {
    this.stack.refresh()
    const usage = this.stack.usage(frame)
    return { ...usage, ownCostUsd: dollars(usage.ownCostMicroUsd), totalCostUsd: dollars(usage.totalCostMicroUsd) }
  }

  /**
   * Stops everything, as {@link Flame.stop}, ends all sessions and closes the stack. Operations that wait for
   * frames return before.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    // If the stack cannot be written, sessions still end: their frames are interrupted then.
    await this.#orchestrator.host.attempt("stop", () => this.#orchestrator.stop("its orchestrator was closed"))
    this.#closing.abort()
    await this.#driver.close()
    await Promise.allSettled(this.#operations)
    this.#orchestrator.close()
  }

  /** Does something as soon as sessions can run. */
  #operate<Result>(work: (isStopped: () => boolean) => Promise<Result>): Promise<Result> {
    const { stops } = this.#orchestrator
    const isStopped = () => stops !== this.#orchestrator.stops
    return this.#track(this.#open().then(() => work(isStopped)))
  }

  /** Makes {@link Flame.close} wait for the end of an operation. */
  #track<Result>(operation: Promise<Result>): Promise<Result> {
    const forget = () => this.#operations.delete(operation)
    this.#operations.add(operation)
    operation.then(forget, forget)
    return operation
  }

  async #open(): Promise<void> {
    this.#checkOpen()
    this.#opened ??= this.#connect()
    try {
      await this.#opened
    } catch (error) {
      // The next call tries again, because the person may have removed the cause.
      this.#opened = undefined
      throw error
    }
    this.#checkOpen()
  }

  #checkOpen(): void {
    if (this.#closed !== undefined) throw new Error("this orchestrator is closed; make a new one")
  }

  async #connect(): Promise<void> {
    if (!this.#isDriverOpen) await this.#driver.open(this.#orchestrator)
    this.#isDriverOpen = true
    // Records which calls of dead processes were interrupted.
    await this.#orchestrator.host.poll()
    await this.#orchestrator.report({ kind: "sessionCreated", sessionID: this.#ownSession, title: "flame" })
    for (const { sessionID, parentSessionID: parentID, title } of this.#ownFrames()) {
      await this.#orchestrator.report({
        kind: "sessionCreated",
        sessionID,
        parentID: parentID ?? this.#ownSession,
        title,
      })
    }
  }

  /** Runs a frame, unless everything was stopped before it began. */
  async #activate(handle: Handle, isStopped: () => boolean, answer?: string): Promise<Outcome> {
    if (!isStopped()) await this.#begin(handle, answer)
    return this.#settle(handle, isStopped)
  }

  /**
   * Begins a frame in the name of its parent's session, whose agent then learns how the frame ends, or in the
   * name of the orchestrator's own session.
   */
  async #begin(handle: Handle, answer?: string): Promise<void> {
    const [above] = ancestorsOf(this.stack, handle)
    const parent = above === undefined ? undefined : this.stack.frame(above)
    const hasSession = parent !== undefined && isOpen(parent) && this.#driver.isOwn(parent.sessionID)
    await this.#orchestrator.begin(handle, hasSession ? parent.sessionID : this.#ownSession, answer)
  }

  #wait(handles: readonly Handle[]): Promise<string> {
    return this.#orchestrator.wait(handles, this.#closing.signal)
  }

  /** Waits for the end of a frame, and for the people that the frame, or a frame below it, asks. */
  async #settle(handle: Handle, isStopped: () => boolean): Promise<Outcome> {
    const since = this.stack.info().revision
    const seen = new Set<Handle>()
    for (;;) {
      const report = await this.#wait([handle])
      const frame = this.stack.frame(handle)
      // The frame was answered, and resumed, before it was read here.
      if (frame.status === "in_progress" && isCalled(frame) && !this.#closing.signal.aborted) continue
      const below = this.stack.frames({ relation: "subtree", frame: handle, status: "blocked" })
      // After a stop, the words of a parent are read before those of its children.
      await this.#wait(this.#resumable(below.map((blocked) => blocked.handle)))
      const waiting = this.#questions(below)
      const missed = frame.status === "blocked" && !isStopped() ? this.#withMissedResults(below, since, seen) : []
      if (missed.length > 0) {
        await this.#goOn(missed, isStopped)
        continue
      }
      const isOver = frame.status !== "blocked" || waiting.length === 0
      if (isOver || !this.#waitsForAnswers || isStopped()) return { frame, report, waiting }
      const answered = await this.#anyAnswered(waiting, isStopped)
      if (answered.length === 0) continue
      await this.#orchestrator.host.poll()
      await this.#wait(answered)
      await this.#goOn(this.#interruptedAbove(answered, handle), isStopped)
    }
  }

  /**
   * The blocked frames that were salvaged while a child of theirs still worked, and whose conversations do
   * not have the results of the child. `seen` are the children that caused a frame to resume before.
   * Frames that were stopped since a revision are not resumed.
   */
  #withMissedResults(blocked: readonly Frame[], since: number, seen: Set<Handle>): Handle[] {
    const stopped = new Set(this.stack.history({ kind: "stopped", since }).map((event) => event.handle))
    const isStopped = (handle: Handle) =>
      [handle, ...ancestorsOf(this.stack, handle)].some((above) => stopped.has(above))
    const { missed } = this.stack.resumption(blocked.map(({ handle }) => handle))
    const isNew = missed.filter(({ frame, child }) => !(seen.has(child) || isStopped(frame)))
    for (const { child } of isNew) seen.add(child)
    return [...new Set(isNew.map(({ frame }) => frame))]
  }

  /**
   * Waits until the question of one of these frames is not open any more. Returns the frames whose questions
   * are not open; none after a stop.
   */
  async #anyAnswered(waiting: Outcome["waiting"], isStopped: () => boolean): Promise<Handle[]> {
    while (!isStopped()) {
      this.stack.refresh()
      this.#orchestrator.tellChanges()
      const isAnswered = ({ frame, question }: Outcome["waiting"][number]) =>
        questionOf(this.stack.frame(frame)) !== question
      const answered = waiting.filter(isAnswered).map(({ frame }) => frame)
      if (answered.length > 0) return answered
      await sleep(LOOK_INTERVAL)
    }
    return []
  }

  /**
   * The frames between answered frames and `top` that were salvaged while they waited for the answered
   * frames.
   */
  #interruptedAbove(answered: readonly Handle[], top: Handle): Handle[] {
    return this.#resumable(answered.flatMap((handle) => (handle === top ? [] : this.#upTo(handle, top))))
  }

  /** Returns the frames among these that can resume without a person. */
  #resumable(handles: readonly Handle[]): Handle[] {
    const { now, later } = this.stack.resumption(handles)
    return [...now, ...later]
  }

  #upTo(handle: Handle, top: Handle): Handle[] {
    const ancestors = ancestorsOf(this.stack, handle)
    return ancestors.slice(0, ancestors.indexOf(top) + 1)
  }

  /**
   * Resumes frames, each when the frames below it have ended. Also resumes frames below them that another
   * process ran, if that process was killed. A frame that cannot be resumed is logged.
   */
  async #goOn(handles: readonly Handle[], isStopped: () => boolean): Promise<void> {
    const { host } = this.#orchestrator
    const wanted = new Set(handles)
    const works = new Map<Handle, Promise<void>>()
    const follow = (handle: Handle, work: () => Promise<void>) =>
      works.set(
        handle,
        host.attempt(`resume ${handle}`, work).finally(() => works.delete(handle)),
      )
    while (!isStopped()) {
      this.stack.refresh()
      const { now, running } = this.stack.resumption([...wanted])
      for (const handle of now.filter((handle) => !works.has(handle))) {
        follow(handle, () => this.#goOnWith(handle, wanted))
      }
      for (const handle of running.filter((handle) => !works.has(handle))) {
        this.#tellRunner(this.stack.frame(handle))
        follow(handle, async () => {
          await this.#wait([handle])
          if (hasLapsed(this.stack.frame(handle))) wanted.add(handle)
        })
      }
      if (works.size === 0) return
      await Promise.race(works.values())
    }
    await Promise.all(works.values())
  }

  /**
   * Resumes a frame, and removes it from the wanted frames, unless another process has begun it meanwhile.
   */
  async #goOnWith(handle: Handle, wanted: Set<Handle>): Promise<void> {
    try {
      await this.#begin(handle)
    } catch (error) {
      if (isCalled(this.stack.frame(handle))) return
      wanted.delete(handle)
      throw error
    }
    wanted.delete(handle)
    await this.#wait([handle])
  }

  /**
   * The callers of a running frame and of the frames above it. One of them is the session that a process used
   * to begin the tree.
   */
  #callers({ handle }: Frame): string[] {
    const line = [handle, ...ancestorsOf(this.stack, handle)].map((above) => this.stack.frame(above))
    return line.filter(isCalled).map(({ holder }) => holder?.caller ?? "")
  }

  #runsHere(frame: Frame): boolean {
    return this.#callers(frame).includes(this.#orchestrator.ownSession)
  }

  /** Logs which process runs a frame. */
  #tellRunner(frame: Frame): void {
    const { handle, holder } = frame
    const found = this.#callers(frame)
      .map((caller) => /^flame-(\d+)-/.exec(caller)?.[1])
      .find((id) => id !== undefined)
    const who = found === undefined ? "another process" : `process ${found}`
    const message = `${who} runs ${handle}; this one waits for its end`
    this.#orchestrator.log("info", message, { handle, process: Number(found ?? 0), host: holder?.name ?? "" })
  }

  async #changed(): Promise<void> {
    await this.#orchestrator.host.poll()
    this.#orchestrator.tellChanges()
  }

  #questions(blocked: readonly Frame[]): Outcome["waiting"] {
    return blocked.flatMap((frame) => {
      const question = questionOf(frame)
      return question === undefined ? [] : [{ frame: frame.handle, question }]
    })
  }

  /** The open frames of this driver's sessions, parents first. */
  #ownFrames(): Frame[] {
    const open = [...this.stack.frames({ status: "in_progress" }), ...this.stack.frames({ status: "blocked" })]
    const own = open.filter(({ sessionID }) => this.#driver.isOwn(sessionID))
    const depth = ({ handle }: Frame) => ancestorsOf(this.stack, handle).length
    return own.sort((a, b) => depth(a) - depth(b))
  }
}

/** True if a process runs a frame. */
function isCalled({ holder }: Frame): boolean {
  return holder?.kind === "host" && holder.released === undefined
}

/** True if the process that ran a frame has ended. */
function hasLapsed({ status, holder }: Frame): boolean {
  return status === "in_progress" && holder?.released?.how === "interrupted"
}

function isOpen({ status }: Frame): boolean {
  return status === "in_progress" || status === "blocked"
}
