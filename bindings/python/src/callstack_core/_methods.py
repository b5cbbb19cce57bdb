"""The methods of a stack that only carry their arguments to the library and the result back.

Generated from api.json: `make api` renews it. Do not edit it.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from callstack_core._open_stack import OpenStack
from callstack_core.types import (
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
)


class StackMethods(OpenStack):
    """A stack with the methods that only carry."""

    __slots__ = ()

    def flush(self) -> None:
        """Writes everything to the disk: syncs the database, so that all acknowledged commits survive a power
        loss, and brings state.json and the files of the frames up to date.

        A stack in memory has nothing to write.

        Raises the storage errors. An error of the files is also in `info`, as `mirror.error`.
        """
        self._run("flush")

    def refresh(self) -> bool:
        """Makes visible to queries what other processes have committed since the last command or refresh.

        Commands do the same automatically. Takes a few microseconds if there is nothing new.

        Returns whether there was something new.

        Raises the storage errors.
        """
        return self._flag("refresh")

    def compact_history(self, limits: CompactionLimits) -> HistoryCompaction:
        """Replaces the events of finished trees by their last state, so that the database becomes smaller.

        Frames, handles, contexts and logs stay as they are. `history` no longer has these events.
        `export_history` writes the frames instead of them, so `rebuild` still makes the same stack.

        Takes some seconds for a million events. Most of that time other commands do not wait.

        `limits`: Which trees lose their events.

        Returns what was removed.

        Raises JsonError for the limits, InMemoryError if the stack has no database, DamagedError if the
        events do not give the state that the database has; the storage errors. After an error the history is
        as it was.
        """
        return self._record("compact_history", self._json(limits))

    def prune_logs(self, limits: LogLimits) -> PrunedLogs:
        """Removes old logs of finished frames.

        Logs of frames that are planned, in progress or blocked stay.

        `limits`: Which logs are removed.

        Returns what was removed, and what is left.

        Raises JsonError for the limits, InMemoryError if the stack has no folder; the storage errors.
        """
        return self._record("prune_logs", self._json(limits))

    def info(self) -> StackInfo:
        """Returns figures about the stack, as the last command left them.

        Does not wait for a command that is running.

        Returns the figures.
        """
        return self._record("info")

    def push(self, frame: NewFrame) -> Handle:
        """Makes a new frame with the status `in_progress`, and makes it the active frame.

        `frame`: The frame. Only the title is required.

        Returns the handle of the frame, such as `f3`.

        Raises JsonError, DuplicateIdError, EmptyError for the title or the ID, TooLongError for the ID or the
        task, UnknownFrameError, AmbiguousFrameError, DependencyError, ParentClosedError, ParentPlannedError,
        SettingError and ToolsExceedError for the limits, FullError; the storage errors.
        """
        return self._text("push", self._json(frame))

    def plan(self, frame: NewFrame) -> Handle:
        """Makes a new frame with the status `planned`.

        It begins with `activate` or `begin`.

        `frame`: The frame. Its parent may be planned too.

        Returns the handle of the frame.

        Raises JsonError, DuplicateIdError, EmptyError for the title or the ID, TooLongError for the ID or the
        task, UnknownFrameError, AmbiguousFrameError, DependencyError, ParentClosedError, SettingError and
        ToolsExceedError for the limits, FullError; the storage errors.
        """
        return self._text("plan", self._json(frame))

    def plan_children(self, parent: FrameRef, children: Sequence[NewFrame]) -> list[Handle]:
        """Makes several planned children of one frame in one commit: all of them or none.

        `parent`: The frame above the children.

        `children`: The children. Their own `parent` and `caller` are ignored. A child may depend on any other
        child of the list, by its `sessionID` or its title.

        Returns the handles of the children.

        Raises those of `plan` for any of the children; the message says which child: JsonError,
        DuplicateIdError, EmptyError, TooLongError, UnknownFrameError, AmbiguousFrameError, DependencyError,
        ParentClosedError, SettingError, ToolsExceedError, FullError; the storage errors.
        """
        return self._record("plan_children", parent, self._list(children, "plan_children"))

    def ensure(self, session: str, placeholder: Placeholder | None = None) -> Handle:
        """Returns the frame of a session.

        If the session has no frame, makes a placeholder: a frame with the status `in_progress`, whose title
        and criteria `identify` can set later. A placeholder becomes the active frame if no frame is active.

        `session`: The whole ID of the session.

        `placeholder`: What a placeholder is made with.

        Returns the handle of the frame.

        Raises EmptyError and TooLongError for the ID, JsonError, UnknownFrameError and AmbiguousFrameError
        for the parent, FullError; the storage errors.
        """
        return self._text("ensure", session, self._optional_json(placeholder))

    def identify(self, frame: FrameRef, identity: Identity) -> None:
        """Sets the title and the criteria of a placeholder for good.

        This works once for each frame. If a placeholder already has criteria, they are also set for good when
        a frame is pushed, planned or imported below it.

        `frame`: The frame.

        `identity`: The title and the criteria.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError, EmptyError for the title, IdentityFixedError
        if the frame is not a placeholder; the storage errors.
        """
        self._run("identify", frame, self._json(identity))

    def edit(self, frame: FrameRef, edit: FrameEdit) -> None:
        """Edits a planned frame: its words, its priority and dependencies, its parent, and its order among its
        siblings.

        The frames below it move with it. A person (`as_actor`) can also correct the words and the priority of
        a frame that is `in_progress` or `blocked`.

        `frame`: The frame.

        `edit`: What changes. Every key is optional.

        Raises NotPlannedError if the frame has begun or ended and this is not a correction by a person;
        TooLongError for the task; JsonError, UnknownFrameError, AmbiguousFrameError; EmptyError for the
        title; ParentClosedError and ParentCircleError for the parent; RetryLinkError if a next attempt would
        get another parent; NotSiblingError for `before`; DependencyError if a frame would wait for itself, or
        for a frame above or below it; the storage errors.
        """
        self._run("edit", frame, self._json(edit))

    def activate(self, frame: FrameRef) -> None:
        """Begins a planned frame: sets its status to `in_progress` and makes it the active frame.

        It does not check what the frame depends on: `begin` does.

        `frame`: A frame with the status `planned`.

        Raises UnknownFrameError, AmbiguousFrameError, TransitionError if the frame is not planned,
        NotReadyError if it is not work, HeldError; the storage errors.
        """
        self._run("activate", frame)

    def begin(self, frame: FrameRef) -> None:
        """Begins a planned frame as `activate` does, if it has what it needs.

        `frame`: A frame with the status `planned`.

        Raises UnknownFrameError, AmbiguousFrameError, TransitionError if the frame is not planned,
        NotReadyError if something keeps it from beginning (the details hold `dependencies`), HeldError; the
        storage errors.
        """
        self._run("begin", frame)

    def replace_id(self, frame: FrameRef, session: str) -> None:
        """Gives a frame another ID.

        Its handle stays the same. Its file, and its log if the library keeps the log, are renamed.

        `frame`: The frame.

        `session`: The new ID. Must not be empty.

        Raises UnknownFrameError, AmbiguousFrameError, EmptyError and TooLongError for the ID,
        DuplicateIdError if another frame has the ID; the storage errors.
        """
        self._run("replace_id", frame, session)

    def pop(self, frame: FrameRef, pop: Pop) -> Popped:
        """Ends the work on a frame and sets its results.

        If the frame or a frame below it was active, its nearest ancestor that is `in_progress` or `blocked`
        becomes active; if there is none, no frame is active. A root can be popped too.

        `frame`: The frame, `in_progress` or `blocked`.

        `pop`: The new status, the results, and the frame that begins next.

        Returns the frame, its parent, and what is left below it.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError, TransitionError if the status of the frame
        does not allow it or `next` is not planned, NotReadyError if `next` depends on a frame that is not
        completed then, HeldError; the storage errors.
        """
        return self._record("pop", frame, self._json(pop))

    def complete(self, frame: FrameRef, completion: Completion) -> Popped:
        """Completes a frame whose work is done.

        Unlike `pop`, it refuses while frames below the frame are open or planned.

        `frame`: The frame, `in_progress` or `blocked`.

        `completion`: The results, and the frame that begins next.

        Returns the frame and its parent.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError, PartsLeftError if frames below it are open
        or planned, TransitionError if the status of the frame does not allow it or `next` is not planned,
        NotReadyError if `next` depends on a frame that is not completed then, HeldError; the storage errors.
        """
        return self._record("complete", frame, self._json(completion))

    def block(self, frame: FrameRef, block: Block) -> Popped:
        """Blocks a frame: it waits for something from outside.

        The active frame changes as in `pop`. The contexts of its parent, of its siblings and of the frames
        that depend on it show the question.

        `frame`: The frame, `in_progress` or `blocked`.

        `block`: The question, and the results so far.

        Returns the frame, its parent, and what is left below it.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError, TransitionError if the status of the frame
        does not allow it, HeldError; the storage errors.
        """
        return self._record("block", frame, self._json(block))

    def answer(self, frame: FrameRef, answer: str) -> None:
        """Answers a blocked frame.

        The frame stays blocked until it is resumed: by a host that runs its session, when it calls `poll`; by
        the agent's tool `stack_frame_activate`; or by `resume`. The contexts of the frame show the answer
        until the frame is finished. A second answer to one question is added to the first. A frame that waits
        before it has begun, as an import leaves it, becomes planned with the answer; if it is not work, it
        becomes completed.

        `frame`: The frame, `blocked`.

        `answer`: The answer. Must not be empty.

        Raises UnknownFrameError, AmbiguousFrameError, NotBlockedError, EmptyError for the answer; the storage
        errors.
        """
        self._run("answer", frame, answer)

    def resume(self, frame: FrameRef) -> None:
        """Resumes an open frame: a blocked frame becomes `in_progress` again.

        The frame becomes the active frame, and an actor with a name (`as_actor`) becomes its holder, so of
        several actors one resumes it.

        `frame`: The frame, `blocked` or `in_progress`.

        Raises UnknownFrameError, AmbiguousFrameError, TransitionError if the frame is neither `blocked` nor
        `in_progress`, HeldError; the storage errors.
        """
        self._run("resume", frame)

    def stop(self, frame: FrameRef, reason: str) -> list[Handle]:
        """Stops the frames that hosts run or workers hold, from a frame downwards, also those of other
        processes: the frames become blocked, and the reason is what they wait for.

        A running host notices that at its next poll: it aborts their sessions, keeps what the agents have
        said last as results so far, and answers the callers. The frames can be resumed like any other blocked
        frame.

        `frame`: This frame and the frames below it.

        `reason`: For those who resume the frames. Must not be empty.

        Returns the stopped frames.

        Raises UnknownFrameError, AmbiguousFrameError, EmptyError for the reason; HeldError if another actor
        works itself in the frame or below it; the storage errors.
        """
        return self._record("stop", frame, reason)

    def stop_all(self, reason: str) -> list[Handle]:
        """Stops all frames that hosts run or workers hold: see `stop`.

        The frames in which other actors work themselves stay as they are, if an actor with a name gives the
        command.

        `reason`: For those who resume the frames. Must not be empty.

        Returns the stopped frames.

        Raises EmptyError for the reason; the storage errors.
        """
        return self._record("stop_all", reason)

    def retry(self, frame: FrameRef, note: str | None = None) -> Retried:
        """Retries a failed or blocked frame: makes a planned frame beside it, with the same title, criteria and
        dependencies, as its next attempt.

        A blocked frame fails; it keeps its results and its question. The planned frames below it are
        invalidated. The context of the new frame shows why the earlier attempts failed. All other contexts
        show the newest attempt only, and frames that depend on any attempt wait for the newest.

        `frame`: The frame, `failed` or `blocked`.

        `note`: What must be done differently, or the answer to what the frame waits for.

        Returns the new frame.

        Raises UnknownFrameError, AmbiguousFrameError, NotRetriableError if the frame is neither failed nor
        blocked or has a next attempt already, ParentClosedError, FullError, HeldError; the storage errors.
        """
        return self._record("retry", frame, self._optional(note))

    def deliver(self, frame: FrameRef) -> None:
        """Records that the conversation of the frame's parent has received the results of the frame, for example
        as the answer to a tool call.

        Contexts of the parent then do not repeat these results, until `forget` of the parent (with
        `"finishedChildren": "forgotten"`, the default). A host that reports events needs not call it for the
        calls that the library answers.

        `frame`: The frame, `completed` or `failed`.

        Raises UnknownFrameError, AmbiguousFrameError, NotFinishedError; the storage errors.
        """
        self._run("deliver", frame)

    def forget(self, frame: FrameRef) -> None:
        """Records that the conversation of a frame was compacted or has started from the beginning, so that it
        no longer holds the results of the frame's children.

        The frame's contexts then show these results. A host that reports events needs not call it after a
        compaction.

        `frame`: The frame.

        Raises UnknownFrameError, AmbiguousFrameError; the storage errors.
        """
        self._run("forget", frame)

    def summarize(self, frame: FrameRef, results: ResultsSoFar) -> None:
        """Records the results so far of an open frame and leaves its status unchanged, for example before its
        conversation is compacted.

        The context of the frame itself shows them. Frames below it see them from the next push or change of a
        status on.

        `frame`: The frame, `in_progress` or `blocked`.

        `results`: The results so far.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError, ResultsFixedError if the frame is not open,
        EmptyError for the results; the storage errors.
        """
        self._run("summarize", frame, self._json(results))

    def reopen(self, frame: FrameRef, reason: str) -> Reopened:
        """Reopens a completed frame that turned out to be wrong: it is `in_progress` again and becomes the
        active frame.

        Its results become its results so far, and its context shows the reason.

        `frame`: The frame, `completed`.

        `reason`: What is wrong. Must not be empty.

        Returns the frame, and the frames that depend on it.

        Raises UnknownFrameError, AmbiguousFrameError, EmptyError for the reason, TransitionError if the frame
        is not completed, ParentClosedError if a frame above it has ended, ParentPlannedError if one is
        planned, HeldError; the storage errors.
        """
        return self._record("reopen", frame, reason)

    def undo(self) -> Undone:
        """Takes back the last command of the person who gives this command (`as_actor` with the kind `person`),
        if nothing has been built on it.

        Without an actor, it takes back the last command of the persons who have given no name. What the
        command has added is invalidated. The last 20 commands of persons are remembered.

        Returns what was taken back.

        Raises NothingToUndoError, NotUndoneError (the details hold the reason); the storage errors.
        """
        return self._record("undo")

    def invalidate(self, frame: FrameRef, reason: str) -> Invalidated:
        """Takes a frame and the planned frames below it out of the plan: sets their status to `invalidated`.

        If the frame was active, its nearest ancestor that is `in_progress` or `blocked` becomes active.

        `frame`: The frame, in any status except `invalidated`.

        `reason`: The reason, for people and agents. Must not be empty.

        Returns the frames that were invalidated, and those that are concerned.

        Raises UnknownFrameError, AmbiguousFrameError, EmptyError for the reason, TransitionError if the frame
        is invalidated already, HeldError; the storage errors.
        """
        return self._record("invalidate", frame, reason)

    def add_artifact(self, frame: FrameRef, artifact: str) -> bool:
        """Records a file or another resource that the work on a frame has produced.

        Each artifact is recorded once.

        `frame`: The frame, in any status.

        `artifact`: Usually a path. Must not be empty.

        Returns whether the artifact was not recorded before.

        Raises UnknownFrameError, AmbiguousFrameError, EmptyError for the artifact; the storage errors.
        """
        return self._flag("add_artifact", frame, artifact)

    def add_decision(self, frame: FrameRef, decision: str) -> None:
        """Records a decision in a frame.

        `frame`: The frame, in any status.

        `decision`: The decision, such as `Use SQLite`. Must not be empty.

        Raises UnknownFrameError, AmbiguousFrameError, EmptyError for the decision; the storage errors.
        """
        self._run("add_decision", frame, decision)

    def record_usage(self, frame: FrameRef, request: ModelRequest) -> None:
        """Records a request to a model that was made in the session of a frame.

        Contexts do not change. A host with sessions reports requests with its messages instead: see `report`.

        `frame`: The frame, in any status.

        `request`: The request. Every key is optional.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError; the storage errors.
        """
        self._run("record_usage", frame, self._json(request))

    def set_active(self, frame: FrameRef) -> None:
        """Makes an open frame the active frame.

        `frame`: A frame that is `in_progress` or `blocked`. `activate` begins a planned one.

        Raises UnknownFrameError, AmbiguousFrameError, NotOpenError if the frame is neither `in_progress` nor
        `blocked`; the storage errors.
        """
        self._run("set_active", frame)

    def import_plan(self, plan: str) -> Imported:
        """Adds the frames of a plan in one commit: all of them or none.

        A plan that was imported before is brought up to date: the library compares it by its IDs with what it
        said then, adds new entries, edits changed ones, finishes closed ones, and invalidates removed ones.
        What was begun in the stack stays, and so does a field that was changed both in the stack and in the
        plan. A frame that the plan does not let begin is blocked until it is answered, or until a time.

        `plan`: The text of Task Master's `tasks.json`, of Beads' `issues.jsonl`, of a check list in Markdown,
        or of a `state.json`. The library detects the format. A `state.json` only adds frames; each `logPath`
        in it is left out and reported as a problem, because the logs stay where the state comes from.

        Returns the new and the changed frames, and the problems.

        Raises JsonError if the plan is in none of the formats, VersionError if a newer version wrote the
        `state.json`, DuplicateIdError if a frame that is not from this plan has the same ID, DependencyError
        if a change in the stack would make a new entry wait for itself, FullError; the storage errors.
        """
        return self._record("import_plan", plan)

    def hold(self, request: NewHold) -> Hold | None:
        """Gives a free frame to a worker, for the length of a lease.

        If several workers ask at the same time, in any processes, each gets another frame. The frame becomes
        `in_progress`; the active frame stays the same.

        First come the frames whose worker has let its lease end or has released them, and blocked frames of
        workers that were answered; then come planned frames in the order of the plan. A planned frame is free
        when its dependencies, and those of the planned frames above it, are completed, and when its children
        are completed or invalidated; unless the frame above it has ended.

        `request`: The worker, the lease, and which frames it wants.

        Returns the frame and its holder, if a frame is free now. `work_left` says whether that can change.

        Raises JsonError, EmptyError and TooLongError for the name, SettingError for the lease,
        UnknownFrameError, AmbiguousFrameError, NotFreeError if the wanted frame is not free; the storage
        errors.
        """
        return self._record("hold", self._json(request))

    def renew(self, hold: Hold, renewal: Renewal) -> Hold:
        """Extends the lease of a holder.

        A lease that has ended can be renewed as long as no other worker has held the frame since.

        `hold`: What `hold` has returned.

        `renewal`: The length of the lease from now on.

        Returns the hold with its new end.

        Raises HoldLostError if another worker has held the frame since; NotFreeError if its holder has
        released it, or if it is not `in_progress` any more: the holder should stop; SettingError for the
        lease; JsonError, UnknownFrameError; the storage errors.
        """
        return self._record("renew", self._json(hold), self._json(renewal))

    def standing(self, hold: Hold) -> Standing:
        """Returns whether a holder still has its frame.

        A worker asks now and then, for example each second, and stops its work when the frame is not held any
        more.

        `hold`: What `hold` has returned.

        Returns how the frame stands for its holder.

        Raises HoldLostError if another worker has held the frame since; JsonError, UnknownFrameError; the
        storage errors.
        """
        return self._record("standing", self._json(hold))

    def release(self, hold: Hold) -> None:
        """Releases a frame, so that another worker can have it at once.

        The frame stays `in_progress`, and this time does not count as a try. Nothing happens if the frame was
        released already.

        `hold`: What `hold` has returned.

        Raises HoldLostError if another worker has held the frame since; JsonError, UnknownFrameError; the
        storage errors.
        """
        self._run("release", self._json(hold))

    def finish(self, hold: Hold, finish: Finish) -> Finished:
        """Ends the work of a holder on its frame in one commit.

        The frame must be `in_progress`, so what a person stops or plans at this moment is not lost. If frames
        were planned below the frame, it is put back until they are done, and its results are its results so
        far.

        `hold`: What `hold` has returned.

        `finish`: How the work ends.

        Returns the new status of the frame.

        Raises HoldLostError if another worker has held the frame since; NotFreeError if the frame is not
        `in_progress` any more; SettingError for a time that is too long; EmptyError, JsonError,
        UnknownFrameError; the storage errors.
        """
        return self._record("finish", self._json(hold), self._json(finish))

    def work_left(self, below: FrameRef | None = None) -> WorkLeft:
        """Counts the unfinished frames by what they are for workers.

        If none is `free`, `held` or `later`, none becomes free unless a person or a host does something.

        `below`: Only frames below this one. Default: all frames.

        Returns the numbers of frames.

        Raises UnknownFrameError, AmbiguousFrameError.
        """
        return self._record("work_left", self._optional(below))

    def resumption(self, frames: Sequence[FrameRef] | None = None) -> Resumption:
        """Returns how a host continues frames whose work was interrupted, stopped or answered.

        Each frame comes after the frames below it, so that it finds their results. A host asks again when a
        frame that it waits for has ended.

        `frames`: The frames that the host continues. Default: all that are open.

        Returns the frames that can continue now, and later.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError.
        """
        return self._record("resumption", self._optional_list(frames, "resumption"))

    def note_interruptions(self) -> list[Handle]:
        """Records that frames were interrupted because the lease of their holder has ended.

        Hosts do this when they poll and at tool calls; a program without sessions can do it before it looks
        at what runs. If a record is refused, the next call tries again.

        Returns these frames.
        """
        return self._record("note_interruptions")

    def set_limits(self, frame: FrameRef, limits: FrameLimits) -> None:
        """Sets what a frame may do and spend.

        Limits that are not given stay as they are.

        `frame`: The frame, in any status.

        `limits`: The limits.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError, SettingError for a limit of 0,
        ToolsExceedError for tools that the frames above do not have; the storage errors.
        """
        self._run("set_limits", frame, self._json(limits))

    def record_cost(self, frame: FrameRef, cost: NewCost) -> None:
        """Records what a conversation of a frame has cost so far, for hosts that know the costs of
        conversations, but not of requests.

        It replaces what was recorded of the conversation before. Until the next record, `usage` estimates the
        costs of later requests.

        `frame`: The frame, in any status.

        `cost`: The conversation and its cost.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError, EmptyError if the ID of the conversation is
        blank; the storage errors.
        """
        self._run("record_cost", frame, self._json(cost))

    def allowance(self, frame: FrameRef) -> Allowance:
        """Returns what a frame may do and spend now, with the limits of all frames above it.

        A root without limits of its own has those of the host's settings (`calls.limits`).

        `frame`: The frame.

        Returns what is left. What is not limited is absent.

        Raises UnknownFrameError, AmbiguousFrameError.
        """
        return self._record("allowance", frame)

    def overspent(self, frame: FrameRef) -> Overspent | None:
        """Returns the first frame, from this one upwards, that has spent what it may, together with all frames
        below it.

        `frame`: The frame.

        Returns that frame and the reason, if there is one.

        Raises UnknownFrameError, AmbiguousFrameError.
        """
        return self._record("overspent", frame)

    def resolve(self, frame: FrameRef) -> Handle:
        """Returns the handle of a frame.

        `frame`: A handle, an ID, the beginning of an ID, a title, or the beginning of the title of an
        unfinished frame.

        Returns the handle, such as `f3`.

        Raises UnknownFrameError; AmbiguousFrameError, with `candidates` in the details.
        """
        return self._text("resolve", frame)

    def active(self) -> Handle | None:
        """Returns the handle of the active frame: the frame on which an agent works.

        Returns the handle, if a frame is active.
        """
        return self._text("active") or None

    def frame(self, frame: FrameRef) -> Frame:
        """Returns the record of a frame.

        `frame`: The frame.

        Returns the record with the handle.

        Raises UnknownFrameError, AmbiguousFrameError.
        """
        return self._record("frame", frame)

    def frames(self, query: FrameQuery | None = None) -> list[Frame]:
        """Returns the records of all frames, or of the frames that match a query.

        `query`: Which frames. Default: all.

        Returns the records, in the order of creation, if the query does not have another order.

        Raises JsonError, UnknownFrameError, AmbiguousFrameError, EmptyError if the relation needs a frame and
        the query has none.
        """
        return self._record("frames", self._optional_json(query))

    def handles(self, query: FrameQuery | None = None) -> list[Handle]:
        """Returns the handles of all frames, or of the frames that match a query, like `frames`.

        `query`: Which frames. Default: all.

        Returns the handles.

        Raises JsonError, UnknownFrameError, AmbiguousFrameError, EmptyError if the relation needs a frame and
        the query has none.
        """
        return self._record("handles", self._optional_json(query))

    def usage(self, frame: FrameRef) -> FrameUsage:
        """Returns the sums of the requests to models: those of a frame, and those of the frame and all frames
        below it.

        `frame`: The frame.

        Returns the sums.

        Raises UnknownFrameError, AmbiguousFrameError.
        """
        return self._record("usage", frame)

    def state(self) -> StackState:
        """Returns all trees in the documented form of `state.json`.

        `from_state` reads it.

        Returns the state.
        """
        return self._record("state")

    def export_files(self, folder: str | PathLike[str]) -> None:
        """Writes the documented files, `state.json` and `frames/`, to another folder, for other tools or as a
        copy.

        `open` of that folder imports them. The files show the frames at the time of the call. The function
        does not wait for a command that is running, and no command waits for it.

        `folder`: A path, absolute or relative to the working directory. Must not be empty. The folder is
        created if it does not exist.

        Raises EmptyError for the folder, NotEmptyError if the folder contains a `state.json` or a database;
        IoError, DiskFullError, ReadOnlyError and BusyError for the files, also for a stack in memory.
        """
        self._run("export_files", self._path(folder))

    def outline(self, options: OutlineOptions | None = None) -> str:
        """Returns the trees as text for people.

        `options`: What the text shows.

        Returns several lines.

        Raises JsonError, UnknownFrameError, AmbiguousFrameError.
        """
        return self._text("outline", self._optional_json(options))

    def clear_cache(self, frame: FrameRef | None = None) -> None:
        """Removes the contexts of a frame from the cache.

        `frame`: The frame. Default: all frames.

        Raises UnknownFrameError, AmbiguousFrameError.
        """
        self._run("clear_cache", self._optional(frame))

    def allocate_chunk(self, frame: FrameRef, chunk: NewChunk) -> None:
        """Allocates a chunk, a named text, on the heap of a frame.

        The frame and all frames below it see the chunk until it is freed. Contexts show its text verbatim,
        even after the conversation was compacted.

        `frame`: The frame that owns the chunk.

        `chunk`: The chunk.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError, EmptyError for the name, TooLongError,
        NotOneLineError, ChunkExistsError if the frame, or an unfinished frame below it, already sees a chunk
        of that name; the storage errors.
        """
        self._run("allocate_chunk", frame, self._json(chunk))

    def write_chunk(self, frame: FrameRef, content: ChunkContent) -> None:
        """Replaces the content of a chunk.

        `frame`: A frame that sees the chunk.

        `content`: The name of the chunk, and its new content.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError, UnknownChunkError (the details hold the
        names that are `known`), TooLongError; the storage errors.
        """
        self._run("write_chunk", frame, self._json(content))

    def free_chunk(self, frame: FrameRef, name: str) -> None:
        """Removes a chunk from the heap.

        `frame`: A frame that sees the chunk.

        `name`: The name of the chunk.

        Raises UnknownFrameError, AmbiguousFrameError, UnknownChunkError (the details hold the names that are
        `known`); the storage errors.
        """
        self._run("free_chunk", frame, name)

    def chunks(self, frame: FrameRef) -> list[VisibleChunk]:
        """Returns all chunks that a frame sees.

        The chunks of its root come first.

        `frame`: The frame.

        Returns each chunk with the frame that owns it.

        Raises UnknownFrameError, AmbiguousFrameError.
        """
        return self._record("chunks", frame)

    def update_registers(self, frame: FrameRef, registers: Registers) -> None:
        """Sets registers of a frame: short notes of its agent.

        From then on the frame uses registers: its contexts show them, and its children inherit some of them
        when they begin. `frame` returns them. Values that are too long are cut. Other registers keep their
        values.

        `frame`: The frame.

        `registers`: The registers that change.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError; the storage errors.
        """
        self._run("update_registers", frame, self._json(registers))

    def start_run(self, run: NewRun) -> Handle:
        """Starts a run: an agent that works on a task and manages its own memory.

        Its frames are frames of the tree, and its conversations are stored, so the run can continue after the
        death of the process.

        The host then repeats: it calls `advance_run`, does what the answer says, and reports the outcome with
        `run_reply` or `run_answer`.

        `run`: The task and the settings. Only the task is required.

        Returns the handle of the root frame. It is the argument `run` of the functions below.

        Raises JsonError, EmptyError for the task, the title or the ID, DuplicateIdError, TooLongError for the
        ID or the tools, FullError; the storage errors.
        """
        return self._text("start_run", self._json(run))

    def advance_run(self, run: FrameRef) -> Next:
        """Carries out the tool calls of the model that concern memory, until the run needs the host, and returns
        what it needs.

        Until the host has reported that, another call returns the same.

        `run`: The root frame of the run.

        Returns what the run needs: the answer of a model to a prompt (report it with `run_reply`), the answer
        to a tool call (report it with `run_answer`), or nothing, because the run is over.

        Raises UnknownFrameError, AmbiguousFrameError, NoRunError if the frame is not the root of a run;
        OutOfTurnError if another caller advances the run at the same time; the storage errors. Tool calls
        that were carried out before an error stay committed.
        """
        return self._record("advance_run", run)

    def runs(self) -> list[Handle]:
        """Returns all runs, finished or not, in the order in which they were started.

        Returns the handles of their root frames.
        """
        return self._record("runs")

    def run_status(self, run: FrameRef) -> RunStatus:
        """Returns the settings and the progress of a run.

        `run`: The root frame of the run.

        Returns the settings and the progress.

        Raises UnknownFrameError, AmbiguousFrameError, NoRunError if the frame is not the root of a run.
        """
        return self._record("run_status", run)

    def run_reply(self, run: FrameRef, reply: Reply) -> None:
        """Reports the answer of the model to the prompt of `advance_run`.

        `run`: The root frame of the run.

        `reply`: The text and the tool calls of the model.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError, NoRunError, OutOfTurnError if tool calls
        wait for answers or the run is over; the storage errors.
        """
        self._run("run_reply", run, self._json(reply))

    def run_tell(self, run: FrameRef, message: str) -> None:
        """Adds a message of the user to the conversation of a run's current frame, for example to steer its
        agent.

        The next prompt has it after all other messages, also after the answers to tool calls that still wait
        for one.

        `run`: The root frame of the run.

        `message`: The message. Must not be empty.

        Raises UnknownFrameError, AmbiguousFrameError, NoRunError, EmptyError for the message, OutOfTurnError
        if the run is over; the storage errors.
        """
        self._run("run_tell", run, message)

    def run_answer(self, run: FrameRef, answer: RunAnswer) -> None:
        """Reports the answer to the tool call that `advance_run` has returned.

        `run`: The root frame of the run.

        `answer`: The call, and its answer.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError, NoRunError, OutOfTurnError if another tool
        call is next or the run is over; the storage errors.
        """
        self._run("run_answer", run, self._json(answer))

    def configure(self, settings: HostSettings | None = None) -> list[str]:
        """Sets the settings of a host.

        They replace the environment variables `STACK_…`, which replace the defaults. From then on, effects
        include lines for the log of the host, and `poll` is expected to be called.

        `settings`: The settings. Every key is optional.

        Returns a message for each invalid setting. An invalid setting is ignored; it is not an error of this
        function.
        """
        return self._record("configure", self._optional_json(settings))

    def report(self, event: HostEvent) -> list[Effect]:
        """Reports an event of the host.

        Changes of frames that follow from it are committed before the function returns. If such a change is
        refused, or storage fails, the function still succeeds; an effect `log` with the level `warn` reports
        it.

        A host reports the events of all its sessions. Events may be repeated, and may come in any order.
        Events of one stack are processed one after the other.

        `event`: The event.

        Returns what the host must do, in this order.

        Raises JsonError for an event of another shape.
        """
        return self._record("report", self._json(event))

    def poll(self) -> list[Effect]:
        """Does work that is due: writes the files beside the database in small portions, those of changed frames
        every 250 ms, and `state.json` if writing costs little compared with the changes, or 5 s after the
        last change; completes idle subagents; stops calls at their time limit; returns lines for the log.

        The host calls this function at the time that `deadline` returns. With the option `mirror:
        "withCommands"`, commands leave `state.json` to this function from the first call on. A failure to
        write the files is not an error of this function; `info` returns it as `mirror.error`.

        Returns what the host must do, in this order. A caller that does not take the effects loses them, so
        it must not have reported events.
        """
        return self._record("poll")

    def deadline(self) -> int | None:
        """Returns the time at which `poll` has work to do.

        Does not wait for a command that is running.

        Returns milliseconds since the Unix epoch, if there is work; in C 0 otherwise.
        """
        return self._time("deadline")

    def tool(self, session: str, call: ToolRequest) -> ToolAnswer:
        """Carries out a tool call of the agent of a session.

        An unknown tool, wrong arguments, a refused command and a storage failure are not errors of this
        function: the answer tells the agent the reason.

        `session`: The whole ID of the session.

        `call`: The name of the tool, and the arguments.

        Returns the text for the agent, and what the host must do.

        Raises JsonError.
        """
        return self._record("tool", session, self._json(call))

    def place(self, session: str) -> Handle | None:
        """Returns the frame in which the conversation of a session is: the session's own frame, or with
        `{"calls": {"in": "conversation"}}` a frame that it has begun and works on itself.

        `session`: The whole ID of the session.

        Returns the handle, if the session has a frame.
        """
        return self._text("place", session) or None

    def append_log(self, frame: FrameRef, entries: Sequence[Any]) -> None:
        """Appends entries to the full log of a frame, `logs/{id}.jsonl` in the folder of the stack: all of them
        or none.

        Contexts that show the frame in full tell the agent the path of the log.

        `frame`: The frame.

        `entries`: The entries. Each becomes one line of JSON.

        Raises UnknownFrameError, AmbiguousFrameError, InMemoryError if the stack has no folder, JsonError
        (also for an entry that is nested more than 100 levels deep); the storage errors.
        """
        self._run("append_log", frame, self._list(entries, "append_log"))

    def read_log(self, frame: FrameRef, query: LogQuery | None = None) -> LogPage:
        """Returns lines of the log of a frame.

        A frame without a log has no lines. The function reads the file; if there is no file, it first waits
        for a running command and looks for commits of other processes.

        `frame`: The frame.

        `query`: Which lines. Default: all.

        Returns the lines.

        Raises UnknownFrameError, AmbiguousFrameError, JsonError, InMemoryError if the stack has no folder;
        the storage errors.
        """
        return self._record("read_log", frame, self._optional_json(query))

    def set_log_path(self, frame: FrameRef, path: str | PathLike[str]) -> None:
        """Sets the path of a frame's full log, for hosts that keep the log themselves.

        Contexts tell the agent the path while the file exists. The library never writes to the file.

        `frame`: The frame.

        `path`: A path, absolute or relative to the folder of the stack. Must not be empty.

        Raises UnknownFrameError, AmbiguousFrameError, EmptyError for the path; the storage errors.
        """
        self._run("set_log_path", frame, self._path(path))

    def history(self, query: EventQuery | None = None) -> list[StackEvent]:
        """Returns events of the history, oldest first, up to the revision that `info` returns.

        Does not wait for a command that is running.

        `query`: Which events. Default: all.

        Returns the events.

        Raises InMemoryError if the stack keeps no history, UnknownFrameError, AmbiguousFrameError, JsonError,
        SettingError for an unknown kind; the storage errors.
        """
        return self._record("history", self._optional_json(query))

    def export_history(self) -> str:
        """Returns the whole history as text, up to the revision that `info` returns.

        `rebuild` reads it. If the history is damaged (DamagedError), these are the events before the damage.
        Does not wait for a command that is running.

        Returns one event in JSON on each line, as in `history`. If the history was compacted, lines come
        first that only the library reads, with the keys `base` and `baseFrame`: the frames whose events are
        gone.

        Raises InMemoryError if the stack keeps no history; HistoryError if another process compacts the
        history at the same time; the storage errors.
        """
        return self._text("export_history")
