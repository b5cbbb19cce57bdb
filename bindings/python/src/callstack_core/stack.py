"""The Stack class: commands, queries and contexts."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fsencode
from types import TracebackType
from typing import Any

from callstack_core import _handle
from callstack_core._handle import ABSENT, FLAG, TIME, Handle as _Handle, Number, optional, read_json, write_json
from callstack_core._library import has
from callstack_core.context import Context
from callstack_core.errors import JsonError, LibraryError, SettingError
from callstack_core.types import (
    Actor,
    Allowance,
    Effect,
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
    StateOptions,
    Tool,
    ToolAnswer,
    ToolNames,
    Undone,
    VisibleChunk,
    WorkLeft,
)

_STATUSES: dict[str, int] = {
    "planned": 0,
    "in_progress": 1,
    "completed": 2,
    "failed": 3,
    "blocked": 4,
    "invalidated": 5,
}
"""The numbers of the statuses in the C interface (`CALLSTACK_STATUS_…`)."""

_ENDS = ("completed", "failed", "blocked")
"""The statuses with which a frame is popped."""


class Stack:
    """A call stack: a tree of frames, and a context for each frame.

        with Stack.open(".callstack") as stack:  # or close() it
            root = stack.push({"title": "Build a shop", "sessionID": "ses_1"})
            print(stack.context(root).xml)

    A stack in a folder is persistent: when a command returns, its change survives the death of the process. Several
    processes may open the same folder at the same time. Any thread may use a stack; calls do not hold the interpreter's
    lock. A child that was made by a fork must open the stack again: its parent's raises `ForkedError`.

    A call that fails raises a `CallstackError` and changes nothing, except that of a `PassingError` it may not be known.
    Every method that takes a frame may raise `UnknownFrameError` or `AmbiguousFrameError`; every command on a stored stack
    may raise a `PassingError`, a `StorageError` or a `DamagedError`; after `close` every other method raises `ClosedError`.

    If a command raises an error with the code `damaged`, the database has an event that cannot be read or does not fit.
    All later commands then raise the same, and nothing is written any more. Queries go on with the frames before the
    damage: `export_history` returns the events before it, and `rebuild` makes a new stack of them.
    """

    __slots__ = ("__weakref__", "_native")

    _native: _Handle

    def __init__(self) -> None:
        """Refuses: stacks are made by `open`, `in_memory`, `from_state` and `rebuild`."""
        raise TypeError("make a stack with Stack.open, Stack.in_memory, Stack.from_state or Stack.rebuild")

    @classmethod
    def _made(cls, name: str, *inputs: _handle.Input, owner: _Handle | None = None) -> Stack:
        stack = object.__new__(cls)
        stack._native = _Handle(f"callstack_{name}", *inputs, owner=owner)
        weakref.finalize(stack, stack._native.abandon)
        return stack

    @classmethod
    def open(cls, folder: str | PathLike[str], options: StackOptions | None = None) -> Stack:
        """Opens the stack in a folder. Creates the folder and the stack if they do not exist.

        `folder` can also be the URL of a stack in PostgreSQL, `postgres://HOST/DATABASE/STACK`, with the native library
        that `make native-postgres` builds (`CALLSTACK_LIBRARY` names it).

        Raises `DamagedError` or `VersionError` if a file cannot be read or comes from a newer version (the file is left
        unchanged), `EmptyError` for an empty path, `Utf8Error` for one that is not UTF-8, `JsonError` and `SettingError`
        for wrong options, `DisconnectedError` if the server cannot be reached, `LibraryError` for a URL if the native
        library was built without PostgreSQL.
        """
        if not (isinstance(folder, str) and folder.startswith(("postgres://", "postgresql://"))):
            return cls._made("open", fsencode(folder), _json(options))
        if not has("callstack_open_url"):
            raise LibraryError(
                "the native library of callstack-core was built without PostgreSQL; build one with "
                "`make native-postgres`, and name it in CALLSTACK_LIBRARY",
                {},
            )
        return cls._made("open_url", folder, _json(options))

    @classmethod
    def in_memory(cls, options: MemoryOptions | None = None) -> Stack:
        """Makes an empty stack in memory. Nothing is written to the disk."""
        return cls._made("in_memory", _json(options))

    @classmethod
    def from_state(cls, state: StackState | str, options: StateOptions | None = None) -> Stack:
        """Makes a stack in memory from a state, or from the text of a `state.json`.

        Inconsistencies are repaired and listed in the `repairs` of `info`; no frame is lost. Raises `JsonError` if the
        text is not a state, `VersionError` if it comes from a newer version.
        """
        return cls._made("from_state", state if isinstance(state, str) else write_json(state), _json(options))

    @classmethod
    def rebuild(cls, folder: str | PathLike[str], history: str, options: StackOptions | None = None) -> Stack:
        """Makes a stack in an empty folder from the text of `export_history`: the same frames, handles and history.

        Raises `NotEmptyError` if the folder holds a stack, `JsonError` or `HistoryError` (which name the line or the
        event) if the text is damaged or incomplete.
        """
        return cls._made("rebuild", fsencode(folder), history, _json(options))

    @staticmethod
    def settings() -> Settings:
        """Returns the default settings of contexts.

        The environment variables `STACK_TOKEN_BUDGET_TOTAL`, `STACK_TOKEN_BUDGET_ANCESTORS`,
        `STACK_TOKEN_BUDGET_SIBLINGS` and `STACK_TOKEN_BUDGET_CURRENT` (tokens) override them. A variable that is not a
        whole number of at least 1 leaves the default, with a warning.
        """
        settings, problems = _handle.texts(2, "callstack_settings")
        for problem in read_json(problems or "[]"):
            warnings.warn(problem, stacklevel=2)
        return read_json(settings or "{}")

    def close(self) -> None:
        """Flushes and frees the stack, when the calls of other threads have ended. Closing it again does nothing.

        If the flush fails, the stack is closed all the same, and the error says what could not be written.
        """
        self._native.close()

    def __enter__(self) -> Stack:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def flush(self) -> None:
        """Writes everything to the disk, including the files beside the database.

        Everything acknowledged so far then survives a loss of power. Does nothing for a stack in memory.
        """
        self._native.run("callstack_flush")

    def refresh(self) -> bool:
        """Reads what other processes have changed since the last command or refresh, so that queries show it.

        Commands do this by themselves. Returns whether anything was new.
        """
        return self._native.value(FLAG, "callstack_refresh") != 0

    def poll(self) -> list[Effect]:
        """Does the deferred work that is due, and returns the effects that the host must carry out.

        It writes `state.json`, finishes idle subagents, and stops calls at their time limit. A host that reports events,
        or may be idle for long, calls it at the time of `deadline`.
        """
        return self._record("poll")

    def deadline(self) -> int | None:
        """Returns when `poll` has work to do, in milliseconds since the Unix epoch; None if it has none."""
        return self._native.value(TIME, "callstack_deadline") or None

    def info(self) -> StackInfo:
        """Returns the number of frames, the cache statistics, the state of the files, and the repairs."""
        return self._record("info")

    def push(self, frame: NewFrame) -> Handle:
        """Creates a frame with status `in_progress` and makes it the active frame. Returns its handle.

            cart = stack.push({"title": "Shopping cart", "successCriteria": "Totals are right", "parent": "f1"})

        Raises `DuplicateIdError`, `EmptyError`, `DependencyError`, `ParentClosedError`, `ParentPlannedError`, or
        `JsonError` for a frame of the wrong shape.
        """
        return self._text("push", write_json(frame))

    def plan(self, frame: NewFrame) -> Handle:
        """Creates a planned frame and returns its handle. Like `push`, but the parent may be planned too."""
        return self._text("plan", write_json(frame))

    def plan_children(self, parent: FrameRef, children: Iterable[NewFrame]) -> list[Handle]:
        """Creates several planned children of one frame, all or none, and returns their handles.

        Their own `parent` is ignored. A child may depend on any other one by its `sessionID` or its title.
        """
        return self._record("plan_children", parent, write_json(_listed(children, "plan_children")))

    def ensure(self, session_id: str, title: str | None = None, parent: FrameRef | None = None) -> Handle:
        """Returns the frame of a session, by its whole ID. If it has none, creates a placeholder below `parent`, or as a root.

        The title is by default `Session` and the first 8 characters of the ID.
        """
        return self._text("ensure", session_id, optional(title), optional(parent))

    def identify(self, frame: FrameRef, identity: Identity) -> None:
        """Sets the title and criteria of a placeholder for good.

        Those of a placeholder that has criteria are also set for good when a frame is pushed, planned or imported below
        it. Raises `IdentityFixedError` if the frame has its title and criteria already, `EmptyError` for an empty title.
        """
        keys = ("title", "successCriteria", "successCriteriaCompacted")
        unknown = [key for key in identity if key not in keys]
        if unknown:
            reason = f"unknown field `{unknown[0]}`, expected one of {', '.join(keys)}"
            raise JsonError(f"the identity is not as expected: {reason}", {"what": "identity", "reason": reason})
        criteria, compacted = identity.get("successCriteria"), identity.get("successCriteriaCompacted")
        self._run("identify", frame, identity.get("title", ""), optional(criteria), optional(compacted))

    def edit(self, frame: FrameRef, edit: FrameEdit) -> None:
        """Edits a planned frame: its words, its priority and dependencies, its parent, and its order among its siblings.

            stack.edit(pay, {"dependsOn": [cart, "Taxes"], "before": mail})

        The frames below it move with it. Of a frame that has begun a person (`Stack.as_actor`) can correct the words and the
        priority. Raises `NotPlannedError` if the frame has begun or ended, and this is no correction, `ParentClosedError` or
        `ParentCircleError` for the parent, `RetryLinkError` if a next attempt would get another parent, `NotSiblingError` for
        `before`, `DependencyError` if a frame would wait for itself, or for one above or below it.
        """
        self._run("edit", frame, write_json(edit))

    def activate(self, frame: FrameRef) -> None:
        """Starts a planned frame: sets its status to `in_progress` and makes it the active frame.

        What it depends on is not looked at: `begin` does that. Raises `TransitionError` if the frame is not planned,
        `NotReadyError` if it is no work.
        """
        self._run("activate", frame)

    def begin(self, frame: FrameRef) -> None:
        """Starts a planned frame that has what it needs: `activate` for callers that must not begin what has to wait.

        Raises what `activate` raises, and `NotReadyError` if something keeps it from beginning.
        """
        self._run("begin", frame)

    def replace_id(self, frame: FrameRef, session_id: str) -> None:
        """Gives a frame another ID. Its handle stays the same.

        Raises `DuplicateIdError` if another frame has the ID, `EmptyError` if the ID is empty.
        """
        self._run("replace_id", frame, session_id)

    def set_status(
        self, frame: FrameRef, status: FrameStatus, results: str | None = None, results_compacted: str | None = None
    ) -> None:
        """Changes the status of a frame.

        Allowed are `planned` to `in_progress`, `in_progress` to `blocked` and back, both to `completed` or `failed`, and
        any status to `invalidated`; then `results` is the reason. Raises `TransitionError` for another change.
        """
        self._run("set_status", frame, _number(status), optional(results), optional(results_compacted))

    def pop(self, frame: FrameRef, status: PopStatus, results: str, results_compacted: str | None = None) -> Popped:
        """Finishes a frame. If it or a frame below it was active, the nearest open ancestor becomes active.

            stack.pop(cart, "completed", "Cart with totals in src/cart.py, 12 tests", "src/cart.py: total()")

        The compacted results are for the contexts of other frames. With `blocked` it is `block` without a question: the
        results say what the frame waits for. Raises `TransitionError` if the present status does not allow it.
        """
        return self._record("pop", frame, _number(status, _ENDS), results, optional(results_compacted))

    def pop_and_begin(
        self,
        frame: FrameRef,
        status: PopStatus,
        results: str,
        results_compacted: str | None = None,
        next: FrameRef | None = None,
    ) -> Popped:
        """Pops a frame as `pop`, and begins a planned one in the same command.

        Without `next` the first planned sibling that can begin then is begun; if there is none, the frame is only popped.
        Raises `NotReadyError` if `next` depends on a frame that is not completed then, `TransitionError` if it is not
        planned. Nothing has changed then.
        """
        texts = optional(results_compacted), optional(next)
        return self._record("pop_and_begin", frame, _number(status, _ENDS), results, *texts)

    def complete(
        self, frame: FrameRef, results: str, results_compacted: str | None = None, next: FrameRef | None = None
    ) -> Popped:
        """Completes a frame whose work is done: `pop` for callers that must not overlook what is left below it.

        `next` is the planned frame that begins in the same command. Raises `PartsLeftError` if frames below it are open or
        planned, and what `pop_and_begin` raises. Nothing has changed then.
        """
        return self._record("complete", frame, results, optional(results_compacted), optional(next))

    def block(
        self, frame: FrameRef, question: str, results: str | None = None, results_compacted: str | None = None
    ) -> Popped:
        """Blocks a frame: it waits for something from outside.

            stack.block(tax, "Which VAT rate? The user knows", "Totals without VAT work")
            stack.answer(tax, "20 %")
            stack.set_status(tax, "in_progress")

        The contexts of its parent, its siblings and the frames that depend on it show the question: what it needs, and
        from whom. If it is empty, the results say it. Without results the frame keeps those that it has. Raises
        `TransitionError` if the present status does not allow it.
        """
        return self._record("block", frame, question, optional(results), optional(results_compacted))

    def answer(self, frame: FrameRef, answer: str) -> None:
        """Answers a blocked frame. A second answer to one question is added to the first.

        It stays blocked until somebody resumes it: a process that runs its session, when it polls; the agent's tool
        `stack_frame_activate`; or `set_status` with `in_progress`. The contexts of the frame show the answer until it is
        finished. A frame that has waited to begin, as an import leaves it, is planned then; if it is no work, it is completed.
        Raises `NotBlockedError` if the frame is not blocked, `EmptyError` for an empty answer.
        """
        self._run("answer", frame, answer)

    def stop(self, frame: FrameRef, reason: str) -> list[Handle]:
        """Stops the frames that hosts run or workers have, from a frame downwards, also those of other processes; returns them.

        They become blocked, with the reason as what they wait for. A running host notices that at its next poll: it
        aborts their sessions, and keeps what they have said last as results so far. They can be resumed as any other
        blocked frame. Raises `EmptyError` for an empty reason.
        """
        return self._record("stop", frame, reason)

    def stop_all(self, reason: str) -> list[Handle]:
        """Stops all frames that hosts run or workers have: see `stop`."""
        return self._record("stop", ABSENT, reason)

    def retry(self, frame: FrameRef, note: str | None = None) -> Retried:
        """Begins a failed or blocked frame anew: makes a planned frame beside it, as its next attempt.

            stack.pop(tax, "failed", "The rate table is out of date")
            again = stack.retry(tax, "Take the rates from the office's site")
            stack.activate(again["handle"])

        The new frame has the same title, criteria and dependencies; a blocked frame fails. The note says what must be
        done differently, or is the answer to what the frame waits for. The context of the new frame shows why the earlier
        attempts failed; everybody else sees the newest attempt alone, and frames that depend on any attempt wait for the
        newest. Raises `NotRetriableError` if the frame is neither failed nor blocked, or was begun anew already, and
        `ParentClosedError`.
        """
        return self._record("retry", frame, optional(note))

    def hold(
        self, name: str, lease: int, *, below: FrameRef | None = None, frame: FrameRef | None = None
    ) -> Hold | None:
        """Gives a frame that is free to a worker, for the length of a lease in milliseconds (at most 86,400,000).

            if hold := stack.hold("build-1", 60_000):
                stack.finish(hold, {"end": "done", "results": "Cart in src/cart.py"})

        Of several workers that ask at the same time, in any processes, each gets another frame. The answer is None if
        none is free now: `work_left` says whether that can change. The frame becomes in_progress; the active
        frame stays. `below` admits only frames below that one, `frame` only that one.

        First come the frames whose worker has let its lease end or has let them go, and blocked ones of workers that were
        answered, then planned frames in the order of the plan. A planned frame is free when its dependencies, and those of the
        planned frames above it, are completed, and when its children are completed or invalidated; unless the frame above it
        has ended. Raises `EmptyError` for the name, `SettingError` for the lease, and `NotFreeError` if `frame` is not free.
        """
        return self._record("hold", name, _milliseconds(lease), optional(below), optional(frame))

    def renew(self, hold: Hold, lease: int) -> Hold:
        """Gives a holder more time: the lease ends so many milliseconds from now.

        Returns the hold with its new end. Raises `HoldLostError` if somebody else has held the frame since, and `NotFreeError`
        if it was let go or is not in progress any more: then the holder should stop. `SettingError` for the lease.
        """
        return self._record("renew", write_json(hold), _milliseconds(lease))

    def standing(self, hold: Hold) -> Standing:
        """Returns how a frame stands for its holder.

        A worker looks now and then, for example each second, and stops what it has running when the frame is not held any
        more. Raises `HoldLostError` if somebody else has held the frame since.
        """
        return self._record("standing", write_json(hold))

    def release(self, hold: Hold) -> None:
        """Lets a frame go, so that another worker can have it at once.

        It stays in progress, and this time does not count as a try. Raises `HoldLostError` if somebody else has held the frame
        since.
        """
        self._run("release", write_json(hold))

    def finish(self, hold: Hold, finish: Finish) -> Finished:
        """Ends the work of a holder on its frame, which must be in progress.

        All of it is one commit, so what a person stops or plans in this moment is not lost. A frame below which parts were
        planned is put back until these are done, and its results are those so far. Raises `HoldLostError` if somebody else has
        held the frame since, and `NotFreeError` if it is not in progress any more.
        """
        return self._record("finish", write_json(hold), write_json(finish))

    def as_actor(self, actor: Hold | Actor) -> Stack:
        """Returns the same stack for an actor: what others hold is theirs.

        Its commands that begin, go on with, end, block or invalidate such a frame raise `HeldError`, and a conversation or a
        person with a name holds what it begins. With a hold, each command raises `HoldLostError` if somebody else has held
        that frame since. Close the returned stack too. Commands of this stack work as before.
        """
        return self._made("as_actor", write_json(actor), owner=self._native)

    def work_left(self, below: FrameRef | None = None) -> WorkLeft:
        """Counts what is left to do for workers, below a frame or everywhere.

        If nothing is free, held or put back for later, nothing becomes free unless a person or a host does something.
        """
        return self._record("work_left", optional(below))

    def resumption(self, frames: Sequence[FrameRef] | None = None) -> Resumption:
        """Returns how a host goes on with frames whose work was interrupted, stopped or answered.

        It is for all that are open if none are given. Each frame comes after those below it, so that it finds their
        results. A host asks again when something that it waits for has ended.
        """
        return self._record("resumption", optional(None if frames is None else write_json(list(frames))))

    def note_interruptions(self) -> list[Handle]:
        """Records of the frames whose holders have let their leases end that they were interrupted, and returns these frames.

        A host does this at its polls and tool calls; a program without sessions can do it before it looks at what runs.
        """
        return self._record("note_interruptions")

    def deliver(self, frame: FrameRef) -> None:
        """Records that the conversation of the frame's parent has received the results of the frame.

        Contexts of the parent do not repeat them until `forget` of the parent. Raises `NotFinishedError` if the frame is
        neither completed nor failed.
        """
        self._run("deliver", frame)

    def forget(self, frame: FrameRef) -> None:
        """Records that the conversation of the frame was compacted or begun anew.

        The frame's contexts then show the results of its children.
        """
        self._run("forget", frame)

    def summarize(self, frame: FrameRef, results: str, results_compacted: str | None = None) -> None:
        """Records the results so far of an open frame, for example before its conversation is compacted.

        Its own context shows them; frames below it see them from the next push or change of a status on. Raises
        `ResultsFixedError` if the frame is not open, `EmptyError` for empty results.
        """
        self._run("summarize", frame, results, optional(results_compacted))

    def invalidate(self, frame: FrameRef, reason: str) -> Invalidated:
        """Invalidates a frame and the planned frames below it.

        Raises `EmptyError` without a reason, `TransitionError` if the present status does not allow it.
        """
        return self._record("invalidate", frame, reason)

    def reopen(self, frame: FrameRef, reason: str) -> Reopened:
        """Lets a completed frame that turned out to be wrong go on: it is `in_progress` again.

        Its results are those so far, and its context shows the reason. Raises `TransitionError` if the frame is not completed,
        `EmptyError` without a reason, `ParentClosedError` if a frame above it has ended, `ParentPlannedError` if one is
        planned, `HeldError`.
        """
        return self._record("reopen", frame, reason)

    def undo(self) -> Undone:
        """Takes back the last command of a person, if nothing has been built on it.

        The person is the one who gives this command (`Stack.as_actor`); without, one of those who have given no name. What the
        command has added is invalidated. The last 20 commands of persons are remembered. Raises `NothingToUndoError`,
        `NotUndoneError`.
        """
        return self._record("undo")

    def set_limits(self, frame: FrameRef, limits: FrameLimits) -> None:
        """Sets what a frame may do and spend. Limits that are not given stay as they are.

        Raises `SettingError` for a limit of 0, `ToolsExceedError` for tools that the frames above do not have.
        """
        self._run("set_limits", frame, write_json(limits))

    def record_cost(self, frame: FrameRef, conversation: str, cost_micro_usd: int) -> None:
        """Records what a conversation of a frame has cost so far, in millionths of a US dollar.

        It replaces what was recorded of the conversation before. Until the next time, `Stack.usage` estimates the costs of the
        requests that come. Raises `EmptyError` if the ID of the conversation is blank, `JsonError` for a negative number.
        """
        cost = {"conversation": conversation, "costMicroUsd": cost_micro_usd}
        self._run("record_cost", frame, write_json(cost))

    def allowance(self, frame: FrameRef) -> Allowance:
        """Returns what a frame may do and spend now, with the limits of all frames above it.

        A root that has none of its own has those of the host's settings (`calls.limits`).
        """
        return self._record("allowance", frame)

    def overspent(self, frame: FrameRef) -> Overspent | None:
        """Returns the first frame, from this one upwards, that has spent what it may; None if there is none."""
        return self._record("overspent", frame)

    def add_artifact(self, frame: FrameRef, artifact: str) -> bool:
        """Records a file or another resource that the frame produced. Returns False if it was recorded already."""
        return self._native.value(FLAG, "callstack_add_artifact", frame, artifact) != 0

    def add_decision(self, frame: FrameRef, decision: str) -> None:
        """Records a decision."""
        self._run("add_decision", frame, decision)

    def record_usage(self, frame: FrameRef, request: ModelRequest) -> None:
        """Records a request to a model, which was made in the frame's session. Contexts do not change.

        A host with sessions reports requests with its messages instead: the `request` of the event `message`.
        """
        self._run("record_usage", frame, write_json(request))

    def usage(self, frame: FrameRef) -> FrameUsage:
        """Returns the sums of the requests to models: those of a frame, and of the frame and everything below it."""
        return self._record("usage", frame)

    def set_active(self, frame: FrameRef) -> None:
        """Makes an open frame the active frame.

        Raises `NotOpenError` if the frame is neither `in_progress` nor `blocked`.
        """
        self._run("set_active", frame)

    def import_plan(self, plan: str) -> Imported:
        """Adds the frames of a plan, all or none.

        The plan is the text of Task Master's `tasks.json`, of Beads' `issues.jsonl`, of a check list in Markdown, or of
        a `state.json`. A plan that was imported before is brought up to date; what was begun here stays as it is. Each
        `logPath` of a state is left out, and is one of the problems: the logs stay where the state comes from. Raises
        `JsonError` or `VersionError` if the text cannot be read, `DuplicateIdError` if an ID is that of a frame of another plan
        or of none, `DependencyError` if what was changed here would make a new entry wait for itself.
        """
        return self._record("import", plan)

    def resolve(self, frame: FrameRef) -> Handle:
        """Returns the handle of a frame.

        Raises `AmbiguousFrameError` with the `candidates` if the beginning of an ID, or a title, matches several frames.
        """
        return self._text("resolve", frame)

    def active(self) -> Handle | None:
        """Returns the handle of the active frame; None if no frame is active."""
        return self._text("active") or None

    def frame(self, frame: FrameRef) -> Frame:
        """Returns the record of a frame."""
        return self._record("frame", frame)

    def frames(self, query: FrameQuery | None = None) -> list[Frame]:
        """Returns the records of all frames, or of the frames that match a query, in creation order."""
        return self._record("frames", write_json({**(query or {}), "records": True}))

    def handles(self, query: FrameQuery | None = None) -> list[Handle]:
        """Returns the handles of all frames, or of the frames that match a query, in creation order."""
        return self._record("frames", _json(query))

    def ancestors(self, frame: FrameRef) -> list[Handle]:
        """Returns the ancestors of a frame, from the parent up to the root."""
        return self.handles({"relation": "ancestors", "frame": frame})

    def children(self, frame: FrameRef) -> list[Handle]:
        """Returns the children of a frame, in their order: that of their creation, except for those that were moved."""
        return self.handles({"relation": "children", "frame": frame})

    def siblings(self, frame: FrameRef) -> list[Handle]:
        """Returns the siblings of a frame, in their order, without the frame itself."""
        return self.handles({"relation": "siblings", "frame": frame})

    def with_status(self, status: FrameStatus) -> list[Handle]:
        """Returns all frames with a status, in creation order."""
        return self.handles({"status": status})

    def ready(self) -> list[Handle]:
        """Returns the planned frames that can begin.

        They have what they and the planned frames above them need, are not below an ended one, and no part of them is left.
        """
        return self.handles({"relation": "ready"})

    def interrupted(self) -> list[Handle]:
        """Returns the frames that are in_progress although the host that ran them does not exist any more."""
        return self.handles({"relation": "interrupted"})

    def state(self) -> StackState:
        """Returns the whole tree in the layout of `state.json`. `from_state` reads it."""
        return self._record("state")

    def export_files(self, folder: str | PathLike[str]) -> None:
        """Writes `state.json` and `frames/` to another folder. `open` imports them there.

        Raises `NotEmptyError` if a stack lives in that folder.
        """
        self._run("export_files", fsencode(folder))

    def outline(self, options: OutlineOptions | None = None) -> str:
        """Returns the tree as text for people."""
        return self._text("outline", _json(options))

    def context(self, frame: FrameRef, settings: Settings | None = None) -> Context:
        """Returns the context of a frame: what its agent should see before the next model call.

            context = stack.context("ses_1", {"budget": {"total": 2000}})

        It never exceeds its budget. A cache answers repeated calls with the same settings until something in the context
        changes. Raises `BudgetTooSmallError`, with the budget that is `needed` and its `unit` in the details;
        `SettingError` or `JsonError` for wrong settings.
        """
        texts = self._native.texts(4, "callstack_context", frame, _json(settings))
        return Context(*(text or "" for text in texts))

    def clear_cache(self, frame: FrameRef | None = None) -> None:
        """Removes the cached contexts of a frame, or of all frames, from the cache."""
        self._run("clear_cache", optional(frame))

    def configure(self, settings: HostSettings | None = None) -> list[str]:
        """Sets the settings of a host. Returns one message for each value that is invalid and ignored.

        `settings` override the environment variables `STACK_…`, which override the defaults. From now on, effects include
        lines for the host's log.
        """
        return self._record("configure", _json(settings))

    def report(self, event: HostEvent) -> list[Effect]:
        """Reports an event of the host and returns the effects that the host must carry out, in order.

        All changes to frames are made before this returns. A command that is refused appears in the log. Raises
        `JsonError` for an event of the wrong shape.
        """
        return self._record("event", write_json(event))

    def offered_tools(self) -> list[Tool]:
        """Returns the tools that the host registers for its agents. Call it after `configure`.

        stack.configure({"tools": ["standard", "stack_tree"], "context": {"tools": {"prefix": "mcp__callstack__"}}})
        tools = stack.offered_tools()
        """
        return self._record("offered_tools")

    @staticmethod
    def tools(names: ToolNames | None = None) -> list[Tool]:
        """Returns all tools for agents, also those that a host does not offer, for programs that choose or describe tools.

        `names` are the names under which the host registers the tools: the descriptions mention other tools by them. The
        `name` of a tool is always the default name, which `tool` takes. Raises `JsonError` for an unknown key or a wrong
        type, `SettingError` for a name that is empty, longer than 64 characters, or has control characters.
        """
        return read_json(_handle.text("callstack_named_tools", _json(names)))

    def tool(self, session_id: str, name: str, arguments: Mapping[str, Any] | str | None = None) -> ToolAnswer:
        """Executes a tool call of the agent of a session. Wrong arguments raise nothing: the answer explains them.

        `arguments` can also be their JSON text, as model APIs deliver it.
        `name` is a name of `tools`, also one that the host does not offer to its agents.
        """
        return self._record(
            "tool", session_id, name, _json(dict(arguments) if isinstance(arguments, Mapping) else arguments)
        )

    def place(self, session_id: str) -> Handle | None:
        """Returns the frame in which the conversation of a session is; None if the session has no frame.

        That is the session's own frame, or with the setting `{"calls": {"in": "conversation"}}` one that it has begun and
        works on itself.
        """
        return self._text("place", session_id) or None

    def session_context(self, session_id: str) -> SessionContext | None:
        """Returns the context of a session's frame, made with the settings of `configure`.

        Returns None if the session has no frame, or if the settings give it no context. Raises `BudgetTooSmallError`.
        """
        stable, volatile = self._native.texts(2, "callstack_session_context", session_id)
        return None if stable is None or volatile is None else {"stable": stable, "volatile": volatile}

    def allocate_chunk(self, frame: FrameRef, chunk: NewChunk) -> None:
        """Allocates a chunk on the heap of a frame.

        The frame and all frames below it see the chunk until it is freed: their contexts show it verbatim, even after the
        conversation has been compacted. Raises `ChunkExistsError` if the frame sees a chunk of that name, `EmptyError`,
        `TooLongError`, `NotOneLineError`.
        """
        self._run("allocate_chunk", frame, write_json(chunk))

    def write_chunk(self, frame: FrameRef, name: str, content: str) -> None:
        """Replaces the content of a chunk that a frame sees.

        Raises `UnknownChunkError` with the names that are `known`, `TooLongError`.
        """
        self._run("write_chunk", frame, name, content)

    def free_chunk(self, frame: FrameRef, name: str) -> None:
        """Frees a chunk that a frame sees. Raises `UnknownChunkError` with the names that are `known`."""
        self._run("free_chunk", frame, name)

    def chunks(self, frame: FrameRef) -> list[VisibleChunk]:
        """Returns all chunks that a frame sees, each with the frame that it belongs to, those of the root first."""
        return self._record("chunks", frame)

    def update_registers(self, frame: FrameRef, registers: Mapping[Register, str]) -> None:
        """Sets registers of a frame.

        From then on its contexts show them, and its children inherit some of them when they start. Values that are too
        long are cut (`Register` has the limits). Registers that are not named keep their values.
        """
        self._run("update_registers", frame, write_json(dict(registers)))

    @staticmethod
    def memory_tools(settings: RunSettings | None = None) -> list[Tool]:
        """Returns the tools with which an agent in a run with these settings manages its memory.

        Offer them to the model beside your own. For a run that is resumed the settings are in `run_status`.
        """
        return read_json(_handle.text("callstack_memory_tools", write_json(settings or {})))

    def start_run(self, run: NewRun) -> Handle:
        """Starts a run: an agent that manages its own memory. Returns the handle of its root frame, which identifies it.

            run = stack.start_run({"task": "Build a calculator", "settings": {"memory": "registers"}})
            while (step := stack.advance_run(run))["next"] != "over":
                if step["next"] == "ask":
                    stack.run_reply(run, ask(step["system"], step["messages"]))
                else:
                    stack.run_answer(run, step["id"], execute(step["name"], step["arguments"]))

        Its frames are frames of the tree and its messages are stored, so a run in a folder continues after the death of
        the process. Raises `EmptyError` without a task, `DuplicateIdError`, `JsonError`.
        """
        return self._text("start_run", write_json(run))

    def advance_run(self, run: FrameRef) -> Next:
        """Executes the pending calls of memory tools and returns what the run needs next, until it gets that.

        It needs a reply of the model (give it to `run_reply`), the answer to a tool call (give it to `run_answer`), or
        nothing, because the run is over. Raises `NoRunError` if the frame is not the root of a run.
        """
        return self._record("advance_run", run)

    def runs(self) -> list[Handle]:
        """Returns the root frames of all runs, finished or not, in the order in which they were started."""
        return self._record("runs")

    def run_status(self, run: FrameRef) -> RunStatus:
        """Returns the settings and the progress of a run. Raises `NoRunError` if the frame is not the root of a run."""
        return self._record("run_status", run)

    def run_reply(self, run: FrameRef, reply: Reply) -> None:
        """Gives the model's reply to a run.

        Raises `OutOfTurnError` if calls wait for answers or the run is over, `NoRunError`.
        """
        self._run("run_reply", run, write_json(reply))

    def run_tell(self, run: FrameRef, text: str) -> None:
        """Adds a message of the user to the conversation of a run's current frame, for example to steer its agent.

        The next prompt has it behind all other messages, also behind the answers to tool calls that still wait for one.
        Raises `EmptyError` for an empty text, `OutOfTurnError` if the run is over, `NoRunError`.
        """
        self._run("run_tell", run, text)

    def run_answer(self, run: FrameRef, call: str, answer: str, is_error: bool = False) -> None:
        """Gives a run the answer to the tool call that `advance_run` returned.

        `call` is the ID of the call; with `is_error` the answer explains why it was not executed. Raises `OutOfTurnError`
        if another call is next, `NoRunError`.
        """
        self._run("run_answer", run, call, answer, _handle.Number(bool(is_error)))

    def append_log(self, frame: FrameRef, entries: Sequence[Any]) -> None:
        """Appends entries to the full log of a frame, all or none, each as one line of JSON in `logs/{id}.jsonl`.

        Raises `InMemoryError` if the stack has no folder, `JsonError` for entries nested more than 100 levels deep.
        """
        self._run("append_log", frame, write_json(_listed(entries, "append_log")))

    def read_log(self, frame: FrameRef, query: LogQuery | None = None) -> LogPage:
        """Reads lines of a frame's log: all, a range, the last ones, or those that contain a text.

        A frame without a log has none. Raises `InMemoryError` if the stack has no folder.
        """
        return self._record("read_log", frame, _json(query))

    def set_log_path(self, frame: FrameRef, log_path: str | PathLike[str]) -> None:
        """Sets the file that holds a frame's full log, for hosts that keep the log elsewhere.

        Contexts name the file while it exists; the library never writes to it. A path can be relative to the stack's
        folder.
        """
        self._run("set_log_path", frame, fsencode(log_path))

    def history(self, query: EventQuery | None = None) -> list[StackEvent]:
        """Returns events of the history, oldest first.

        Raises `InMemoryError` if the stack keeps no history (the option `history`), `SettingError` for an unknown kind.
        """
        return self._record("history", _json(query))

    def compact_history(self, before: int) -> HistoryCompaction:
        """Replaces the events of finished trees by their last state, so that the database becomes smaller.

        They are the trees in which nothing is unfinished and whose last event has an earlier time, in milliseconds since
        the Unix epoch. Frames, handles, contexts and logs stay as they are; `history` no longer has these events;
        `export_history` writes the frames in their place, so `rebuild` still makes the same stack.

        Raises `InMemoryError` if the stack has no database, and `DamagedError` if the events do not give the state that
        the database has.
        """
        return self._record("compact_history", _json({"before": before}))

    def prune_logs(self, limits: LogLimits) -> PrunedLogs:
        """Removes old logs of finished frames. Logs of frames that are planned, in progress or blocked stay.

        Raises `InMemoryError` if the stack has no folder.
        """
        return self._record("prune_logs", _json(limits))

    def export_history(self) -> str:
        """Returns the whole history as text, one event in JSON on each line. `rebuild` reads it.

        If the history was compacted, lines come first that only the library reads, with the keys `base` and `baseFrame`:
        the frames whose events are gone.

        Raises `InMemoryError` if the stack keeps no history (the option `history`).
        """
        return self._text("export_history")

    def _run(self, name: str, *inputs: _handle.Input) -> None:
        self._native.run(f"callstack_{name}", *inputs)

    def _text(self, name: str, *inputs: _handle.Input) -> str:
        return self._native.text(f"callstack_{name}", *inputs)

    def _record(self, name: str, *inputs: _handle.Input) -> Any:
        return read_json(self._native.text(f"callstack_{name}", *inputs))


def _milliseconds(time: int) -> _handle.Input:
    """A length of time for the library, which takes numbers of 32 bits, and refuses those that are too long."""
    return Number(max(-1, min(time, 2**31 - 1)))


def _json(value: object) -> _handle.Input:
    """The JSON of an optional argument. None is an absent one."""
    return ABSENT if value is None else write_json(value)


def _listed(items: Iterable[Any], name: str) -> list[Any]:
    """The items of a list. One record or one text in its place would be taken for a list of its parts."""
    if isinstance(items, (str, bytes, Mapping)):
        raise TypeError(f"{name}: expected a list, got one {type(items).__name__}")
    return list(items)


def _number(status: str, allowed: Sequence[str] = tuple(_STATUSES)) -> _handle.Number:
    """The number of a status in the C interface."""
    try:
        if status not in allowed:
            raise KeyError(status)
        return _handle.Number(_STATUSES[status])
    except (KeyError, TypeError):
        expected = ", ".join(allowed)
        details = {"name": "status", "value": str(status), "expected": expected}
        raise SettingError(f"status is `{status}`, but must be one of {expected}", details) from None
