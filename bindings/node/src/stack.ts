// The Stack class: commands, queries and contexts.

import { Context } from "./context.js"
import { CallstackError } from "./error.js"
import { readJson, writeJson } from "./json.js"
import { type Address, type Inputs, Native, type StackTextName } from "./native.js"
import type {
  Actor,
  Allowance,
  Budget,
  Chunk,
  Effect,
  EventKind,
  EventQuery,
  Finish,
  Finished,
  Frame,
  FrameEdit,
  FrameLimits,
  FrameQuery,
  FrameRef,
  FrameStatus,
  FrameUsage,
  Handle,
  HistoryCompaction,
  Hold,
  HostEvent,
  HostSettings,
  Identity,
  Imported,
  Invalidated,
  LogLimits,
  LogPage,
  LogQuery,
  MemoryOptions,
  ModelRequest,
  NewChunk,
  NewFrame,
  NewHold,
  NewRun,
  Next,
  OutlineOptions,
  Overspent,
  Popped,
  PopStatus,
  PrunedLogs,
  Register,
  Reopened,
  Reply,
  Resumption,
  Retried,
  RunSettings,
  RunStatus,
  SessionContext,
  Settings,
  StackEvent,
  StackInfo,
  StackOptions,
  StackState,
  Standing,
  Tool,
  ToolAnswer,
  ToolNames,
  Undone,
  WorkLeft,
} from "./types.js"

/** The numbers of the statuses in the C interface (`CALLSTACK_STATUS_…`). */
const STATUSES: Readonly<Record<FrameStatus, number>> = {
  planned: 0,
  in_progress: 1,
  completed: 2,
  failed: 3,
  blocked: 4,
  invalidated: 5,
}

/** A length of time for the library, which takes whole numbers of 32 bits, and refuses those that are too long. */
function milliseconds(time: number): number {
  return Math.trunc(Math.max(Math.min(time, 2 ** 31 - 1), -1))
}

/** Frees stacks that were garbage-collected without being closed. */
const forgotten = new FinalizationRegistry<Address>((address) => {
  try {
    Native.get().close(address)
  } catch {
    // The database holds everything that was acknowledged; the next open writes the files beside it.
  }
})

/**
 * A call stack: a tree of frames, and a context for each frame.
 *
 * A stack in a folder is persistent: when a command returns, its change survives the death of the process. Several
 * processes and worker threads may open the same folder at the same time, each with its own `Stack`.
 *
 * Calls are synchronous. A call that fails throws a {@link CallstackError} and changes nothing. Every method that takes a
 * {@link FrameRef} may throw `unknown_frame` or `ambiguous_frame`; every command on a stack in a folder may throw
 * `busy`, `disk_full`, `read_only`, `io` or `damaged`; after {@link Stack.close} every other method throws `closed`.
 *
 * If a command throws `damaged`, the database has an event that cannot be read or does not fit. All later commands then
 * throw the same, and nothing is written any more. Queries go on with the frames before the damage:
 * {@link Stack.exportHistory} returns the events before it, and {@link Stack.rebuild} makes a new stack of them.
 *
 * ```js
 * using stack = Stack.open(".opencode/stack")   // or close() it
 * const root = stack.push({ title: "Build a shop", sessionID: "ses_1" })
 * console.log(stack.context(root).xml)
 * ```
 */
export class Stack implements Disposable {
  readonly #native = Native.get()
  #open: Address | undefined

  private constructor(address: Address) {
    this.#open = address
    forgotten.register(this, address, this)
  }

  /**
   * Opens the stack in a folder. Creates the folder and the stack if they do not exist.
   *
   * @param folder - A path, absolute or relative to the working directory; or the URL of a stack in PostgreSQL,
   * `postgres://HOST/DATABASE/STACK`, with the native library that `make native-postgres` builds (`CALLSTACK_LIBRARY` names it).
   * @throws `damaged` or `version` if a file cannot be read or comes from a newer version (the file is left unchanged),
   * `empty` if the folder is the empty string, `json` for wrong options, `disconnected` if the server cannot be reached,
   * `library` for a URL if the native library was built without PostgreSQL.
   */
  static open(folder: string, options?: StackOptions): Stack {
    const native = Native.get()
    if (!isServerUrl(folder)) return new Stack(native.value("open", undefined, folder, writeJson(options)))
    if (!native.has("open_url")) {
      const message =
        "the native library of callstack-core was built without PostgreSQL; build one with `make native-postgres`, and " +
        "name it in CALLSTACK_LIBRARY"
      throw new CallstackError("library", message, {})
    }
    return new Stack(native.value("open_url", undefined, folder, writeJson(options)))
  }

  /** Creates an empty stack in memory. Nothing is written to the disk. */
  static inMemory(options?: MemoryOptions): Stack {
    return new Stack(Native.get().value("in_memory", undefined, writeJson(options)))
  }

  /**
   * Creates a stack in memory from a state: an object, or the text of a `state.json`. Inconsistencies are repaired and
   * listed in {@link StackInfo.repairs}; no frame is lost.
   *
   * @throws `json` if the text is not a state, `version` if it comes from a newer version.
   */
  static fromState(state: StackState | string, options?: Pick<MemoryOptions, "counter">): Stack {
    return new Stack(
      Native.get().value(
        "from_state",
        undefined,
        typeof state === "string" ? state : writeJson(state),
        writeJson(options),
      ),
    )
  }

  /**
   * Rebuilds a stack in an empty folder from the text of {@link Stack.exportHistory}: the same frames, handles and history.
   *
   * @throws `not_empty` if the folder holds a stack, `json` or `history` (which name the line or the event) if the text
   * is damaged or incomplete.
   */
  static rebuild(folder: string, history: string, options?: StackOptions): Stack {
    return new Stack(Native.get().value("rebuild", undefined, folder, history, writeJson(options)))
  }

  /**
   * Returns the default settings of contexts. The environment variables `STACK_TOKEN_BUDGET_TOTAL`,
   * `STACK_TOKEN_BUDGET_ANCESTORS`, `STACK_TOKEN_BUDGET_SIBLINGS` and `STACK_TOKEN_BUDGET_CURRENT` (tokens) override them.
   * A variable that is not a whole number of at least 1 leaves the default, and emits a warning of the process.
   */
  static settings(): Required<Settings> & { budget: Required<Omit<Budget, "bytes">> } {
    const [settings, problems] = Native.get().twoTexts("settings", undefined)
    for (const problem of readJson<string[]>(problems)) process.emitWarning(problem, "CallstackWarning")
    return readJson(settings)
  }

  get #address(): Address {
    if (this.#open === undefined) throw new CallstackError("closed", "this stack has been closed; open it again")
    return this.#open
  }

  /**
   * Flushes and frees the stack. Closing it again does nothing. If the flush fails, the stack is closed all the same and
   * the error says what could not be written.
   */
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

  /**
   * Writes everything to the disk, including the files beside the database. Everything acknowledged so far then survives a
   * loss of power. Does nothing for a stack in memory.
   */
  flush(): void {
    this.#native.run("flush", this.#address)
  }

  /**
   * Reads what other processes have changed since the last command or refresh, so that queries show it. Commands do this
   * by themselves. Returns whether anything was new.
   */
  refresh(): boolean {
    return this.#native.value("refresh", this.#address) !== 0n
  }

  /**
   * Does the deferred work that is due (writes `state.json`, finishes idle subagents, stops calls at their time limit) and
   * returns the effects that the host must carry out. A host that reports events, or may be idle for long, calls it at
   * the time of {@link Stack.deadline}.
   */
  poll(): Effect[] {
    return this.#record("poll")
  }

  /**
   * Returns when {@link Stack.poll} has work to do, in milliseconds since the Unix epoch; undefined if it has none.
   * Subtract the present time at once. `setTimeout` fires at once for a delay of more than 2^31 - 1 milliseconds: use at
   * most that, and poll again then.
   */
  deadline(): number | undefined {
    return Number(this.#native.value("deadline", this.#address)) || undefined
  }

  /** Returns the number of frames, the cache statistics, the state of the files, and the repairs. */
  info(): StackInfo {
    return this.#record("info")
  }

  /**
   * Creates a frame with status `in_progress` and makes it the active frame. Returns its handle.
   *
   * ```js
   * const cart = stack.push({ title: "Shopping cart", successCriteria: "Totals are right", parent: "f1" })
   * ```
   *
   * @throws `duplicate_id`, `empty`, `dependency`, `parent_closed`, `parent_planned`, or `json` for a frame of the wrong
   * shape.
   */
  push(frame: NewFrame): Handle {
    return this.#native.text("push", this.#address, writeJson(frame))
  }

  /** Creates a planned frame and returns its handle. Like {@link Stack.push}, but the parent may be planned too. */
  plan(frame: NewFrame): Handle {
    return this.#native.text("plan", this.#address, writeJson(frame))
  }

  /**
   * Creates several planned children of one frame, all or none, and returns their handles. Their own `parent` is ignored. A
   * child may depend on any other one by its `sessionID` or its title.
   */
  planChildren(parent: FrameRef, children: readonly NewFrame[]): Handle[] {
    return this.#record("plan_children", parent, writeJson(children))
  }

  /**
   * Returns the frame of a session. If the session has none, creates a placeholder below `parent`, or as a root.
   *
   * @param sessionID - The whole ID of the session.
   * @param placeholder - `title` defaults to `Session` and the first 8 characters of the ID.
   */
  ensure(sessionID: string, placeholder: { title?: string; parent?: FrameRef } = {}): Handle {
    return this.#native.text("ensure", this.#address, sessionID, placeholder.title, placeholder.parent)
  }

  /**
   * Sets the title and criteria of a placeholder for good. Those of a placeholder that has criteria are also set for good
   * when a frame is pushed, planned or imported below it.
   *
   * @throws `identity_fixed` if the frame has its title and criteria already, `empty` for an empty title.
   */
  identify(frame: FrameRef, identity: Identity): void {
    const { title, successCriteria, successCriteriaCompacted } = identity
    this.#native.run("identify", this.#address, frame, title, successCriteria, successCriteriaCompacted)
  }

  /**
   * Edits a planned frame: its words, its priority and dependencies, its parent, and its order among its siblings. The frames
   * below it move with it. Of a frame that has begun a person ({@link Stack.asActor}) can correct the words and the priority.
   *
   * ```js
   * stack.edit(pay, { dependsOn: [cart, "Taxes"], before: mail })
   * ```
   *
   * @throws `not_planned` if the frame has begun or ended, and this is no correction of a person, `parent_closed` or `parent_circle` for the parent,
   * `retry_link` if a next attempt would get another parent, `not_sibling` for `before`, `dependency` if a frame would wait
   * for itself, or for one above or below it.
   */
  edit(frame: FrameRef, edit: FrameEdit): void {
    this.#native.run("edit", this.#address, frame, writeJson(edit))
  }

  /**
   * Starts a planned frame: sets its status to `in_progress` and makes it the active frame. What it depends on is not looked at:
   * {@link begin} does that.
   *
   * @throws `transition` if the frame is not planned, `not_ready` if it is no work.
   */
  activate(frame: FrameRef): void {
    this.#native.run("activate", this.#address, frame)
  }

  /**
   * Starts a planned frame that has what it needs: {@link activate} for callers that must not begin what has to wait.
   *
   * @throws what {@link activate} throws; `not_ready` if something keeps it from beginning.
   */
  begin(frame: FrameRef): void {
    this.#native.run("begin", this.#address, frame)
  }

  /**
   * Gives a frame another ID. Its handle stays the same.
   *
   * @throws `duplicate_id` if another frame has the ID, `empty` if the ID is empty.
   */
  replaceId(frame: FrameRef, sessionID: string): void {
    this.#native.run("replace_id", this.#address, frame, sessionID)
  }

  /**
   * Changes the status of a frame. Allowed are `planned` to `in_progress`, `in_progress` to `blocked` and back, both to
   * `completed` or `failed`, and any status to `invalidated`; then `results` is the reason.
   *
   * @throws `transition` if the present status does not allow the change.
   */
  setStatus(frame: FrameRef, status: FrameStatus, results?: string, resultsCompacted?: string): void {
    this.#native.run("set_status", this.#address, frame, numberOf(status), results, resultsCompacted)
  }

  /**
   * Finishes a frame. If it or a frame below it was active, the nearest open ancestor becomes active. With `"blocked"` it is
   * {@link block} without a question: the results say what the frame waits for.
   *
   * ```js
   * stack.pop(cart, "completed", "Cart with totals in src/cart.ts, 12 tests", "src/cart.ts: total()")
   * ```
   *
   * @param results - The results in full.
   * @param resultsCompacted - A short form for the contexts of other frames.
   * @throws `transition` if the present status does not allow it.
   */
  pop(frame: FrameRef, status: PopStatus, results: string, resultsCompacted?: string): Popped {
    return this.#record("pop", frame, numberOf(status), results, resultsCompacted)
  }

  /**
   * Pops a frame as {@link pop}, and begins a planned one in the same command.
   *
   * @param next - The planned frame. Default: the first planned sibling that can begin then; without one the frame is only popped.
   * @throws `not_ready` if `next` depends on a frame that is not completed then, `transition` if it is not planned. Nothing has
   * changed then.
   */
  popAndBegin(frame: FrameRef, status: PopStatus, results: string, resultsCompacted?: string, next?: FrameRef): Popped {
    return this.#record("pop_and_begin", frame, numberOf(status), results, resultsCompacted, next)
  }

  /**
   * Completes a frame whose work is done: {@link pop} with `"completed"` for callers that must not overlook what is left below it.
   *
   * @param next - The planned frame that begins in the same command. Default: none.
   * @throws `parts_left` if frames below it are open or planned; what {@link popAndBegin} throws. Nothing has changed then.
   */
  complete(frame: FrameRef, results: string, resultsCompacted?: string, next?: FrameRef): Popped {
    return this.#record("complete", frame, results, resultsCompacted, next)
  }

  /**
   * Blocks a frame: it waits for something from outside. The contexts of its parent, its siblings and the frames that
   * depend on it show the question.
   *
   * ```js
   * stack.block(tax, "Which VAT rate? The user knows", "Totals without VAT work")
   * stack.answer(tax, "20 %")
   * stack.setStatus(tax, "in_progress")
   * ```
   *
   * @param question - What it needs, and from whom. Empty: the results say it.
   * @param results - The results so far. Without them the frame keeps those that it has.
   * @param resultsCompacted - A short form for the contexts of other frames.
   * @throws `transition` if the present status does not allow it.
   */
  block(frame: FrameRef, question: string, results?: string, resultsCompacted?: string): Popped {
    return this.#record("block", frame, question, results, resultsCompacted)
  }

  /**
   * Answers a blocked frame. It stays blocked until somebody resumes it: a process that runs its session, when it polls;
   * the agent's tool `stack_frame_activate`; or {@link setStatus} with `"in_progress"`. The contexts of the frame show the
   * answer until it is finished. A second answer to one question is added to the first. A frame that has waited to begin, as
   * an import leaves it, is planned then; if it is no work, it is completed.
   *
   * @throws `not_blocked` if the frame is not blocked, `empty` for an empty answer.
   */
  answer(frame: FrameRef, answer: string): void {
    this.#native.run("answer", this.#address, frame, answer)
  }

  /**
   * Stops the frames that hosts run or workers have, from a frame downwards, also those of other processes: they become blocked, with the
   * reason as what they wait for. A running host notices that at its next poll: it aborts their sessions, and keeps what
   * they have said last as results so far. They can be resumed as any other blocked frame. Returns the stopped frames.
   *
   * @throws `empty` for an empty reason.
   */
  stop(frame: FrameRef, reason: string): Handle[] {
    return this.#record("stop", frame, reason)
  }

  /** Stops all frames that hosts run or workers have: see {@link stop}. */
  stopAll(reason: string): Handle[] {
    return this.#record("stop", undefined, reason)
  }

  /**
   * Begins a failed or blocked frame anew: makes a planned frame beside it, with the same title, criteria and dependencies,
   * as its next attempt. A blocked frame fails. The context of the new frame shows why the earlier attempts failed;
   * everybody else sees the newest attempt alone, and frames that depend on any attempt wait for the newest.
   *
   * ```js
   * stack.pop(tax, "failed", "The rate table is out of date")
   * const { handle } = stack.retry(tax, "Take the rates from the office's site")
   * stack.activate(handle)
   * ```
   *
   * @param note - What must be done differently, or the answer to what the frame waits for.
   * @throws `not_retriable` if the frame is neither failed nor blocked, or was begun anew already; `parent_closed`.
   */
  retry(frame: FrameRef, note?: string): Retried {
    return this.#record("retry", frame, note)
  }

  /**
   * Gives a frame that is free to a worker, for the length of a lease. Of several workers that ask at the same time, in any
   * processes, each gets another frame. Returns undefined if none is free now: {@link workLeft} says whether that can
   * change. The frame becomes in_progress; the active frame stays.
   *
   * First come the frames whose worker has let its lease end or has let them go, and blocked ones of workers that were answered, then
   * planned frames in the order of the plan. A planned frame is free when its dependencies, and those of the planned frames above it, are
   * completed, and when its children are completed or invalidated; unless the frame above it has ended.
   *
   * ```js
   * const hold = stack.hold({ name: "build-1", lease: 60_000 })
   * if (hold) {
   *   stack.finish(hold, { end: "done", results: "Cart in src/cart.ts" })
   * }
   * ```
   *
   * @throws `empty` for the name, `setting` for the lease, `not_free` if `frame` is not free.
   */
  hold({ name, lease, below, frame }: NewHold): Hold | undefined {
    const hold = this.#native.text("hold", this.#address, name, milliseconds(lease), below, frame)
    return readJson<Hold | null>(hold) ?? undefined
  }

  /**
   * Gives a holder more time: the lease ends so many milliseconds from now. Returns the hold with its new end.
   *
   * @throws `hold_lost` if somebody else has held the frame since, `not_free` if it was let go or is not in progress any more: then the
   * holder should stop. `setting` for the lease.
   */
  renew(hold: Hold, lease: number): Hold {
    return this.#record("renew", writeJson(hold), milliseconds(lease))
  }

  /**
   * Returns how a frame stands for its holder. A worker looks now and then, for example each second, and stops what it has running when the
   * frame is not held any more.
   *
   * @throws `hold_lost` if somebody else has held the frame since.
   */
  standing(hold: Hold): Standing {
    return this.#record("standing", writeJson(hold))
  }

  /**
   * Lets a frame go, so that another worker can have it at once. It stays in progress, and this time does not count as a try.
   *
   * @throws `hold_lost` if somebody else has held the frame since.
   */
  release(hold: Hold): void {
    this.#native.run("release", this.#address, writeJson(hold))
  }

  /**
   * Ends the work of a holder on its frame, which must be in progress, all of it in one commit: so what a person stops or plans in this
   * moment is not lost. A frame below which parts were planned is put back until these are done, and its results are those so far.
   *
   * @throws `hold_lost` if somebody else has held the frame since, `not_free` if it is not in progress any more; `setting`, `empty`.
   */
  finish(hold: Hold, finish: Finish): Finished {
    return this.#record("finish", writeJson(hold), writeJson(finish))
  }

  /**
   * Returns the same stack for an actor: what others hold is theirs, so its commands that begin, go on with, end, block or invalidate such
   * a frame throw `held`; and a conversation or a person with a name holds what it begins. With a hold, each command throws `hold_lost` if
   * somebody else has held that frame since. Close the returned stack too. Commands of this stack work as before.
   */
  asActor(actor: Actor): Stack {
    return new Stack(this.#native.value("as_actor", this.#address, writeJson(actor)))
  }

  /**
   * Counts what is left to do for workers, below a frame or everywhere. If nothing is free, held or put back for later, nothing
   * becomes free unless a person or a host does something.
   */
  workLeft(below?: FrameRef): WorkLeft {
    return this.#record("work_left", below)
  }

  /**
   * Returns how a host goes on with frames whose work was interrupted, stopped or answered: with all that are open, if none are given. Each
   * comes after those below it, so that it finds their results. A host asks again when something that it waits for has ended.
   */
  resumption(frames?: readonly FrameRef[]): Resumption {
    return this.#record("resumption", frames && writeJson(frames))
  }

  /**
   * Records of the frames whose holders have let their leases end that they were interrupted, and returns these frames. A host does this
   * at its polls and tool calls; a program without sessions can do it before it looks at what runs.
   */
  noteInterruptions(): Handle[] {
    return this.#record("note_interruptions")
  }

  /**
   * Records that the conversation of the frame's parent has received the results of the frame, so that contexts of the
   * parent do not repeat them until {@link forget} of the parent.
   *
   * @throws `not_finished` if the frame is neither completed nor failed.
   */
  deliver(frame: FrameRef): void {
    this.#native.run("deliver", this.#address, frame)
  }

  /**
   * Records that the conversation of the frame was compacted or begun anew, so that the frame's contexts show the results
   * of its children.
   */
  forget(frame: FrameRef): void {
    this.#native.run("forget", this.#address, frame)
  }

  /**
   * Records the results so far of an open frame, for example before its conversation is compacted. Its own context shows
   * them; frames below it see them from the next push or change of a status on.
   *
   * @throws `results_fixed` if the frame is not open, `empty` for empty results.
   */
  summarize(frame: FrameRef, results: string, resultsCompacted?: string): void {
    this.#native.run("summarize", this.#address, frame, results, resultsCompacted)
  }

  /**
   * Invalidates a frame and the planned frames below it.
   *
   * @throws `empty` without a reason, `transition` if the present status does not allow it.
   */
  invalidate(frame: FrameRef, reason: string): Invalidated {
    return this.#record("invalidate", frame, reason)
  }

  /**
   * Lets a completed frame that turned out to be wrong go on: it is `in_progress` again. Its results are those so far, and its context shows the
   * reason.
   *
   * @throws `transition` if the frame is not completed, `empty` without a reason, `parent_closed` if a frame above it has ended,
   * `parent_planned` if one is planned, `held`.
   */
  reopen(frame: FrameRef, reason: string): Reopened {
    return this.#record("reopen", frame, reason)
  }

  /**
   * Takes back the last command of the person who gives this one ({@link Stack.asActor}; without, of those who have given no name), if nothing
   * has been built on it. What it has added is invalidated. The last 20 commands of persons are remembered.
   *
   * @throws `nothing_to_undo`; `not_undone`, which says why.
   */
  undo(): Undone {
    return this.#record("undo")
  }

  /**
   * Sets what a frame may do and spend. Limits that are not given stay as they are.
   *
   * @throws `setting` for a limit of 0, `tools_exceed` for tools that the frames above do not have.
   */
  setLimits(frame: FrameRef, limits: FrameLimits): void {
    this.#native.run("set_limits", this.#address, frame, writeJson(limits))
  }

  /**
   * Records what a conversation of a frame has cost so far, in millionths of a US dollar. It replaces what was recorded of the conversation
   * before. Until the next time, {@link Stack.usage} estimates the costs of the requests that come.
   *
   * @throws `empty` if the ID of the conversation is blank, `json` for a number that is no whole number of at least 0.
   */
  recordCost(frame: FrameRef, conversation: string, costMicroUsd: number): void {
    this.#native.run("record_cost", this.#address, frame, writeJson({ conversation, costMicroUsd }))
  }

  /**
   * Returns what a frame may do and spend now, with the limits of all frames above it. A root that has none of its own has those of the host's
   * settings (`calls.limits`).
   */
  allowance(frame: FrameRef): Allowance {
    return this.#record("allowance", frame)
  }

  /** Returns the first frame, from this one upwards, that has spent what it may; null if there is none. */
  overspent(frame: FrameRef): Overspent | null {
    return this.#record("overspent", frame)
  }

  /** Records a file or another resource that the frame produced. Returns false if it was recorded already. */
  addArtifact(frame: FrameRef, artifact: string): boolean {
    return this.#native.value("add_artifact", this.#address, frame, artifact) !== 0n
  }

  /** Records a decision. */
  addDecision(frame: FrameRef, decision: string): void {
    this.#native.run("add_decision", this.#address, frame, decision)
  }

  /**
   * Records a request to a model, which was made in the frame's session. Contexts do not change. A host with sessions
   * reports requests with its messages instead: see {@link HostEvent}.
   */
  recordUsage(frame: FrameRef, request: ModelRequest): void {
    this.#native.run("record_usage", this.#address, frame, writeJson(request))
  }

  /** Returns the sums of the requests to models: those of a frame, and those of the frame and everything below it. */
  usage(frame: FrameRef): FrameUsage {
    return this.#record("usage", frame)
  }

  /**
   * Makes an open frame the active frame.
   *
   * @throws `not_open` if the frame is neither `in_progress` nor `blocked`.
   */
  setActive(frame: FrameRef): void {
    this.#native.run("set_active", this.#address, frame)
  }

  /**
   * Adds the frames of a plan, all or none: the text of Task Master's `tasks.json`, of Beads' `issues.jsonl`, of a check
   * list in Markdown, or of a `state.json`. A plan that was imported before is brought up to date; what was begun here stays
   * as it is. Each `logPath` of a state is left out, and is one of the problems: the logs stay where the state comes from.
   *
   * @throws `json` or `version` if the text cannot be read, `duplicate_id` if an ID is that of a frame of another plan or of none,
   *   `dependency` if what was changed here would make a new entry wait for itself.
   */
  import(plan: string): Imported {
    return this.#record("import", plan)
  }

  /**
   * Returns the handle of a frame.
   *
   * @throws `ambiguous_frame` with the `candidates` if the beginning of an ID, or a title, matches several frames.
   */
  resolve(frame: FrameRef): Handle {
    return this.#native.text("resolve", this.#address, frame)
  }

  /** Returns the handle of the active frame; undefined if no frame is active. */
  active(): Handle | undefined {
    return this.#native.text("active", this.#address) || undefined
  }

  /** Returns the record of a frame. */
  frame(frame: FrameRef): Frame {
    return this.#record("frame", frame)
  }

  /** Returns the records of all frames, or of the frames that match a query, in creation order. */
  frames(query: FrameQuery = {}): Frame[] {
    return this.#record("frames", writeJson({ ...query, records: true }))
  }

  /** Returns the handles of all frames, or of the frames that match a query, in creation order. */
  handles(query: FrameQuery = {}): Handle[] {
    return this.#record("frames", writeJson(query))
  }

  /** Returns the ancestors of a frame, from the parent up to the root. */
  ancestors(frame: FrameRef): Handle[] {
    return this.handles({ relation: "ancestors", frame })
  }

  /** Returns the children of a frame, in their order: that of their creation, except that some were moved or begun anew. */
  children(frame: FrameRef): Handle[] {
    return this.handles({ relation: "children", frame })
  }

  /** Returns the siblings of a frame, in their order, without the frame itself. */
  siblings(frame: FrameRef): Handle[] {
    return this.handles({ relation: "siblings", frame })
  }

  /** Returns all frames with a status, in creation order. */
  withStatus(status: FrameStatus): Handle[] {
    return this.handles({ status })
  }

  /**
   * Returns the planned frames that can begin: those that have what they and the planned frames above them need, that are not below
   * an ended one, and of which no part is left.
   */
  ready(): Handle[] {
    return this.handles({ relation: "ready" })
  }

  /** Returns the frames that are in_progress although the host that ran them does not exist any more. */
  interrupted(): Handle[] {
    return this.handles({ relation: "interrupted" })
  }

  /** Returns the whole tree in the layout of `state.json`. {@link Stack.fromState} reads it. */
  state(): StackState {
    return this.#record("state")
  }

  /**
   * Writes `state.json` and `frames/` to another folder. {@link Stack.open} imports them there.
   *
   * @param folder - A path, absolute or relative to the working directory.
   * @throws `not_empty` if a stack lives in that folder.
   */
  exportFiles(folder: string): void {
    this.#native.run("export_files", this.#address, folder)
  }

  /** Returns the tree as text for people. */
  outline(options?: OutlineOptions): string {
    return this.#native.text("outline", this.#address, writeJson(options))
  }

  /**
   * Returns the context of a frame: what its agent should see before the next model call. It never exceeds its budget. A
   * cache answers repeated calls with the same settings until something in the context changes.
   *
   * ```js
   * const { stable, volatile, tokens } = stack.context("ses_1", { budget: { total: 2000 } })
   * ```
   *
   * @throws `budget_too_small`, with the budget that is `needed` and its `unit` in the details; `setting` or `json` for wrong settings.
   */
  context(frame: FrameRef, settings?: Settings): Context {
    const [xml, stable, volatile, report] = this.#native.fourTexts("context", this.#address, frame, writeJson(settings))
    return new Context(xml, stable, volatile, report)
  }

  /** Removes the cached contexts of a frame, or of all frames, from the cache. */
  clearCache(frame?: FrameRef): void {
    this.#native.run("clear_cache", this.#address, frame)
  }

  /**
   * Sets the settings of a host. `settings` override the environment variables `STACK_…`, which override the defaults.
   * Returns one message for each value that is invalid and ignored. From now on, effects include lines for the host's log.
   */
  configure(settings?: HostSettings): string[] {
    return this.#record("configure", writeJson(settings))
  }

  /**
   * Reports an event of the host and returns the effects that the host must carry out, in order. All changes to frames are
   * made before this returns. A command that is refused appears in the log.
   *
   * @throws `json` for an event of the wrong shape.
   */
  report(event: HostEvent): Effect[] {
    return this.#record("event", writeJson(event))
  }

  /**
   * Returns the tools that the host registers for its agents: those of the setting {@link HostSettings.tools}. Call it
   * after {@link Stack.configure}.
   *
   * ```js
   * stack.configure({ tools: ["standard", "stack_tree"], context: { tools: { prefix: "mcp__callstack__" } } })
   * const tools = stack.offeredTools()
   * ```
   */
  offeredTools(): Tool[] {
    return this.#record("offered_tools")
  }

  /**
   * Returns all tools for agents, also those that a host does not offer, for programs that choose or describe tools.
   *
   * @param names - The names under which the host registers the tools. The descriptions of the tools mention other tools
   * by these names; {@link Tool.name} is always the default name, which {@link Stack.tool} takes. Default: the default
   * names.
   * @throws `json` for an unknown key or a wrong type, `setting` for a name that is empty, longer than 64 characters, or
   * has control characters.
   */
  static tools(names?: ToolNames): Tool[] {
    return readJson(Native.get().text("named_tools", undefined, names === "none" ? '"none"' : writeJson(names)))
  }

  /**
   * Executes a tool call of the agent of a session. Wrong arguments do not throw: the answer explains them to the agent. `args` can
   * also be their JSON text, as model APIs deliver it.
   *
   * @param name - A name of {@link Stack.tools}, also one that the host does not offer to its agents.
   */
  tool(sessionID: string, name: string, args: object | string = {}): ToolAnswer {
    return this.#record("tool", sessionID, name, writeJson(args))
  }

  /**
   * Returns the frame in which the conversation of a session is: the session's own, or with the setting
   * `{ calls: { in: "conversation" } }` one that it has begun and works on itself. Undefined if the session has no frame.
   */
  place(sessionID: string): Handle | undefined {
    return this.#native.text("place", this.#address, sessionID) || undefined
  }

  /**
   * Returns the context of a session's frame, made with the settings of {@link Stack.configure}. Returns undefined if the
   * session has no frame, or if the settings give it no context.
   *
   * @throws `budget_too_small`, with the budget that is `needed` and its `unit` in the details.
   */
  sessionContext(sessionID: string): SessionContext | undefined {
    const parts = this.#native.maybeTwoTexts("session_context", this.#address, sessionID)
    return parts && { stable: parts[0], volatile: parts[1] }
  }

  /**
   * Allocates a chunk on the heap of a frame. The frame and all frames below it see the chunk until it is freed: their
   * contexts show it verbatim, even after the conversation has been compacted.
   *
   * @throws `chunk_exists` if the frame sees a chunk of that name, `empty`, `too_long`, `not_one_line`.
   */
  allocateChunk(frame: FrameRef, chunk: NewChunk): void {
    this.#native.run("allocate_chunk", this.#address, frame, writeJson(chunk))
  }

  /**
   * Replaces the content of a chunk that a frame sees.
   *
   * @throws `unknown_chunk` with the names that are `known`, `too_long`.
   */
  writeChunk(frame: FrameRef, name: string, content: string): void {
    this.#native.run("write_chunk", this.#address, frame, name, content)
  }

  /**
   * Frees a chunk that a frame sees.
   *
   * @throws `unknown_chunk` with the names that are `known`.
   */
  freeChunk(frame: FrameRef, name: string): void {
    this.#native.run("free_chunk", this.#address, frame, name)
  }

  /** Returns all chunks that a frame sees, each with the frame that it belongs to. The chunks of the root come first. */
  chunks(frame: FrameRef): { handle: Handle; chunk: Chunk }[] {
    return this.#record("chunks", frame)
  }

  /**
   * Sets registers of a frame. From then on its contexts show them, and its children inherit some of them when they start.
   * Values that are too long are truncated ({@link Register} has the limits). Registers that are not named keep their values.
   */
  updateRegisters(frame: FrameRef, registers: Partial<Record<Register, string>>): void {
    this.#native.run("update_registers", this.#address, frame, writeJson(registers))
  }

  /**
   * Returns the tools with which an agent in a run with these settings manages its memory. Offer them to the model beside your
   * own tools. For a run that is resumed the settings are in {@link Stack.runStatus}.
   */
  static memoryTools(settings: RunSettings = {}): Tool[] {
    return readJson(Native.get().text("memory_tools", undefined, writeJson(settings)))
  }

  /**
   * Starts a run: an agent that manages its own memory. Its frames are frames of the tree and its messages are stored, so a
   * run in a folder continues after the death of the process. Returns the handle of its root frame, which identifies the
   * run.
   *
   * ```js
   * const run = stack.startRun({ task: "Build a calculator", settings: { memory: "registers" } })
   * for (let next = stack.advanceRun(run); next.next !== "over"; next = stack.advanceRun(run)) {
   *   if (next.next === "ask") stack.runReply(run, await ask(next.system, next.messages))
   *   else stack.runAnswer(run, next.id, await execute(next.name, next.arguments))
   * }
   * ```
   *
   * @throws `empty` without a task, `duplicate_id`, `json`.
   */
  startRun(run: NewRun): Handle {
    return this.#native.text("start_run", this.#address, writeJson(run))
  }

  /**
   * Executes the pending calls of memory tools and returns what the run needs next: a reply of the model (give it to
   * {@link Stack.runReply}), the answer to a tool call (give it to {@link Stack.runAnswer}), or nothing, because the run is
   * over. Returns the same until that is done.
   *
   * @throws `no_run` if the frame is not the root of a run.
   */
  advanceRun(run: FrameRef): Next {
    return this.#record("advance_run", run)
  }

  /** Returns the root frames of all runs, finished or not, in the order in which they were started. */
  runs(): Handle[] {
    return readJson(this.#native.text("runs", this.#address))
  }

  /**
   * Returns the settings and the progress of a run.
   *
   * @throws `no_run` if the frame is not the root of a run.
   */
  runStatus(run: FrameRef): RunStatus {
    return this.#record("run_status", run)
  }

  /**
   * Gives the model's reply to a run.
   *
   * @throws `out_of_turn` if calls wait for answers or the run is over, `no_run`.
   */
  runReply(run: FrameRef, reply: Reply): void {
    this.#native.run("run_reply", this.#address, run, writeJson(reply))
  }

  /**
   * Adds a message of the user to the conversation of a run's current frame, for example to steer its agent. The next prompt
   * has it behind all other messages, also behind the answers to tool calls that still wait for one.
   *
   * @throws `empty` for an empty text, `out_of_turn` if the run is over, `no_run`.
   */
  runTell(run: FrameRef, text: string): void {
    this.#native.run("run_tell", this.#address, run, text)
  }

  /**
   * Gives a run the answer to the tool call that {@link Stack.advanceRun} returned.
   *
   * @param call - The ID of the call.
   * @param isError - Whether the answer explains why the call was not executed. Default false.
   * @throws `out_of_turn` if another call is next, `no_run`.
   */
  runAnswer(run: FrameRef, call: string, answer: string, isError = false): void {
    this.#native.run("run_answer", this.#address, run, call, answer, isError ? 1 : 0)
  }

  /**
   * Appends entries to the full log of a frame, all or none, each as one line of JSON in `logs/{id}.jsonl`.
   *
   * @throws `in_memory` if the stack has no folder, `json` for entries nested more than 100 levels deep.
   */
  appendLog(frame: FrameRef, entries: readonly unknown[]): void {
    this.#native.run("append_log", this.#address, frame, writeJson(entries))
  }

  /**
   * Reads lines of a frame's log: all, a range, the last ones, or those that contain a text. A frame without a log has none.
   *
   * @throws `in_memory` if the stack has no folder.
   */
  readLog(frame: FrameRef, query?: LogQuery): LogPage {
    return this.#record("read_log", frame, writeJson(query))
  }

  /**
   * Sets the file that holds a frame's full log, for hosts that keep the log elsewhere. Contexts name the file while it
   * exists; the library never writes to it.
   *
   * @param logPath - A path, absolute or relative to the stack's folder.
   */
  setLogPath(frame: FrameRef, logPath: string): void {
    this.#native.run("set_log_path", this.#address, frame, logPath)
  }

  /**
   * Returns events of the history, oldest first.
   *
   * @throws `in_memory` if the stack keeps no history ({@link MemoryOptions.history}), `setting` for an unknown kind.
   */
  history<Kind extends EventKind = EventKind>(query?: EventQuery<Kind>): Extract<StackEvent, { kind: Kind }>[] {
    return this.#record("history", writeJson(query))
  }

  /**
   * Replaces the events of finished trees by their last state, so that the database becomes smaller: of all trees in which nothing
   * is unfinished and whose last event has an earlier time, in milliseconds since the Unix epoch. Frames, handles, contexts and logs
   * stay as they are; {@link Stack.history} no longer has these events. {@link Stack.exportHistory} writes the frames in their place,
   * so {@link Stack.rebuild} still makes the same stack.
   *
   * @throws `in_memory` if the stack has no database, `damaged` if the events do not give the state that the database has.
   */
  compactHistory(before: number): HistoryCompaction {
    return this.#record("compact_history", writeJson({ before }))
  }

  /**
   * Removes old logs of finished frames. Logs of frames that are planned, in progress or blocked stay.
   *
   * @throws `in_memory` if the stack has no folder.
   */
  pruneLogs(limits: LogLimits): PrunedLogs {
    return this.#record("prune_logs", writeJson(limits))
  }

  /**
   * Returns the whole history as text, one event in JSON on each line. {@link Stack.rebuild} reads it. If the history was compacted,
   * lines come first that only the library reads, with the keys `base` and `baseFrame`: the frames whose events are gone.
   *
   * @throws `history` if another process compacts the history meanwhile, `in_memory` if the stack keeps no history ({@link MemoryOptions.history}).
   */
  exportHistory(): string {
    return this.#native.text("export_history", this.#address)
  }

  #record<N extends StackTextName, T>(name: N, ...inputs: Inputs[N]): T {
    return readJson(this.#native.text(name, this.#address, ...inputs))
  }
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

/** Whether a place of stacks is the URL of a server. */
function isServerUrl(place: string): boolean {
  return /^postgres(ql)?:\/\//.test(place)
}
