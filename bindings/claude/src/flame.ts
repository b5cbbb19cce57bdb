// The public class of the orchestrator.

import { randomUUID } from "node:crypto"
import { resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { Budget, Frame, FrameRef, FrameUsage, Handle, HostSettings, PopStatus } from "callstack-core"
import { Stack } from "callstack-core"
import type { SessionDriver } from "./driver.js"
import { ClaudeDriver, type ClaudeOptions } from "./drivers/claude/index.js"
import type { FlameEvent, Listener } from "./events.js"
import { type FrameLimits, Limits, questionOf } from "./limits.js"
import { Orchestrator } from "./orchestrator.js"
import { titleOf } from "./titles.js"

/** Options of a {@link Flame}. The limits are those of each root, and of all frames below it together. */
export interface FlameOptions extends FrameLimits {
  /** The folder in which sessions work: the project. Default: the current folder. */
  directory?: string
  /** The folder of the stack. Default: `.callstack` in the project. */
  folder?: string
  /** What runs the sessions. Default: the Claude Agent SDK, with the options `claude`. */
  driver?: SessionDriver
  /** Options of the Claude Agent SDK: permissions, further servers of tools, the environment. */
  claude?: ClaudeOptions
  /** The token budget of contexts. */
  budget?: Budget
  /** How many ancestors a frame may have. Default 5. */
  maxDepth?: number
  /** How many sessions work at the same time; a session that waits for others does not count. 0: no limit. Default 4. */
  maxConcurrent?: number
  /** After how many milliseconds the work on a frame is stopped. 0, the default: never. */
  timeLimit?: number
  /** Whether the work on a frame goes on while it waits for a person: until somebody has answered. Default true. */
  waitForAnswers?: boolean
  /** More settings of the engine's host: which tools are offered, contexts, suggestions. */
  settings?: HostSettings
}

/** A frame for {@link Flame.plan} and {@link Flame.push}. */
export interface FramePlan extends FrameLimits {
  /** What is to be done. It is done when this is true, unless `successCriteria` says more. */
  goal: string
  /** Short name, two to five words. Default: the beginning of the goal. */
  title?: string
  /** The conditions that must hold when the frame is done. Default: the goal. */
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
  /** The engine's report on it, as the caller of a frame gets it. */
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

/** What frames have used. Costs are in US dollars, as the driver has reported them. */
export interface Usage extends FrameUsage {
  ownCostUsd: number
  totalCostUsd: number
}

/** How often a frame that waits for a person is looked at, in milliseconds. */
const LOOK_INTERVAL = 200

/**
 * An orchestrator: runs a goal as a tree of frames, each in a session of its own, and brings the results of each frame back
 * to the one that has begun it.
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
  readonly #limits: Limits
  readonly #orchestrator: Orchestrator
  readonly #ownSession = `flame-${randomUUID()}`
  readonly #closing = new AbortController()
  readonly #waitsForAnswers: boolean
  #opened: Promise<void> | undefined
  #stops = 0

  /** @throws CallstackError if the stack cannot be opened. */
  constructor(options: FlameOptions = {}) {
    const directory = resolve(options.directory ?? ".")
    const folder = resolve(directory, options.folder ?? ".callstack")
    const { model, maxTurns, maxTokens, maxBudgetUsd, maxDepth, maxConcurrent, timeLimit, budget, settings } = options
    this.#driver = options.driver ?? new ClaudeDriver(options.claude)
    this.#waitsForAnswers = options.waitForAnswers ?? true
    this.stack = Stack.open(folder)
    const limits = { model, maxTurns, maxTokens, maxBudgetUsd, tools: options.tools ?? this.#driver.defaultTools }
    this.#limits = new Limits(this.stack, folder, given(limits))
    this.#orchestrator = new Orchestrator({
      stack: this.stack,
      driver: this.#driver,
      limits: this.#limits,
      directory,
      ownSession: this.#ownSession,
    })
    const prefix = this.#driver.toolPrefix
    this.#orchestrator.host.configure({
      ...settings,
      context: { tools: { prefix }, ...settings?.context, ...(budget && { budget }) },
      calls: { ...settings?.calls, ...given({ maxDepth, maxConcurrent, timeLimit }) },
    })
  }

  /** Calls the listener for every event from now on. Returns a function that ends that. */
  on(listener: Listener): () => void {
    return this.#orchestrator.events.on(listener)
  }

  /** Returns the events from now on, until {@link Flame.close}. */
  [Symbol.asyncIterator](): AsyncGenerator<FlameEvent, void, void> {
    return this.#orchestrator.events.stream(this.#closing.signal)
  }

  /** Runs a goal as a new root. Returns when it is finished, or blocked and nobody is waited for: see {@link Flame.activate}. */
  run(goal: string, plan: Omit<FramePlan, "goal" | "parent"> = {}): Promise<Outcome> {
    return this.push({ ...plan, goal })
  }

  /** Plans a frame and runs it: see {@link Flame.plan} and {@link Flame.activate}. */
  async push(plan: FramePlan): Promise<Outcome> {
    await this.#open()
    return this.activate(this.plan(plan))
  }

  /**
   * Plans a frame, which {@link Flame.activate}, or the agent of its parent, begins. Returns its handle.
   *
   * @throws CallstackError `unknown_frame`, `parent_closed`, `dependency`.
   */
  plan({ goal, title, successCriteria, parent, dependsOn, ...limits }: FramePlan): Handle {
    const handle = this.stack.plan({
      title: title ?? titleOf(goal),
      successCriteria: successCriteria ?? goal,
      parent: parent ?? null,
      ...(dependsOn && { dependsOn: [...dependsOn] }),
    })
    this.#limits.set(handle, given(limits))
    this.#orchestrator.tellChanges()
    return handle
  }

  /**
   * Runs a planned frame, or goes on with one that is blocked or was interrupted, also beside others that run. The agent of its
   * parent learns how it ends. Returns when the frame is finished; or blocked, if neither it nor a frame below it waits for a
   * person, or if {@link FlameOptions.waitForAnswers} is false.
   *
   * @throws Error with the engine's explanation if the frame cannot be run: for example, another process runs it.
   */
  async activate(frame: FrameRef, { answer }: { answer?: string } = {}): Promise<Outcome> {
    await this.#open()
    const handle = this.stack.resolve(frame)
    await this.#begin(handle, answer)
    return this.#settle(handle)
  }

  /**
   * Goes on with everything that was interrupted or stopped, leaf first, so that each frame finds the results of its children;
   * and with what was answered meanwhile. Returns how the trees ended in which something was open.
   */
  async resume(): Promise<Outcome[]> {
    await this.#open()
    const open = this.#ownFrames()
    const pending = open.filter(isInterrupted)
    const waiting = open.filter((frame) => questionOf(frame) !== undefined)
    const roots = new Set([...pending, ...waiting].map(({ handle }) => this.stack.ancestors(handle).at(-1) ?? handle))
    await this.#goOn(pending.map(({ handle }) => handle))
    return Promise.all([...roots].map((root) => this.#settle(root)))
  }

  /**
   * Ends a frame in the name of a person. Its session is stopped, and its caller gets the results.
   *
   * @throws CallstackError `transition` if the frame is not open.
   */
  async pop(frame: FrameRef, status: PopStatus, results: string): Promise<void> {
    this.stack.pop(frame, status, results)
    await this.#changed()
  }

  /**
   * Answers a blocked frame. Its session goes on with the answer.
   *
   * @throws CallstackError `not_blocked`.
   */
  async answer(frame: FrameRef, text: string): Promise<void> {
    this.stack.answer(frame, text)
    await this.#changed()
  }

  /**
   * Stops everything that this orchestrator runs, or what runs at or below one frame: parents before children, so that nobody
   * goes on. The frames are blocked with the reason, keep what they have said, and can be resumed.
   */
  async stop(reason = "its orchestrator was stopped", frame?: FrameRef): Promise<void> {
    if (frame === undefined) this.#stops += 1
    await this.#orchestrator.stop(reason, frame === undefined ? undefined : this.stack.resolve(frame))
  }

  /** Returns the frames whose sessions work now, oldest first. */
  status(): Running[] {
    return this.#orchestrator.working.flatMap((sessionID) => {
      const frame = this.stack.frames({ status: "in_progress" }).find((open) => open.sessionID === sessionID)
      return frame === undefined ? [] : [{ frame: frame.handle, title: frame.title, sessionID }]
    })
  }

  /** Returns the frames that wait for a person, with their questions. */
  waiting(): Outcome["waiting"] {
    return this.#questions(this.stack.frames({ status: "blocked" }))
  }

  /** Returns the tree as text for people, or the tree below a frame. */
  tree(frame?: FrameRef): string {
    return this.stack.outline(frame === undefined ? {} : { root: frame })
  }

  /** Returns the tokens and the costs of a frame, alone and with everything below it. Costs are in US dollars. */
  usage(frame: FrameRef): Usage {
    const handle = this.stack.resolve(frame)
    const { own, total } = this.stack.usage(handle)
    return { own, total, ownCostUsd: this.#limits.own(handle), totalCostUsd: this.#limits.total(handle) }
  }

  /** Stops everything, as {@link Flame.stop}, ends all sessions and closes the stack. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort()
    await this.#orchestrator.stop("its orchestrator was closed")
    await this.#driver.close()
    this.#orchestrator.host.close()
  }

  #open(): Promise<void> {
    this.#opened ??= this.#connect()
    return this.#opened
  }

  async #connect(): Promise<void> {
    await this.#driver.open(this.#orchestrator)
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

  /** Begins a frame in the name of its parent's session, whose agent then learns how it ends, or in the orchestrator's own. */
  async #begin(handle: Handle, answer?: string): Promise<void> {
    const [above] = this.stack.ancestors(handle)
    const parent = above === undefined ? undefined : this.stack.frame(above)
    const hasSession = parent !== undefined && isOpen(parent) && this.#driver.isOwn(parent.sessionID)
    await this.#orchestrator.begin(handle, hasSession ? parent.sessionID : this.#ownSession, answer)
  }

  /** Waits for the end of a frame, and for people whom it, or a frame below it, asks. */
  async #settle(handle: Handle): Promise<Outcome> {
    const stops = this.#stops
    for (;;) {
      const report = await this.#orchestrator.wait([handle], this.#closing.signal)
      const frame = this.stack.frame(handle)
      const below = this.stack.frames({ relation: "subtree", frame: handle, status: "blocked" })
      const waiting = this.#questions(below)
      const isOver = frame.status !== "blocked" || waiting.length === 0
      if (isOver || !this.#waitsForAnswers || stops !== this.#stops || this.#closing.signal.aborted) {
        return { frame, report, waiting }
      }
      const answered = await this.#anyAnswered(waiting, stops)
      await this.#orchestrator.host.poll()
      await this.#orchestrator.wait(answered, this.#closing.signal)
      await this.#goOn(this.#interruptedAbove(answered, handle))
    }
  }

  /** Waits until the question of one of these frames is not open any more. Returns the frames of which that is true. */
  async #anyAnswered(waiting: Outcome["waiting"], stops: number): Promise<Handle[]> {
    for (;;) {
      this.stack.refresh()
      this.#orchestrator.tellChanges()
      const isAnswered = ({ frame, question }: Outcome["waiting"][number]) =>
        questionOf(this.stack.frame(frame)) !== question
      const answered = waiting.filter(isAnswered).map(({ frame }) => frame)
      if (answered.length > 0 || stops !== this.#stops || this.#closing.signal.aborted) return answered
      await sleep(LOOK_INTERVAL, undefined, { ref: true })
    }
  }

  /** The frames between answered ones and `top`, which were salvaged while they waited for them. */
  #interruptedAbove(answered: readonly Handle[], top: Handle): Handle[] {
    const above = new Set(answered.flatMap((handle) => (handle === top ? [] : this.#upTo(handle, top))))
    return [...above].filter((handle) => isInterrupted(this.stack.frame(handle)))
  }

  #upTo(handle: Handle, top: Handle): Handle[] {
    const ancestors = this.stack.ancestors(handle)
    return ancestors.slice(0, ancestors.indexOf(top) + 1)
  }

  /** Goes on with interrupted frames, each when those below it have ended. A frame that cannot go on is logged. */
  async #goOn(handles: readonly Handle[]): Promise<void> {
    const works = new Map<Handle, Promise<void>>()
    const work = (handle: Handle): Promise<void> => {
      const known = works.get(handle)
      if (known !== undefined) return known
      const below = new Set(this.stack.handles({ relation: "subtree", frame: handle }))
      const first = handles.filter((other) => other !== handle && below.has(other))
      const started = Promise.all(first.map(work)).then(() =>
        this.#orchestrator.host.attempt(`resume ${handle}`, async () => {
          if (!isInterrupted(this.stack.frame(handle))) return
          await this.#begin(handle)
          await this.#orchestrator.wait([handle], this.#closing.signal)
        }),
      )
      works.set(handle, started)
      return started
    }
    await Promise.all(handles.map(work))
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
    const depth = ({ handle }: Frame) => this.stack.ancestors(handle).length
    return own.sort((a, b) => depth(a) - depth(b))
  }
}

function isOpen({ status }: Frame): boolean {
  return status === "in_progress" || status === "blocked"
}

/** True if a frame can go on without a person: its process has ended, it was stopped or salvaged, or it was answered. */
function isInterrupted({ status, interruptedAt, questions }: Frame): boolean {
  if (status === "in_progress") return interruptedAt !== undefined
  const last = questions?.at(-1)
  return status === "blocked" && last !== undefined && (last.interruption === true || last.answer !== undefined)
}

/** Returns the values that are not undefined. */
function given<Values extends object>(values: Values): { [Key in keyof Values]: Exclude<Values[Key], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Key in keyof Values]: Exclude<Values[Key], undefined> }
}
