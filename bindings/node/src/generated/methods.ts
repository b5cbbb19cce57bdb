// The methods of a stack that only carry their arguments to the library and the result back.
//
// Generated from api.json: `make api` renews it. Do not edit it.

import { writeJson } from "../json.js"
import { OpenStack } from "../open-stack.js"
import type {
  Allowance,
  Block,
  ChunkContent,
  CompactionLimits,
  Completion,
  Effect,
  EventQuery,
  Finish,
  Finished,
  Frame,
  FrameEdit,
  FrameLimits,
  FrameQuery,
  FrameRef,
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
  ModelRequest,
  NewChunk,
  NewCost,
  NewFrame,
  NewHold,
  NewRun,
  Next,
  OutlineOptions,
  Overspent,
  Placeholder,
  Pop,
  Popped,
  PrunedLogs,
  Registers,
  Renewal,
  Reopened,
  Reply,
  ResultsSoFar,
  Resumption,
  Retried,
  RunAnswer,
  RunStatus,
  StackEvent,
  StackInfo,
  StackState,
  Standing,
  ToolAnswer,
  ToolRequest,
  Undone,
  VisibleChunk,
  WorkLeft,
} from "./types.js"

/** A stack with the methods that only carry. */
export abstract class StackMethods extends OpenStack {
  /**
   * Writes everything to the disk: syncs the database, so that all acknowledged commits survive a power loss,
   * and brings state.json and the files of the frames up to date. A stack in memory has nothing to write.
   *
   * @throws the storage errors. An error of the files is also in {@link Stack.info}, as `mirror.error`.
   */
  flush(): void {
    this.run("flush")
  }

  /**
   * Makes visible to queries what other processes have committed since the last command or refresh. Commands
   * do the same automatically. Takes a few microseconds if there is nothing new.
   *
   * @returns Whether there was something new.
   * @throws the storage errors.
   */
  refresh(): boolean {
    return this.flag("refresh")
  }

  /**
   * Replaces the events of finished trees by their last state, so that the database becomes smaller. Frames,
   * handles, contexts and logs stay as they are. {@link Stack.history} no longer has these events. {@link
   * Stack.exportHistory} writes the frames instead of them, so {@link Stack.rebuild} still makes the same
   * stack.
   *
   * Takes some seconds for a million events. Most of that time other commands do not wait.
   *
   * @param limits - Which trees lose their events.
   * @returns What was removed.
   * @throws `json` for the limits, `in_memory` if the stack has no database, `damaged` if the events do not
   * give the state that the database has; the storage errors. After an error the history is as it was.
   */
  compactHistory(limits: CompactionLimits): HistoryCompaction {
    return this.record<HistoryCompaction>("compact_history", writeJson(limits))
  }

  /**
   * Removes old logs of finished frames. Logs of frames that are planned, in progress or blocked stay.
   *
   * @param limits - Which logs are removed.
   * @returns What was removed, and what is left.
   * @throws `json` for the limits, `in_memory` if the stack has no folder; the storage errors.
   */
  pruneLogs(limits: LogLimits): PrunedLogs {
    return this.record<PrunedLogs>("prune_logs", writeJson(limits))
  }

  /**
   * Returns figures about the stack, as the last command left them. Does not wait for a command that is
   * running.
   *
   * @returns The figures.
   */
  info(): StackInfo {
    return this.record<StackInfo>("info")
  }

  /**
   * Makes a new frame with the status `in_progress`, and makes it the active frame.
   *
   * @param frame - The frame. Only the title is required.
   * @returns The handle of the frame, such as `f3`.
   * @throws `json`, `duplicate_id`, `empty` for the title or the ID, `too_long` for the ID or the task,
   * `unknown_frame`, `ambiguous_frame`, `dependency`, `parent_closed`, `parent_planned`, `setting` and
   * `tools_exceed` for the limits, `full`; the storage errors.
   */
  push(frame: NewFrame): Handle {
    return this.text("push", writeJson(frame))
  }

  /**
   * Makes a new frame with the status `planned`. It begins with {@link Stack.activate} or {@link
   * Stack.begin}.
   *
   * @param frame - The frame. Its parent may be planned too.
   * @returns The handle of the frame.
   * @throws `json`, `duplicate_id`, `empty` for the title or the ID, `too_long` for the ID or the task,
   * `unknown_frame`, `ambiguous_frame`, `dependency`, `parent_closed`, `setting` and `tools_exceed` for the
   * limits, `full`; the storage errors.
   */
  plan(frame: NewFrame): Handle {
    return this.text("plan", writeJson(frame))
  }

  /**
   * Makes several planned children of one frame in one commit: all of them or none.
   *
   * @param parent - The frame above the children.
   * @param children - The children. Their own `parent` and `caller` are ignored. A child may depend on any
   * other child of the list, by its `sessionID` or its title.
   * @returns The handles of the children.
   * @throws those of {@link Stack.plan} for any of the children; the message says which child: `json`,
   * `duplicate_id`, `empty`, `too_long`, `unknown_frame`, `ambiguous_frame`, `dependency`, `parent_closed`,
   * `setting`, `tools_exceed`, `full`; the storage errors.
   */
  planChildren(parent: FrameRef, children: readonly NewFrame[]): Handle[] {
    return this.record<Handle[]>("plan_children", parent, writeJson(children))
  }

  /**
   * Returns the frame of a session. If the session has no frame, makes a placeholder: a frame with the status
   * `in_progress`, whose title and criteria {@link Stack.identify} can set later. A placeholder becomes the
   * active frame if no frame is active.
   *
   * @param session - The whole ID of the session.
   * @param placeholder - What a placeholder is made with.
   * @returns The handle of the frame.
   * @throws `empty` and `too_long` for the ID, `json`, `unknown_frame` and `ambiguous_frame` for the parent,
   * `full`; the storage errors.
   */
  ensure(session: string, placeholder?: Placeholder): Handle {
    return this.text("ensure", session, writeJson(placeholder))
  }

  /**
   * Sets the title and the criteria of a placeholder for good. This works once for each frame. If a
   * placeholder already has criteria, they are also set for good when a frame is pushed, planned or imported
   * below it.
   *
   * @param frame - The frame.
   * @param identity - The title and the criteria.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`, `empty` for the title, `identity_fixed` if the frame
   * is not a placeholder; the storage errors.
   */
  identify(frame: FrameRef, identity: Identity): void {
    this.run("identify", frame, writeJson(identity))
  }

  /**
   * Edits a planned frame: its words, its priority and dependencies, its parent, and its order among its
   * siblings. The frames below it move with it. A person ({@link Stack.asActor}) can also correct the words
   * and the priority of a frame that is `in_progress` or `blocked`.
   *
   * @param frame - The frame.
   * @param edit - What changes. Every key is optional.
   * @throws `not_planned` if the frame has begun or ended and this is not a correction by a person;
   * `too_long` for the task; `json`, `unknown_frame`, `ambiguous_frame`; `empty` for the title;
   * `parent_closed` and `parent_circle` for the parent; `retry_link` if a next attempt would get another
   * parent; `not_sibling` for `before`; `dependency` if a frame would wait for itself, or for a frame above
   * or below it; the storage errors.
   */
  edit(frame: FrameRef, edit: FrameEdit): void {
    this.run("edit", frame, writeJson(edit))
  }

  /**
   * Begins a planned frame: sets its status to `in_progress` and makes it the active frame. It does not check
   * what the frame depends on: {@link Stack.begin} does.
   *
   * @param frame - A frame with the status `planned`.
   * @throws `unknown_frame`, `ambiguous_frame`, `transition` if the frame is not planned, `not_ready` if it
   * is not work, `held`; the storage errors.
   */
  activate(frame: FrameRef): void {
    this.run("activate", frame)
  }

  /**
   * Begins a planned frame as {@link Stack.activate} does, if it has what it needs.
   *
   * @param frame - A frame with the status `planned`.
   * @throws `unknown_frame`, `ambiguous_frame`, `transition` if the frame is not planned, `not_ready` if
   * something keeps it from beginning (the details hold `dependencies`), `held`; the storage errors.
   */
  begin(frame: FrameRef): void {
    this.run("begin", frame)
  }

  /**
   * Gives a frame another ID. Its handle stays the same. Its file, and its log if the library keeps the log,
   * are renamed.
   *
   * @param frame - The frame.
   * @param session - The new ID. Must not be empty.
   * @throws `unknown_frame`, `ambiguous_frame`, `empty` and `too_long` for the ID, `duplicate_id` if another
   * frame has the ID; the storage errors.
   */
  replaceId(frame: FrameRef, session: string): void {
    this.run("replace_id", frame, session)
  }

  /**
   * Ends the work on a frame and sets its results. If the frame or a frame below it was active, its nearest
   * ancestor that is `in_progress` or `blocked` becomes active; if there is none, no frame is active. A root
   * can be popped too.
   *
   * @param frame - The frame, `in_progress` or `blocked`.
   * @param pop - The new status, the results, and the frame that begins next.
   * @returns The frame, its parent, and what is left below it.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`, `transition` if the status of the frame does not
   * allow it or `next` is not planned, `not_ready` if `next` depends on a frame that is not completed then,
   * `held`; the storage errors.
   */
  pop(frame: FrameRef, pop: Pop): Popped {
    return this.record<Popped>("pop", frame, writeJson(pop))
  }

  /**
   * Completes a frame whose work is done. Unlike {@link Stack.pop}, it refuses while frames below the frame
   * are open or planned.
   *
   * @param frame - The frame, `in_progress` or `blocked`.
   * @param completion - The results, and the frame that begins next.
   * @returns The frame and its parent.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`, `parts_left` if frames below it are open or planned,
   * `transition` if the status of the frame does not allow it or `next` is not planned, `not_ready` if `next`
   * depends on a frame that is not completed then, `held`; the storage errors.
   */
  complete(frame: FrameRef, completion: Completion): Popped {
    return this.record<Popped>("complete", frame, writeJson(completion))
  }

  /**
   * Blocks a frame: it waits for something from outside. The active frame changes as in {@link Stack.pop}.
   * The contexts of its parent, of its siblings and of the frames that depend on it show the question.
   *
   * @param frame - The frame, `in_progress` or `blocked`.
   * @param block - The question, and the results so far.
   * @returns The frame, its parent, and what is left below it.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`, `transition` if the status of the frame does not
   * allow it, `held`; the storage errors.
   */
  block(frame: FrameRef, block: Block): Popped {
    return this.record<Popped>("block", frame, writeJson(block))
  }

  /**
   * Answers a blocked frame. The frame stays blocked until it is resumed: by a host that runs its session,
   * when it calls {@link Stack.poll}; by the agent's tool `stack_frame_activate`; or by {@link Stack.resume}.
   * The contexts of the frame show the answer until the frame is finished. A second answer to one question is
   * added to the first. A frame that waits before it has begun, as an import leaves it, becomes planned with
   * the answer; if it is not work, it becomes completed.
   *
   * @param frame - The frame, `blocked`.
   * @param answer - The answer. Must not be empty.
   * @throws `unknown_frame`, `ambiguous_frame`, `not_blocked`, `empty` for the answer; the storage errors.
   */
  answer(frame: FrameRef, answer: string): void {
    this.run("answer", frame, answer)
  }

  /**
   * Resumes an open frame: a blocked frame becomes `in_progress` again. The frame becomes the active frame,
   * and an actor with a name ({@link Stack.asActor}) becomes its holder, so of several actors one resumes it.
   *
   * @param frame - The frame, `blocked` or `in_progress`.
   * @throws `unknown_frame`, `ambiguous_frame`, `transition` if the frame is neither `blocked` nor
   * `in_progress`, `held`; the storage errors.
   */
  resume(frame: FrameRef): void {
    this.run("resume", frame)
  }

  /**
   * Stops the frames that hosts run or workers hold, from a frame downwards, also those of other processes:
   * the frames become blocked, and the reason is what they wait for. A running host notices that at its next
   * poll: it aborts their sessions, keeps what the agents have said last as results so far, and answers the
   * callers. The frames can be resumed like any other blocked frame.
   *
   * @param frame - This frame and the frames below it.
   * @param reason - For those who resume the frames. Must not be empty.
   * @returns The stopped frames.
   * @throws `unknown_frame`, `ambiguous_frame`, `empty` for the reason; `held` if another actor works itself
   * in the frame or below it; the storage errors.
   */
  stop(frame: FrameRef, reason: string): Handle[] {
    return this.record<Handle[]>("stop", frame, reason)
  }

  /**
   * Stops all frames that hosts run or workers hold: see {@link Stack.stop}. The frames in which other actors
   * work themselves stay as they are, if an actor with a name gives the command.
   *
   * @param reason - For those who resume the frames. Must not be empty.
   * @returns The stopped frames.
   * @throws `empty` for the reason; the storage errors.
   */
  stopAll(reason: string): Handle[] {
    return this.record<Handle[]>("stop_all", reason)
  }

  /**
   * Retries a failed or blocked frame: makes a planned frame beside it, with the same title, criteria and
   * dependencies, as its next attempt. A blocked frame fails; it keeps its results and its question. The
   * planned frames below it are invalidated. The context of the new frame shows why the earlier attempts
   * failed. All other contexts show the newest attempt only, and frames that depend on any attempt wait for
   * the newest.
   *
   * @param frame - The frame, `failed` or `blocked`.
   * @param note - What must be done differently, or the answer to what the frame waits for.
   * @returns The new frame.
   * @throws `unknown_frame`, `ambiguous_frame`, `not_retriable` if the frame is neither failed nor blocked or
   * has a next attempt already, `parent_closed`, `full`, `held`; the storage errors.
   */
  retry(frame: FrameRef, note?: string): Retried {
    return this.record<Retried>("retry", frame, note)
  }

  /**
   * Records that the conversation of the frame's parent has received the results of the frame, for example as
   * the answer to a tool call. Contexts of the parent then do not repeat these results, until {@link
   * Stack.forget} of the parent (with `"finishedChildren": "forgotten"`, the default). A host that reports
   * events needs not call it for the calls that the library answers.
   *
   * @param frame - The frame, `completed` or `failed`.
   * @throws `unknown_frame`, `ambiguous_frame`, `not_finished`; the storage errors.
   */
  deliver(frame: FrameRef): void {
    this.run("deliver", frame)
  }

  /**
   * Records that the conversation of a frame was compacted or has started from the beginning, so that it no
   * longer holds the results of the frame's children. The frame's contexts then show these results. A host
   * that reports events needs not call it after a compaction.
   *
   * @param frame - The frame.
   * @throws `unknown_frame`, `ambiguous_frame`; the storage errors.
   */
  forget(frame: FrameRef): void {
    this.run("forget", frame)
  }

  /**
   * Records the results so far of an open frame and leaves its status unchanged, for example before its
   * conversation is compacted. The context of the frame itself shows them. Frames below it see them from the
   * next push or change of a status on.
   *
   * @param frame - The frame, `in_progress` or `blocked`.
   * @param results - The results so far.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`, `results_fixed` if the frame is not open, `empty` for
   * the results; the storage errors.
   */
  summarize(frame: FrameRef, results: ResultsSoFar): void {
    this.run("summarize", frame, writeJson(results))
  }

  /**
   * Reopens a completed frame that turned out to be wrong: it is `in_progress` again and becomes the active
   * frame. Its results become its results so far, and its context shows the reason.
   *
   * @param frame - The frame, `completed`.
   * @param reason - What is wrong. Must not be empty.
   * @returns The frame, and the frames that depend on it.
   * @throws `unknown_frame`, `ambiguous_frame`, `empty` for the reason, `transition` if the frame is not
   * completed, `parent_closed` if a frame above it has ended, `parent_planned` if one is planned, `held`; the
   * storage errors.
   */
  reopen(frame: FrameRef, reason: string): Reopened {
    return this.record<Reopened>("reopen", frame, reason)
  }

  /**
   * Takes back the last command of the person who gives this command ({@link Stack.asActor} with the kind
   * `person`), if nothing has been built on it. Without an actor, it takes back the last command of the
   * persons who have given no name. What the command has added is invalidated. The last 20 commands of
   * persons are remembered.
   *
   * @returns What was taken back.
   * @throws `nothing_to_undo`, `not_undone` (the details hold the reason); the storage errors.
   */
  undo(): Undone {
    return this.record<Undone>("undo")
  }

  /**
   * Takes a frame and the planned frames below it out of the plan: sets their status to `invalidated`. If the
   * frame was active, its nearest ancestor that is `in_progress` or `blocked` becomes active.
   *
   * @param frame - The frame, in any status except `invalidated`.
   * @param reason - The reason, for people and agents. Must not be empty.
   * @returns The frames that were invalidated, and those that are concerned.
   * @throws `unknown_frame`, `ambiguous_frame`, `empty` for the reason, `transition` if the frame is
   * invalidated already, `held`; the storage errors.
   */
  invalidate(frame: FrameRef, reason: string): Invalidated {
    return this.record<Invalidated>("invalidate", frame, reason)
  }

  /**
   * Records a file or another resource that the work on a frame has produced. Each artifact is recorded once.
   *
   * @param frame - The frame, in any status.
   * @param artifact - Usually a path. Must not be empty.
   * @returns Whether the artifact was not recorded before.
   * @throws `unknown_frame`, `ambiguous_frame`, `empty` for the artifact; the storage errors.
   */
  addArtifact(frame: FrameRef, artifact: string): boolean {
    return this.flag("add_artifact", frame, artifact)
  }

  /**
   * Records a decision in a frame.
   *
   * @param frame - The frame, in any status.
   * @param decision - The decision, such as `Use SQLite`. Must not be empty.
   * @throws `unknown_frame`, `ambiguous_frame`, `empty` for the decision; the storage errors.
   */
  addDecision(frame: FrameRef, decision: string): void {
    this.run("add_decision", frame, decision)
  }

  /**
   * Records a request to a model that was made in the session of a frame. Contexts do not change. A host with
   * sessions reports requests with its messages instead: see {@link Stack.report}.
   *
   * @param frame - The frame, in any status.
   * @param request - The request. Every key is optional.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`; the storage errors.
   */
  recordUsage(frame: FrameRef, request: ModelRequest): void {
    this.run("record_usage", frame, writeJson(request))
  }

  /**
   * Makes an open frame the active frame.
   *
   * @param frame - A frame that is `in_progress` or `blocked`. {@link Stack.activate} begins a planned one.
   * @throws `unknown_frame`, `ambiguous_frame`, `not_open` if the frame is neither `in_progress` nor
   * `blocked`; the storage errors.
   */
  setActive(frame: FrameRef): void {
    this.run("set_active", frame)
  }

  /**
   * Adds the frames of a plan in one commit: all of them or none. A plan that was imported before is brought
   * up to date: the library compares it by its IDs with what it said then, adds new entries, edits changed
   * ones, finishes closed ones, and invalidates removed ones. What was begun in the stack stays, and so does
   * a field that was changed both in the stack and in the plan. A frame that the plan does not let begin is
   * blocked until it is answered, or until a time.
   *
   * @param plan - The text of Task Master's `tasks.json`, of Beads' `issues.jsonl`, of a check list in
   * Markdown, or of a `state.json`. The library detects the format. A `state.json` only adds frames; each
   * `logPath` in it is left out and reported as a problem, because the logs stay where the state comes from.
   * @returns The new and the changed frames, and the problems.
   * @throws `json` if the plan is in none of the formats, `version` if a newer version wrote the
   * `state.json`, `duplicate_id` if a frame that is not from this plan has the same ID, `dependency` if a
   * change in the stack would make a new entry wait for itself, `full`; the storage errors.
   */
  importPlan(plan: string): Imported {
    return this.record<Imported>("import_plan", plan)
  }

  /**
   * Gives a free frame to a worker, for the length of a lease. If several workers ask at the same time, in
   * any processes, each gets another frame. The frame becomes `in_progress`; the active frame stays the same.
   *
   * First come the frames whose worker has let its lease end or has released them, and blocked frames of
   * workers that were answered; then come planned frames in the order of the plan. A planned frame is free
   * when its dependencies, and those of the planned frames above it, are completed, and when its children are
   * completed or invalidated; unless the frame above it has ended.
   *
   * @param request - The worker, the lease, and which frames it wants.
   * @returns The frame and its holder, if a frame is free now. {@link Stack.workLeft} says whether that can
   * change.
   * @throws `json`, `empty` and `too_long` for the name, `setting` for the lease, `unknown_frame`,
   * `ambiguous_frame`, `not_free` if the wanted frame is not free; the storage errors.
   */
  hold(request: NewHold): Hold | undefined {
    return this.record<Hold | null>("hold", writeJson(request)) ?? undefined
  }

  /**
   * Extends the lease of a holder. A lease that has ended can be renewed as long as no other worker has held
   * the frame since.
   *
   * @param hold - What {@link Stack.hold} has returned.
   * @param renewal - The length of the lease from now on.
   * @returns The hold with its new end.
   * @throws `hold_lost` if another worker has held the frame since; `not_free` if its holder has released it,
   * or if it is not `in_progress` any more: the holder should stop; `setting` for the lease; `json`,
   * `unknown_frame`; the storage errors.
   */
  renew(hold: Hold, renewal: Renewal): Hold {
    return this.record<Hold>("renew", writeJson(hold), writeJson(renewal))
  }

  /**
   * Returns whether a holder still has its frame. A worker asks now and then, for example each second, and
   * stops its work when the frame is not held any more.
   *
   * @param hold - What {@link Stack.hold} has returned.
   * @returns How the frame stands for its holder.
   * @throws `hold_lost` if another worker has held the frame since; `json`, `unknown_frame`; the storage
   * errors.
   */
  standing(hold: Hold): Standing {
    return this.record<Standing>("standing", writeJson(hold))
  }

  /**
   * Releases a frame, so that another worker can have it at once. The frame stays `in_progress`, and this
   * time does not count as a try. Nothing happens if the frame was released already.
   *
   * @param hold - What {@link Stack.hold} has returned.
   * @throws `hold_lost` if another worker has held the frame since; `json`, `unknown_frame`; the storage
   * errors.
   */
  release(hold: Hold): void {
    this.run("release", writeJson(hold))
  }

  /**
   * Ends the work of a holder on its frame in one commit. The frame must be `in_progress`, so what a person
   * stops or plans at this moment is not lost. If frames were planned below the frame, it is put back until
   * they are done, and its results are its results so far.
   *
   * @param hold - What {@link Stack.hold} has returned.
   * @param finish - How the work ends.
   * @returns The new status of the frame.
   * @throws `hold_lost` if another worker has held the frame since; `not_free` if the frame is not
   * `in_progress` any more; `setting` for a time that is too long; `empty`, `json`, `unknown_frame`; the
   * storage errors.
   */
  finish(hold: Hold, finish: Finish): Finished {
    return this.record<Finished>("finish", writeJson(hold), writeJson(finish))
  }

  /**
   * Counts the unfinished frames by what they are for workers. If none is `free`, `held` or `later`, none
   * becomes free unless a person or a host does something.
   *
   * @param below - Only frames below this one. Default: all frames.
   * @returns The numbers of frames.
   * @throws `unknown_frame`, `ambiguous_frame`.
   */
  workLeft(below?: FrameRef): WorkLeft {
    return this.record<WorkLeft>("work_left", below)
  }

  /**
   * Returns how a host continues frames whose work was interrupted, stopped or answered. Each frame comes
   * after the frames below it, so that it finds their results. A host asks again when a frame that it waits
   * for has ended.
   *
   * @param frames - The frames that the host continues. Default: all that are open.
   * @returns The frames that can continue now, and later.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`.
   */
  resumption(frames?: readonly FrameRef[]): Resumption {
    return this.record<Resumption>("resumption", writeJson(frames))
  }

  /**
   * Records that frames were interrupted because the lease of their holder has ended. Hosts do this when they
   * poll and at tool calls; a program without sessions can do it before it looks at what runs. If a record is
   * refused, the next call tries again.
   *
   * @returns These frames.
   */
  noteInterruptions(): Handle[] {
    return this.record<Handle[]>("note_interruptions")
  }

  /**
   * Sets what a frame may do and spend. Limits that are not given stay as they are.
   *
   * @param frame - The frame, in any status.
   * @param limits - The limits.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`, `setting` for a limit of 0, `tools_exceed` for tools
   * that the frames above do not have; the storage errors.
   */
  setLimits(frame: FrameRef, limits: FrameLimits): void {
    this.run("set_limits", frame, writeJson(limits))
  }

  /**
   * Records what a conversation of a frame has cost so far, for hosts that know the costs of conversations,
   * but not of requests. It replaces what was recorded of the conversation before. Until the next record,
   * {@link Stack.usage} estimates the costs of later requests.
   *
   * @param frame - The frame, in any status.
   * @param cost - The conversation and its cost.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`, `empty` if the ID of the conversation is blank; the
   * storage errors.
   */
  recordCost(frame: FrameRef, cost: NewCost): void {
    this.run("record_cost", frame, writeJson(cost))
  }

  /**
   * Returns what a frame may do and spend now, with the limits of all frames above it. A root without limits
   * of its own has those of the host's settings (`calls.limits`).
   *
   * @param frame - The frame.
   * @returns What is left. What is not limited is absent.
   * @throws `unknown_frame`, `ambiguous_frame`.
   */
  allowance(frame: FrameRef): Allowance {
    return this.record<Allowance>("allowance", frame)
  }

  /**
   * Returns the first frame, from this one upwards, that has spent what it may, together with all frames
   * below it.
   *
   * @param frame - The frame.
   * @returns That frame and the reason, if there is one.
   * @throws `unknown_frame`, `ambiguous_frame`.
   */
  overspent(frame: FrameRef): Overspent | undefined {
    return this.record<Overspent | null>("overspent", frame) ?? undefined
  }

  /**
   * Returns the handle of a frame.
   *
   * @param frame - A handle, an ID, the beginning of an ID, a title, or the beginning of the title of an
   * unfinished frame.
   * @returns The handle, such as `f3`.
   * @throws `unknown_frame`; `ambiguous_frame`, with `candidates` in the details.
   */
  resolve(frame: FrameRef): Handle {
    return this.text("resolve", frame)
  }

  /**
   * Returns the handle of the active frame: the frame on which an agent works.
   *
   * @returns The handle, if a frame is active.
   */
  active(): Handle | undefined {
    return this.text("active") || undefined
  }

  /**
   * Returns the record of a frame.
   *
   * @param frame - The frame.
   * @returns The record with the handle.
   * @throws `unknown_frame`, `ambiguous_frame`.
   */
  frame(frame: FrameRef): Frame {
    return this.record<Frame>("frame", frame)
  }

  /**
   * Returns the records of all frames, or of the frames that match a query.
   *
   * @param query - Which frames. Default: all.
   * @returns The records, in the order of creation, if the query does not have another order.
   * @throws `json`, `unknown_frame`, `ambiguous_frame`, `empty` if the relation needs a frame and the query
   * has none.
   */
  frames(query?: FrameQuery): Frame[] {
    return this.record<Frame[]>("frames", writeJson(query))
  }

  /**
   * Returns the handles of all frames, or of the frames that match a query, like {@link Stack.frames}.
   *
   * @param query - Which frames. Default: all.
   * @returns The handles.
   * @throws `json`, `unknown_frame`, `ambiguous_frame`, `empty` if the relation needs a frame and the query
   * has none.
   */
  handles(query?: FrameQuery): Handle[] {
    return this.record<Handle[]>("handles", writeJson(query))
  }

  /**
   * Returns the sums of the requests to models: those of a frame, and those of the frame and all frames below
   * it.
   *
   * @param frame - The frame.
   * @returns The sums.
   * @throws `unknown_frame`, `ambiguous_frame`.
   */
  usage(frame: FrameRef): FrameUsage {
    return this.record<FrameUsage>("usage", frame)
  }

  /**
   * Returns all trees in the documented form of `state.json`. {@link Stack.fromState} reads it.
   *
   * @returns The state.
   */
  state(): StackState {
    return this.record<StackState>("state")
  }

  /**
   * Writes the documented files, `state.json` and `frames/`, to another folder, for other tools or as a copy.
   * {@link Stack.open} of that folder imports them. The files show the frames at the time of the call. The
   * function does not wait for a command that is running, and no command waits for it.
   *
   * @param folder - A path, absolute or relative to the working directory. Must not be empty. The folder is
   * created if it does not exist.
   * @throws `empty` for the folder, `not_empty` if the folder contains a `state.json` or a database; `io`,
   * `disk_full`, `read_only` and `busy` for the files, also for a stack in memory.
   */
  exportFiles(folder: string): void {
    this.run("export_files", folder)
  }

  /**
   * Returns the trees as text for people.
   *
   * @param options - What the text shows.
   * @returns Several lines.
   * @throws `json`, `unknown_frame`, `ambiguous_frame`.
   */
  outline(options?: OutlineOptions): string {
    return this.text("outline", writeJson(options))
  }

  /**
   * Removes the contexts of a frame from the cache.
   *
   * @param frame - The frame. Default: all frames.
   * @throws `unknown_frame`, `ambiguous_frame`.
   */
  clearCache(frame?: FrameRef): void {
    this.run("clear_cache", frame)
  }

  /**
   * Allocates a chunk, a named text, on the heap of a frame. The frame and all frames below it see the chunk
   * until it is freed. Contexts show its text verbatim, even after the conversation was compacted.
   *
   * @param frame - The frame that owns the chunk.
   * @param chunk - The chunk.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`, `empty` for the name, `too_long`, `not_one_line`,
   * `chunk_exists` if the frame, or an unfinished frame below it, already sees a chunk of that name; the
   * storage errors.
   */
  allocateChunk(frame: FrameRef, chunk: NewChunk): void {
    this.run("allocate_chunk", frame, writeJson(chunk))
  }

  /**
   * Replaces the content of a chunk.
   *
   * @param frame - A frame that sees the chunk.
   * @param content - The name of the chunk, and its new content.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`, `unknown_chunk` (the details hold the names that are
   * `known`), `too_long`; the storage errors.
   */
  writeChunk(frame: FrameRef, content: ChunkContent): void {
    this.run("write_chunk", frame, writeJson(content))
  }

  /**
   * Removes a chunk from the heap.
   *
   * @param frame - A frame that sees the chunk.
   * @param name - The name of the chunk.
   * @throws `unknown_frame`, `ambiguous_frame`, `unknown_chunk` (the details hold the names that are
   * `known`); the storage errors.
   */
  freeChunk(frame: FrameRef, name: string): void {
    this.run("free_chunk", frame, name)
  }

  /**
   * Returns all chunks that a frame sees. The chunks of its root come first.
   *
   * @param frame - The frame.
   * @returns Each chunk with the frame that owns it.
   * @throws `unknown_frame`, `ambiguous_frame`.
   */
  chunks(frame: FrameRef): VisibleChunk[] {
    return this.record<VisibleChunk[]>("chunks", frame)
  }

  /**
   * Sets registers of a frame: short notes of its agent. From then on the frame uses registers: its contexts
   * show them, and its children inherit some of them when they begin. {@link Stack.frame} returns them.
   * Values that are too long are cut. Other registers keep their values.
   *
   * @param frame - The frame.
   * @param registers - The registers that change.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`; the storage errors.
   */
  updateRegisters(frame: FrameRef, registers: Registers): void {
    this.run("update_registers", frame, writeJson(registers))
  }

  /**
   * Starts a run: an agent that works on a task and manages its own memory. Its frames are frames of the
   * tree, and its conversations are stored, so the run can continue after the death of the process.
   *
   * The host then repeats: it calls {@link Stack.advanceRun}, does what the answer says, and reports the
   * outcome with {@link Stack.runReply} or {@link Stack.runAnswer}.
   *
   * @param run - The task and the settings. Only the task is required.
   * @returns The handle of the root frame. It is the argument `run` of the functions below.
   * @throws `json`, `empty` for the task, the title or the ID, `duplicate_id`, `too_long` for the ID or the
   * tools, `full`; the storage errors.
   */
  startRun(run: NewRun): Handle {
    return this.text("start_run", writeJson(run))
  }

  /**
   * Carries out the tool calls of the model that concern memory, until the run needs the host, and returns
   * what it needs. Until the host has reported that, another call returns the same.
   *
   * @param run - The root frame of the run.
   * @returns What the run needs: the answer of a model to a prompt (report it with {@link Stack.runReply}),
   * the answer to a tool call (report it with {@link Stack.runAnswer}), or nothing, because the run is over.
   * @throws `unknown_frame`, `ambiguous_frame`, `no_run` if the frame is not the root of a run; `out_of_turn`
   * if another caller advances the run at the same time; the storage errors. Tool calls that were carried out
   * before an error stay committed.
   */
  advanceRun(run: FrameRef): Next {
    return this.record<Next>("advance_run", run)
  }

  /**
   * Returns all runs, finished or not, in the order in which they were started.
   *
   * @returns The handles of their root frames.
   */
  runs(): Handle[] {
    return this.record<Handle[]>("runs")
  }

  /**
   * Returns the settings and the progress of a run.
   *
   * @param run - The root frame of the run.
   * @returns The settings and the progress.
   * @throws `unknown_frame`, `ambiguous_frame`, `no_run` if the frame is not the root of a run.
   */
  runStatus(run: FrameRef): RunStatus {
    return this.record<RunStatus>("run_status", run)
  }

  /**
   * Reports the answer of the model to the prompt of {@link Stack.advanceRun}.
   *
   * @param run - The root frame of the run.
   * @param reply - The text and the tool calls of the model.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`, `no_run`, `out_of_turn` if tool calls wait for
   * answers or the run is over; the storage errors.
   */
  runReply(run: FrameRef, reply: Reply): void {
    this.run("run_reply", run, writeJson(reply))
  }

  /**
   * Adds a message of the user to the conversation of a run's current frame, for example to steer its agent.
   * The next prompt has it after all other messages, also after the answers to tool calls that still wait for
   * one.
   *
   * @param run - The root frame of the run.
   * @param message - The message. Must not be empty.
   * @throws `unknown_frame`, `ambiguous_frame`, `no_run`, `empty` for the message, `out_of_turn` if the run
   * is over; the storage errors.
   */
  runTell(run: FrameRef, message: string): void {
    this.run("run_tell", run, message)
  }

  /**
   * Reports the answer to the tool call that {@link Stack.advanceRun} has returned.
   *
   * @param run - The root frame of the run.
   * @param answer - The call, and its answer.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`, `no_run`, `out_of_turn` if another tool call is next
   * or the run is over; the storage errors.
   */
  runAnswer(run: FrameRef, answer: RunAnswer): void {
    this.run("run_answer", run, writeJson(answer))
  }

  /**
   * Sets the settings of a host. They replace the environment variables `STACK_…`, which replace the
   * defaults. From then on, effects include lines for the log of the host, and {@link Stack.poll} is expected
   * to be called.
   *
   * @param settings - The settings. Every key is optional.
   * @returns A message for each invalid setting. An invalid setting is ignored; it is not an error of this
   * function.
   */
  configure(settings?: HostSettings): string[] {
    return this.record<string[]>("configure", writeJson(settings))
  }

  /**
   * Reports an event of the host. Changes of frames that follow from it are committed before the function
   * returns. If such a change is refused, or storage fails, the function still succeeds; an effect `log` with
   * the level `warn` reports it.
   *
   * A host reports the events of all its sessions. Events may be repeated, and may come in any order. Events
   * of one stack are processed one after the other.
   *
   * @param event - The event.
   * @returns What the host must do, in this order.
   * @throws `json` for an event of another shape.
   */
  report(event: HostEvent): Effect[] {
    return this.record<Effect[]>("report", writeJson(event))
  }

  /**
   * Does work that is due: writes the files beside the database in small portions, those of changed frames
   * every 250 ms, and `state.json` if writing costs little compared with the changes, or 5 s after the last
   * change; completes idle subagents; stops calls at their time limit; returns lines for the log. The host
   * calls this function at the time that {@link Stack.deadline} returns. With the option `mirror:
   * "withCommands"`, commands leave `state.json` to this function from the first call on. A failure to write
   * the files is not an error of this function; {@link Stack.info} returns it as `mirror.error`.
   *
   * @returns What the host must do, in this order. A caller that does not take the effects loses them, so it
   * must not have reported events.
   */
  poll(): Effect[] {
    return this.record<Effect[]>("poll")
  }

  /**
   * Returns the time at which {@link Stack.poll} has work to do. Does not wait for a command that is running.
   *
   * @returns Milliseconds since the Unix epoch, if there is work; in C 0 otherwise.
   */
  deadline(): number | undefined {
    return this.time("deadline")
  }

  /**
   * Carries out a tool call of the agent of a session. An unknown tool, wrong arguments, a refused command
   * and a storage failure are not errors of this function: the answer tells the agent the reason.
   *
   * @param session - The whole ID of the session.
   * @param call - The name of the tool, and the arguments.
   * @returns The text for the agent, and what the host must do.
   * @throws `json`.
   */
  tool(session: string, call: ToolRequest): ToolAnswer {
    return this.record<ToolAnswer>("tool", session, writeJson(call))
  }

  /**
   * Returns the frame in which the conversation of a session is: the session's own frame, or with `{"calls":
   * {"in": "conversation"}}` a frame that it has begun and works on itself.
   *
   * @param session - The whole ID of the session.
   * @returns The handle, if the session has a frame.
   */
  place(session: string): Handle | undefined {
    return this.text("place", session) || undefined
  }

  /**
   * Appends entries to the full log of a frame, `logs/{id}.jsonl` in the folder of the stack: all of them or
   * none. Contexts that show the frame in full tell the agent the path of the log.
   *
   * @param frame - The frame.
   * @param entries - The entries. Each becomes one line of JSON.
   * @throws `unknown_frame`, `ambiguous_frame`, `in_memory` if the stack has no folder, `json` (also for an
   * entry that is nested more than 100 levels deep); the storage errors.
   */
  appendLog(frame: FrameRef, entries: readonly unknown[]): void {
    this.run("append_log", frame, writeJson(entries))
  }

  /**
   * Returns lines of the log of a frame. A frame without a log has no lines. The function reads the file; if
   * there is no file, it first waits for a running command and looks for commits of other processes.
   *
   * @param frame - The frame.
   * @param query - Which lines. Default: all.
   * @returns The lines.
   * @throws `unknown_frame`, `ambiguous_frame`, `json`, `in_memory` if the stack has no folder; the storage
   * errors.
   */
  readLog(frame: FrameRef, query?: LogQuery): LogPage {
    return this.record<LogPage>("read_log", frame, writeJson(query))
  }

  /**
   * Sets the path of a frame's full log, for hosts that keep the log themselves. Contexts tell the agent the
   * path while the file exists. The library never writes to the file.
   *
   * @param frame - The frame.
   * @param path - A path, absolute or relative to the folder of the stack. Must not be empty.
   * @throws `unknown_frame`, `ambiguous_frame`, `empty` for the path; the storage errors.
   */
  setLogPath(frame: FrameRef, path: string): void {
    this.run("set_log_path", frame, path)
  }

  /**
   * Returns events of the history, oldest first, up to the revision that {@link Stack.info} returns. Does not
   * wait for a command that is running.
   *
   * @param query - Which events. Default: all.
   * @returns The events.
   * @throws `in_memory` if the stack keeps no history, `unknown_frame`, `ambiguous_frame`, `json`, `setting`
   * for an unknown kind; the storage errors.
   */
  history(query?: EventQuery): StackEvent[] {
    return this.record<StackEvent[]>("history", writeJson(query))
  }

  /**
   * Returns the whole history as text, up to the revision that {@link Stack.info} returns. {@link
   * Stack.rebuild} reads it. If the history is damaged (`damaged`), these are the events before the damage.
   * Does not wait for a command that is running.
   *
   * @returns One event in JSON on each line, as in {@link Stack.history}. If the history was compacted, lines
   * come first that only the library reads, with the keys `base` and `baseFrame`: the frames whose events are
   * gone.
   * @throws `in_memory` if the stack keeps no history; `history` if another process compacts the history at
   * the same time; the storage errors.
   */
  exportHistory(): string {
    return this.text("export_history")
  }
}
