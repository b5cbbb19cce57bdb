"""The errors that this package raises.

Each kind of error has a class: its `code` in camel case, with `Error` behind it. Its base says what can be done about it:
`RefusedError`, `UsageError`, `PassingError`, `StorageError`, `DamagedError` or `BrokenError`. The faults of the call itself
and of this package have none of these: `NullError`, `LengthError`, `Utf8Error`, `PanicError`, `ClosedError`, `ForkedError`,
`LibraryError`.

Generated from api.json: `make api` renews it. Do not edit it.
"""

from __future__ import annotations

from typing import Any

from callstack_core._error_bases import (
    CallstackError,
    ClosedError,
    ForkedError,
    LibraryError,
    PassingError,
    RefusedError,
    StorageError,
    UsageError,
)


class DamagedError(CallstackError):
    """A file does not contain what its name says, or a history has an event that does not fit.

    It was not changed.

    `details["advice"]`: The advice to the caller.

    `details["message"]`: The problem that was found.

    `details["path"]`: The file, or `the history of` a folder.
    """

    code = "damaged"


class BrokenError(CallstackError):
    """An earlier command on this stack returned `CALLSTACK_ERROR_PANIC`: close the stack and open it again."""

    code = "broken"


class NullError(CallstackError):
    """A required pointer was NULL."""

    code = "null"


class LengthError(CallstackError):
    """A length is larger than any text in memory can be (more than half of the address space)."""

    code = "length"


class Utf8Error(CallstackError):
    """A text is not valid UTF-8."""

    code = "utf8"


class PanicError(CallstackError):
    """The library panicked: a defect of the library, or of a callback of the host.

    If the function was a command, the stack is broken.
    """

    code = "panic"


class UnknownFrameError(RefusedError):
    """No frame has this handle, this ID, an ID with this beginning, this title, or a title with this beginning.

    `details["handle"]`: The frame whose ID is the reference, if the reference has the form of a handle and
    was therefore not read as an ID (see `FrameRef`).

    `details["reference"]`: The reference that the caller gave.

    `details["similar"]`: Up to three frames with titles that are much like the reference, each as `handle
    (title, status)`.
    """

    code = "unknown_frame"


class AmbiguousFrameError(RefusedError):
    """Several frames match: their IDs begin with the text, or their titles are the text or begin with it.

    The details list up to eight candidates.

    `details["candidates"]`: Up to eight of the matching frames, each as `handle (ID)`, or as `handle (title,
    status)` if the title matches. An ID that has the form of a handle has `id:` before it.

    `details["reference"]`: The reference that the caller gave.
    """

    code = "ambiguous_frame"


class DuplicateIdError(RefusedError):
    """Another frame already has the ID.

    `details["handle"]`: The frame that has the ID.

    `details["sessionID"]`: The ID in question.
    """

    code = "duplicate_id"


class TransitionError(RefusedError):
    """The frame cannot change from its current status to the requested one.

    `details["from"]`: Its current status.

    `details["handle"]`: The frame.

    `details["to"]`: The requested status.
    """

    code = "transition"


class ParentClosedError(RefusedError):
    """The parent is completed, failed or invalidated.

    `details["handle"]`: The requested parent.

    `details["status"]`: Its status.
    """

    code = "parent_closed"


class ParentPlannedError(RefusedError):
    """The parent is planned, so no frame can be pushed below it.

    `details["handle"]`: The requested parent.
    """

    code = "parent_planned"


class IdentityFixedError(RefusedError):
    """The title and criteria of the frame are already set and cannot change.

    `details["handle"]`: The frame.
    """

    code = "identity_fixed"


class DependencyError(RefusedError):
    """A dependency on the frame itself, on a frame above or below it, or in a circle.

    `details["dependency"]`: The frame that the entry names, in the same form.

    `details["frame"]`: The frame that has the entry: its ID, or its handle if the ID was generated, or its
    title if it is new.

    `details["reason"]`: The reason, and what to do.
    """

    code = "dependency"


class ParentCircleError(RefusedError):
    """The parent of a frame would be the frame itself or one below it.

    `details["frame"]`: The frame: its ID, or its handle if the ID was generated.

    `details["parent"]`: The parent that it names, in the same form.
    """

    code = "parent_circle"


class NotOpenError(RefusedError):
    """The frame is not in_progress or blocked, so it cannot be the active frame.

    `details["handle"]`: The frame.

    `details["status"]`: Its status.
    """

    code = "not_open"


class BudgetTooSmallError(RefusedError):
    """The budget is too small for the required part of the context.

    The details hold the `needed` one and its `unit`, tokens or bytes.

    `details["handle"]`: The frame.

    `details["needed"]`: The smallest total that is enough now.

    `details["total"]`: The given total.

    `details["unit"]`: What the two numbers count: tokens, or bytes if the budget has its own cap in bytes and
    this cap is too small.
    """

    code = "budget_too_small"


class NotEmptyError(RefusedError):
    """The folder for a new stack or an export already contains a stack.

    `details["path"]`: The folder, or the URL.
    """

    code = "not_empty"


class FullError(RefusedError):
    """The tree has the maximum number of frames (4,294,967,295).

    `details["limit"]`: The maximum number of frames of a tree.
    """

    code = "full"


class ResultsFixedError(RefusedError):
    """The frame is not in_progress or blocked, so its results cannot be updated.

    `details["handle"]`: The frame.

    `details["status"]`: Its status.
    """

    code = "results_fixed"


class NoFrameError(RefusedError):
    """The calling session has no frame, and the call names none.

    `details["sessionID"]`: The session.
    """

    code = "no_frame"


class TooDeepError(RefusedError):
    """The new frame would be deeper than the setting `maxDepth` allows.

    `details["handle"]`: The frame below which the new one would be.

    `details["limit"]`: The maximum depth: how many frames can be above a frame.
    """

    code = "too_deep"


class HeldError(RefusedError):
    """Another actor works on the frame.

    The details hold `by`, and `until` when.

    `details["by"]`: The actor that has it, such as ``worker `build-1` ``.

    `details["handle"]`: The frame.

    `details["until"]`: The time until which the actor has it, unless the actor renews its hold, in
    milliseconds since the Unix epoch. Absent: without an end.
    """

    code = "held"


class ChunkExistsError(RefusedError):
    """The frame, or an unfinished frame below it, already sees a chunk of that name.

    `details["handle"]`: The frame that the chunk belongs to.

    `details["name"]`: The name.
    """

    code = "chunk_exists"


class UnknownChunkError(RefusedError):
    """The frame sees no chunk of that name.

    `details["handle"]`: The frame that the caller named.

    `details["known"]`: The names of the chunks that it sees.

    `details["name"]`: The name that the caller gave.
    """

    code = "unknown_chunk"


class NoRunError(RefusedError):
    """The frame is not the root frame of a run.

    `details["handle"]`: The frame.
    """

    code = "no_run"


class OutOfTurnError(RefusedError):
    """The run waits for something else.

    `details["expected"]`: The reply or answer that the run waits for.

    `details["found"]`: The reply or answer that the caller gave.

    `details["handle"]`: The root of the run.
    """

    code = "out_of_turn"


class SecondStackOperationError(RefusedError):
    """A second push_frame or pop_frame in one step of a run.

    `details["name"]`: The tool that was called.
    """

    code = "second_stack_operation"


class NotFinishedError(RefusedError):
    """The frame is neither completed nor failed, so it has no results to deliver.

    `details["handle"]`: The frame.

    `details["status"]`: Its status.
    """

    code = "not_finished"


class NotBlockedError(RefusedError):
    """The frame is not blocked, so it waits for no answer.

    `details["handle"]`: The frame.

    `details["status"]`: Its status.
    """

    code = "not_blocked"


class NotPlannedError(RefusedError):
    """The frame has begun or ended, so it cannot be edited; the words of an open one only by a person.

    `details["handle"]`: The frame.

    `details["status"]`: Its status.
    """

    code = "not_planned"


class NotSiblingError(RefusedError):
    """The frame cannot stand before a frame with another parent.

    `details["before"]`: The frame before which it would stand.

    `details["handle"]`: The frame that is edited.
    """

    code = "not_sibling"


class NotReadyError(RefusedError):
    """The planned frame waits for others.

    `details["dependencies"]`: The dependencies that are not completed, or the frame above it that waits or
    has ended.

    `details["handle"]`: The frame.

    `details["message"]`: What keeps it from beginning, and what to do.
    """

    code = "not_ready"


class WaitCircleError(RefusedError):
    """The frame waits for the caller, which would wait for it.

    `details["handle"]`: The frame.
    """

    code = "wait_circle"


class NotRetriableError(RefusedError):
    """The frame is neither failed nor blocked, or was retried already: then the details hold the `newest`
    attempt.

    `details["handle"]`: The frame.

    `details["newest"]`: The newest attempt, if the frame was already retried.

    `details["status"]`: Its status.
    """

    code = "not_retriable"


class RetryLinkError(RefusedError):
    """An imported frame has a `retryOf` that cannot be, or an edit would move an attempt away from the one
    before it.

    `details["attempt"]`: The ID of the frame that the link names.

    `details["frame"]`: The ID of the frame that has the link.

    `details["reason"]`: The reason, and what to do.
    """

    code = "retry_link"


class NotFreeError(RefusedError):
    """The frame is not free for a worker, or its holder cannot keep it.

    The details hold the `reason`.

    `details["handle"]`: The frame.

    `details["reason"]`: The reason.
    """

    code = "not_free"


class HoldLostError(RefusedError):
    """Another actor has held the frame since, so what its earlier holder still sends is refused.

    The details hold `by`, the newest holder, and its `generation`.

    `details["by"]`: Its newest holder, such as ``worker `build-2` ``. Empty: it has never had a holder.

    `details["generation"]`: The generation of that holder; 0 if it has never had a holder.

    `details["handle"]`: The frame.

    `details["refused"]`: The generation of the refused command.
    """

    code = "hold_lost"


class NothingToUndoError(RefusedError):
    """There is no command of this person to take back."""

    code = "nothing_to_undo"


class NotUndoneError(RefusedError):
    """The last command of the person cannot be taken back.

    The details hold the `command` and the `reason`.

    `details["command"]`: The command, such as `pop`.

    `details["reason"]`: Why.
    """

    code = "not_undone"


class ToolsExceedError(RefusedError):
    """The frame would have more tools than the frames above it.

    The details hold `tools`, those that are too many, and `above`.

    `details["above"]`: The tools of the frames above.

    `details["handle"]`: The frame, or for a new frame the frame above it.

    `details["tools"]`: The tools that the frames above do not have.
    """

    code = "tools_exceed"


class PartsLeftError(RefusedError):
    """Frames below the frame that is to be completed are open or planned.

    The details hold `left`, the first dozen of them.

    `details["handle"]`: The frame.

    `details["left"]`: The first dozen of the unfinished frames below it.
    """

    code = "parts_left"


class EmptyError(UsageError):
    """A required text is empty or has only white space.

    `details["field"]`: The field's documented name.
    """

    code = "empty"


class SettingError(UsageError):
    """A setting, a number or an environment variable is outside of its allowed values.

    `details["expected"]`: The allowed values.

    `details["name"]`: Name of the setting or of the environment variable.

    `details["value"]`: The value that was found.
    """

    code = "setting"


class JsonError(UsageError):
    """A text is not JSON, or JSON of another shape.

    `details["message"]`: The parser's message with line and column.

    `details["what"]`: The text or file that was read.
    """

    code = "json"


class TooLongError(UsageError):
    """A text is longer than its limit.

    `details["field"]`: The field's documented name.

    `details["length"]`: Its length in characters.

    `details["limit"]`: The limit in characters.
    """

    code = "too_long"


class NotOneLineError(UsageError):
    """A text that must be one line has line breaks or other control characters.

    `details["field"]`: The field's documented name.
    """

    code = "not_one_line"


class BusyError(PassingError):
    """Commands of other threads, or other processes in the database or at the lock of a file, took longer than
    the call waits (`busyTimeout`).

    The details hold `waited`, in milliseconds: how long the call waited in all.

    `details["path"]`: The database, the file, or for other threads the stack's folder.

    `details["waited"]`: How long the call waited in all, in milliseconds.
    """

    code = "busy"


class DisconnectedError(PassingError):
    """The server of the stack cannot be reached.

    `isOutcomeUnknown` in the details says whether the command may have been committed.

    `details["isOutcomeUnknown"]`: False: nothing was changed. True: the command may have been committed or
    not. The next command, or `refresh`, finds it out from the server.

    `details["message"]`: The reason.

    `details["path"]`: The server and the database, or the stack there, without user and password.
    """

    code = "disconnected"


class IoError(StorageError):
    """The operating system or SQLite refused an operation on a file or folder.

    `details["action"]`: The operation, such as `read`.

    `details["message"]`: The message of the operating system, of SQLite, or of the library.

    `details["path"]`: The file or folder.
    """

    code = "io"


class DiskFullError(StorageError):
    """The disk is full, or a quota is used up.

    `details["path"]`: The file or folder.
    """

    code = "disk_full"


class ReadOnlyError(StorageError):
    """The file, its folder or the disk is read-only for this process.

    `details["path"]`: The file or folder.
    """

    code = "read_only"


class VersionError(DamagedError):
    """A newer version of the library wrote the file.

    `details["found"]`: The version in the file.

    `details["supported"]`: The newest version that this library can read.

    `details["what"]`: The file that was read, or `the state`.
    """

    code = "version"


class HistoryError(DamagedError):
    """An event does not fit the events before it in a history.

    `details["message"]`: The reason.

    `details["revision"]`: The event's revision.
    """

    code = "history"


class ReplacedError(DamagedError):
    """The files of the stack were replaced while it was open.

    Nothing more is written to them: open the stack again.

    `details["message"]`: The difference that was found.

    `details["path"]`: The database.
    """

    code = "replaced"


class InMemoryError(BrokenError):
    """The stack is in memory and has no logs, or no history.

    `details["what"]`: The missing part: `logs` or `history`.
    """

    code = "in_memory"


class InsideReadError(BrokenError):
    """A command was called by code that the library calls while it reads the tree.

    C programs cannot cause it.
    """

    code = "inside_read"


_KINDS: dict[str, type[CallstackError]] = {
    "null": NullError,
    "length": LengthError,
    "utf8": Utf8Error,
    "panic": PanicError,
    "unknown_frame": UnknownFrameError,
    "ambiguous_frame": AmbiguousFrameError,
    "duplicate_id": DuplicateIdError,
    "transition": TransitionError,
    "parent_closed": ParentClosedError,
    "parent_planned": ParentPlannedError,
    "identity_fixed": IdentityFixedError,
    "dependency": DependencyError,
    "parent_circle": ParentCircleError,
    "not_open": NotOpenError,
    "budget_too_small": BudgetTooSmallError,
    "not_empty": NotEmptyError,
    "full": FullError,
    "results_fixed": ResultsFixedError,
    "no_frame": NoFrameError,
    "too_deep": TooDeepError,
    "held": HeldError,
    "chunk_exists": ChunkExistsError,
    "unknown_chunk": UnknownChunkError,
    "no_run": NoRunError,
    "out_of_turn": OutOfTurnError,
    "second_stack_operation": SecondStackOperationError,
    "not_finished": NotFinishedError,
    "not_blocked": NotBlockedError,
    "not_planned": NotPlannedError,
    "not_sibling": NotSiblingError,
    "not_ready": NotReadyError,
    "wait_circle": WaitCircleError,
    "not_retriable": NotRetriableError,
    "retry_link": RetryLinkError,
    "not_free": NotFreeError,
    "hold_lost": HoldLostError,
    "nothing_to_undo": NothingToUndoError,
    "not_undone": NotUndoneError,
    "tools_exceed": ToolsExceedError,
    "parts_left": PartsLeftError,
    "empty": EmptyError,
    "setting": SettingError,
    "json": JsonError,
    "too_long": TooLongError,
    "not_one_line": NotOneLineError,
    "busy": BusyError,
    "disconnected": DisconnectedError,
    "io": IoError,
    "disk_full": DiskFullError,
    "read_only": ReadOnlyError,
    "version": VersionError,
    "history": HistoryError,
    "damaged": DamagedError,
    "replaced": ReplacedError,
    "broken": BrokenError,
    "in_memory": InMemoryError,
    "inside_read": InsideReadError,
}


def error_of(code: str, message: str, details: dict[str, Any]) -> CallstackError:
    """Makes the error of a code. A code that a newer library has is a `CallstackError`."""
    error = _KINDS.get(code, CallstackError)(message, details)
    error.code = code
    return error


__all__ = [
    "AmbiguousFrameError",
    "BrokenError",
    "BudgetTooSmallError",
    "BusyError",
    "CallstackError",
    "ChunkExistsError",
    "ClosedError",
    "DamagedError",
    "DependencyError",
    "DisconnectedError",
    "DiskFullError",
    "DuplicateIdError",
    "EmptyError",
    "ForkedError",
    "FullError",
    "HeldError",
    "HistoryError",
    "HoldLostError",
    "IdentityFixedError",
    "InMemoryError",
    "InsideReadError",
    "IoError",
    "JsonError",
    "LengthError",
    "LibraryError",
    "NoFrameError",
    "NoRunError",
    "NotBlockedError",
    "NotEmptyError",
    "NotFinishedError",
    "NotFreeError",
    "NotOneLineError",
    "NotOpenError",
    "NotPlannedError",
    "NotReadyError",
    "NotRetriableError",
    "NotSiblingError",
    "NotUndoneError",
    "NothingToUndoError",
    "NullError",
    "OutOfTurnError",
    "PanicError",
    "ParentCircleError",
    "ParentClosedError",
    "ParentPlannedError",
    "PartsLeftError",
    "PassingError",
    "ReadOnlyError",
    "RefusedError",
    "ReplacedError",
    "ResultsFixedError",
    "RetryLinkError",
    "SecondStackOperationError",
    "SettingError",
    "StorageError",
    "TooDeepError",
    "TooLongError",
    "ToolsExceedError",
    "TransitionError",
    "UnknownChunkError",
    "UnknownFrameError",
    "UsageError",
    "Utf8Error",
    "VersionError",
    "WaitCircleError",
    "error_of",
]
