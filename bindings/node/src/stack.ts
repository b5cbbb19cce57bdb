// The stack that hosts hold: commands in, answers out, contexts on demand.

import { Context } from "./context.js"
import { CallstackError } from "./error.js"
import { type Address, Native } from "./native.js"
import type {
  Chunk,
  Effect,
  EventQuery,
  Frame,
  FrameQuery,
  FrameRef,
  FrameStatus,
  Handle,
  HostEvent,
  HostSettings,
  Identity,
  Imported,
  Invalidated,
  LogPage,
  LogQuery,
  MemoryOptions,
  NewChunk,
  NewFrame,
  NewRun,
  Next,
  OutlineOptions,
  Popped,
  PopStatus,
  Register,
  Reply,
  RunSettings,
  RunStatus,
  SessionContext,
  Settings,
  StackEvent,
  StackInfo,
  StackOptions,
  StackState,
  Tool,
  ToolAnswer,
} from "./types.js"

/** The numbers of the statuses (`CALLSTACK_STATUS_…`). */
const STATUSES: Readonly<Record<FrameStatus, number>> = {
  planned: 0,
  in_progress: 1,
  completed: 2,
  failed: 3,
  blocked: 4,
  invalidated: 5,
}

/** Frees the stacks that nobody closed and nobody can reach any more. */
const forgotten = new FinalizationRegistry<Address>((address) => {
  try {
    Native.get().close(address)
  } catch {
    // What was acknowledged is in the database; the next open writes the files beside it.
  }
})

/**
 * A call stack: a tree of frames, and the contexts of its frames.
 *
 * A stack in a folder lasts: what a command has acknowledged is there after the death of the process. Any number of
 * processes and worker threads may have the folder open, each with a `Stack` of its own. A call that fails throws a
 * {@link CallstackError} and has changed nothing.
 *
 * ```js
 * using stack = Stack.open(".opencode/stack")   // or close() it
 * const root = stack.push({ title: "Build a shop", sessionID: "ses_1" })
 * console.log(stack.context(root).xml)
 * ```
 */
export class Stack implements Disposable {
  readonly #native: Native
  #open: Address | undefined

  private constructor(native: Native, address: Address) {
    this.#native = native
    this.#open = address
    forgotten.register(this, address, this)
  }

  /** Opens the stack of a folder, and makes both if they are not there. */
  static open(folder: string, options?: StackOptions): Stack {
    return Stack.#make("open", folder, json(options))
  }

  /** An empty stack in memory. */
  static inMemory(options?: MemoryOptions): Stack {
    return Stack.#make("in_memory", json(options))
  }

  /**
   * A stack in memory that begins with a state: an object, or the text of a `state.json`. What was inconsistent is mended
   * and listed in {@link Stack.info}; no frame is lost.
   */
  static fromState(state: StackState | string, options?: Pick<MemoryOptions, "tokens">): Stack {
    return Stack.#make("from_state", typeof state === "string" ? state : json(state), json(options))
  }

  /** Makes the stack of an exported history in an empty folder: the same frames, handles and history. */
  static rebuild(folder: string, history: string, options?: StackOptions): Stack {
    return Stack.#make("rebuild", folder, history, json(options))
  }

  /**
   * The default settings, with what the environment variables `STACK_TOKEN_BUDGET_TOTAL`, `…_ANCESTORS`, `…_SIBLINGS` and
   * `…_CURRENT` say.
   */
  static settings(): Required<Settings> {
    return JSON.parse(Native.get().text("settings", undefined)) as Required<Settings>
  }

  static #make(name: "open" | "in_memory" | "from_state" | "rebuild", ...inputs: (string | undefined)[]): Stack {
    const native = Native.get()
    return new Stack(native, native.number(name, undefined, ...inputs))
  }

  get #address(): Address {
    if (this.#open === undefined) throw new CallstackError("closed", "this stack has been closed; open it again")
    return this.#open
  }

  /** Flushes the stack and gives it back. Closing it again does nothing. */
  close(): void {
    if (this.#open === undefined) return
    const address = this.#open
    this.#open = undefined
    forgotten.unregister(this)
    this.#native.close(address)
  }

  /** The same as {@link Stack.close}, for `using`. */
  [Symbol.dispose](): void {
    this.close()
  }

  /** Brings everything to the disk: the files beside the database too, and safe from a loss of power. */
  flush(): void {
    this.#native.run("flush", this.#address)
  }

  /** Shows readers what other processes have done since the last command or refresh. True: there was something new. */
  refresh(): boolean {
    return this.#native.number("refresh", this.#address) !== 0n
  }

  /**
   * Does what was left for later and is due, and says what the host is to do. A host that reports events, or may be idle
   * for long, calls it at {@link Stack.deadline}.
   */
  poll(): Effect[] {
    return this.#record("poll")
  }

  /** When {@link Stack.poll} will have something to do, in milliseconds since the Unix epoch; undefined: it has nothing. */
  deadline(): number | undefined {
    return Number(this.#native.number("deadline", this.#address)) || undefined
  }

  /** How the stack is doing: frames, cache, files, repairs. */
  info(): StackInfo {
    return this.#record("info")
  }

  /** Makes a frame that is worked on at once, and makes it the active one. */
  push(frame: NewFrame): Handle {
    return this.#native.text("push", this.#address, json(frame))
  }

  /** Makes a frame for later. */
  plan(frame: NewFrame): Handle {
    return this.#native.text("plan", this.#address, json(frame))
  }

  /** Makes several planned children of one frame, all or none. A child may depend on those before it. */
  planChildren(parent: FrameRef, children: readonly NewFrame[]): Handle[] {
    return this.#record("plan_children", parent, json(children))
  }

  /** The frame of a session; a placeholder is made, below `parent` or as a root, if the session has none. */
  ensure(sessionID: string, placeholder: { title?: string; parent?: FrameRef } = {}): Handle {
    return this.#native.text("ensure", this.#address, sessionID, placeholder.title, placeholder.parent)
  }

  /** Gives a placeholder its title and criteria, once. */
  identify(frame: FrameRef, identity: Identity): void {
    const { title, successCriteria, successCriteriaCompacted } = identity
    this.#native.run("identify", this.#address, frame, title, successCriteria, successCriteriaCompacted)
  }

  /** Begins a planned frame, and makes it the active one. */
  activate(frame: FrameRef): void {
    this.#native.run("activate", this.#address, frame)
  }

  /** Gives a frame another ID. Its handle stays. */
  replaceId(frame: FrameRef, sessionID: string): void {
    this.#native.run("replace_id", this.#address, frame, sessionID)
  }

  /** Changes the status of a frame as its present one allows. To invalidate this way, give the reason as the results. */
  setStatus(frame: FrameRef, status: FrameStatus, results?: string, resultsCompacted?: string): void {
    this.#native.run("set_status", this.#address, frame, numberOf(status), results, resultsCompacted)
  }

  /** Finishes a frame with results, in full, and dense for the prompts of others. The nearest open frame above goes on. */
  pop(frame: FrameRef, status: PopStatus, results: string, resultsCompacted?: string): Popped {
    return this.#record("pop", frame, numberOf(status), results, resultsCompacted)
  }

  /** Records what has been achieved so far by a frame that goes on. Its own context shows it; others see it at the end. */
  summarize(frame: FrameRef, results: string, resultsCompacted?: string): void {
    this.#native.run("summarize", this.#address, frame, results, resultsCompacted)
  }

  /** Takes a frame, and what is planned below it, out of the plan. */
  invalidate(frame: FrameRef, reason: string): Invalidated {
    return this.#record("invalidate", frame, reason)
  }

  /** Records a file or another resource that the frame's work produced. False: it was there. */
  addArtifact(frame: FrameRef, artifact: string): boolean {
    return this.#native.number("add_artifact", this.#address, frame, artifact) !== 0n
  }

  /** Records a decision. */
  addDecision(frame: FrameRef, decision: string): void {
    this.#native.run("add_decision", this.#address, frame, decision)
  }

  /** Makes an open frame the active one. */
  setActive(frame: FrameRef): void {
    this.#native.run("set_active", this.#address, frame)
  }

  /** Adds the frames of a plan, all or none: Task Master's `tasks.json`, Beads' `issues.jsonl`, or a `state.json`. */
  import(plan: string): Imported {
    return this.#record("import", plan)
  }

  /** The handle of a frame named by handle, ID, or a beginning of its ID. */
  resolve(frame: FrameRef): Handle {
    return this.#native.text("resolve", this.#address, frame)
  }

  /** The frame being worked on, if any. */
  active(): Handle | undefined {
    return this.#native.text("active", this.#address) || undefined
  }

  /** The record of a frame. */
  frame(frame: FrameRef): Frame {
    return this.#record("frame", frame)
  }

  /** The records of all frames, or of those that a query means. */
  frames(query: FrameQuery = {}): Frame[] {
    return this.#record("frames", json({ ...query, records: true }))
  }

  /** The handles of all frames, or of those that a query means. */
  handles(query: FrameQuery = {}): Handle[] {
    return this.#record("frames", json(query))
  }

  /** The parent, its parent, and so on up to the root. */
  ancestors(frame: FrameRef): Handle[] {
    return this.handles({ relation: "ancestors", frame })
  }

  /** The children, in creation order. */
  children(frame: FrameRef): Handle[] {
    return this.handles({ relation: "children", frame })
  }

  /** The other children of the parent, in creation order. */
  siblings(frame: FrameRef): Handle[] {
    return this.handles({ relation: "siblings", frame })
  }

  /** All frames with this status, in creation order. */
  withStatus(status: FrameStatus): Handle[] {
    return this.handles({ status })
  }

  /** Planned frames that can begin: all that they depend on is completed. */
  ready(): Handle[] {
    return this.handles({ relation: "ready" })
  }

  /** The whole tree, as `state.json` holds it. */
  state(): StackState {
    return this.#record("state")
  }

  /** Writes `state.json` and `frames/` to another folder: for other tools, or to take along. */
  exportFiles(folder: string): void {
    this.#native.run("export_files", this.#address, folder)
  }

  /** The tree as text for people. */
  outline(options?: OutlineOptions): string {
    return this.#native.text("outline", this.#address, json(options))
  }

  /**
   * The context of a frame: what its agent should see before the next model call. Never more tokens than the budget.
   * Calls for the same frame and settings are answered from a cache while nothing in it has changed.
   */
  context(frame: FrameRef, settings?: Settings): Context {
    const [xml, stable, volatile, report] = this.#native.texts(4, "context", this.#address, frame, json(settings)) as [
      string,
      string,
      string,
      string,
    ]
    return new Context(xml, stable, volatile, report)
  }

  /** Forgets the cached contexts of a frame, or all of them. */
  clearCache(frame?: FrameRef): void {
    this.#native.run("clear_cache", this.#address, frame)
  }

  /**
   * Puts the settings of a host in force: the defaults, over them what the environment variables `STACK_…` say, over them
   * `settings`. The texts say what made no sense and does not count. From now on there are lines for the log.
   */
  configure(settings?: HostSettings): string[] {
    return this.#record("configure", json(settings))
  }

  /**
   * Tells what has happened in the host, and answers what it is to do. What follows for the frames is done before this
   * returns.
   */
  report(event: HostEvent): Effect[] {
    return this.#record("event", json(event))
  }

  /** The agent's tools, for hosts to register. */
  static tools(): Tool[] {
    return JSON.parse(Native.get().text("tools", undefined)) as Tool[]
  }

  /** Calls a tool for the agent of a session. What is wrong with the arguments, the answer says. */
  tool(sessionID: string, name: string, args: object = {}): ToolAnswer {
    return this.#record("tool", sessionID, name, json(args))
  }

  /**
   * The context of a session's frame, made by the settings of {@link Stack.configure}; undefined: the session has no frame,
   * or is to have no context.
   */
  sessionContext(sessionID: string): SessionContext | undefined {
    const parts = this.#native.texts(2, "session_context", this.#address, sessionID)
    return parts && { stable: parts[0] as string, volatile: parts[1] as string }
  }

  /**
   * Puts a new chunk on the heap of a frame. It and all frames below it see the chunk until it is freed: their contexts
   * show it word for word, whatever becomes of the conversation.
   */
  allocateChunk(frame: FrameRef, chunk: NewChunk): void {
    this.#native.run("allocate_chunk", this.#address, frame, json(chunk))
  }

  /** Replaces the content of a chunk that a frame sees. */
  writeChunk(frame: FrameRef, name: string, content: string): void {
    this.#native.run("write_chunk", this.#address, frame, name, content)
  }

  /** Takes a chunk that a frame sees off the heap. */
  freeChunk(frame: FrameRef, name: string): void {
    this.#native.run("free_chunk", this.#address, frame, name)
  }

  /** All chunks that a frame sees, those of its root first, each with the frame that it belongs to. */
  chunks(frame: FrameRef): { handle: Handle; chunk: Chunk }[] {
    return this.#record("chunks", frame)
  }

  /**
   * Puts values into registers of a frame, which uses them from then on: its contexts show them, and its children inherit
   * some when they begin. What is too long is cut; registers that are not named stay.
   */
  updateRegisters(frame: FrameRef, registers: Partial<Record<Register, string>>): void {
    this.#native.run("update_registers", this.#address, frame, json(registers))
  }

  /** The tools by which an agent in a run manages its own memory, to be offered to the model beside the host's own. */
  static memoryTools(memory: RunSettings["memory"] = "heap"): Tool[] {
    return JSON.parse(Native.get().text("memory_tools", undefined, memory)) as Tool[]
  }

  /**
   * Starts a run: an agent at work that manages its own memory. Its frames are frames of the tree, and all that is said
   * in them is kept, so that it can go on after the death of the process. Returns its root frame, which names the run.
   */
  startRun(run: NewRun): Handle {
    return this.#native.text("start_run", this.#address, json(run))
  }

  /**
   * Carries out the calls about memory that are next, and tells what the run needs of the host then: the answer of a model
   * ({@link Stack.runReply}), the answer to a call ({@link Stack.runAnswer}), or nothing more.
   */
  advanceRun(run: FrameRef): Next {
    return this.#record("advance_run", run)
  }

  /** Where a run is. */
  runStatus(run: FrameRef): RunStatus {
    return this.#record("run_status", run)
  }

  /** Brings what the model has said. */
  runReply(run: FrameRef, reply: Reply): void {
    this.#native.run("run_reply", this.#address, run, json(reply))
  }

  /** Brings the answer to the call that {@link Stack.advanceRun} has told of; `isError`: it says why nothing was done. */
  runAnswer(run: FrameRef, call: string, answer: string, isError = false): void {
    this.#native.run("run_answer", this.#address, run, call, answer, isError ? 1 : 0)
  }

  /** Adds entries to the full log of a frame, all or none, each as a line of JSON. */
  appendLog(frame: FrameRef, entries: readonly unknown[]): void {
    this.#native.run("append_log", this.#address, frame, json(entries))
  }

  /** Reads lines of a frame's log: all, a range, the last ones, or those with some text. */
  readLog(frame: FrameRef, query?: LogQuery): LogPage {
    return this.#record("read_log", frame, json(query))
  }

  /** Names the file that holds a frame's full log, when the host keeps it elsewhere. */
  setLogPath(frame: FrameRef, logPath: string): void {
    this.#native.run("set_log_path", this.#address, frame, logPath)
  }

  /** What has happened, oldest first. */
  history(query?: EventQuery): StackEvent[] {
    return this.#record("history", json(query))
  }

  /** The whole history as text, one event in JSON on each line. {@link Stack.rebuild} reads it. */
  exportHistory(): string {
    return this.#native.text("export_history", this.#address)
  }

  #record<T>(name: Parameters<Native["text"]>[0], ...inputs: (string | number | undefined)[]): T {
    return JSON.parse(this.#native.text(name, this.#address, ...inputs)) as T
  }
}

function json(record: object | undefined): string | undefined {
  if (record === undefined) return undefined
  const text = JSON.stringify(record)
  // Half of a surrogate pair is written as an escape, and is no character elsewhere.
  return text.includes("\\ud")
    ? text.replaceAll(/\\(?:ud[89a-f]..|.)/g, (escaped) => (escaped.length > 2 ? "\ufffd" : escaped))
    : text
}

function numberOf(status: FrameStatus): number {
  const number = STATUSES[status]
  if (number !== undefined) return number
  const expected = Object.keys(STATUSES).join(", ")
  throw new CallstackError("setting", `status is \`${status}\`, but must be one of ${expected}`, {
    name: "status",
    value: status,
    expected,
  })
}
