"""The errors that this package raises.

Each kind of error has a class: its `code` in camel case, with `Error` behind it. Its base says what can be done about it:
`RefusedError`, `UsageError`, `PassingError`, `StorageError`, `DamagedError` or `BrokenError`. The faults of the call itself
and of this package have none of these: `NullError`, `LengthError`, `Utf8Error`, `PanicError`, `ClosedError`, `ForkedError`,
`LibraryError`.
"""

from __future__ import annotations

from typing import Any


class CallstackError(Exception):
    """Raised by a call that failed. The call has changed nothing, unless it is a `PassingError`.

    The message, `str(error)`, says what to do and can be shown to an agent.

        try:
            stack.activate("f9")
        except UnknownFrameError as error:
            print(error.details["reference"])
    """

    code: str = "unknown"
    """The kind of the error, for programs: the error code of the C header in lower case, or one of this package."""

    details: dict[str, Any]
    """The values in the message, such as `{"handle": "f3", "total": 100, "needed": 214, "unit": "tokens"}`."""

    def __init__(self, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message, details)
        self.details = {} if details is None else details

    def __str__(self) -> str:
        return str(self.args[0])


class RefusedError(CallstackError):
    """The stack refuses the request, and nothing has changed. Another request can succeed, as the message says."""


class UsageError(CallstackError):
    """A value that no stack takes."""


class PassingError(CallstackError):
    """Others use the stack, or its server cannot be reached for a while: the same call can succeed later.

    It is not known whether the call has changed something if it is a `BusyError`, or if `isOutcomeUnknown` is true in the
    details.
    """


class StorageError(CallstackError):
    """A file, a folder or a disk does not allow it."""


class ClosedError(CallstackError):
    """The stack was closed."""

    code = "closed"


class ForkedError(CallstackError):
    """The stack was opened by the parent of this process, before a fork. Open it again in this process."""

    code = "forked"


class LibraryError(CallstackError):
    """The native library was not found, cannot be loaded, or has another C interface than this package needs."""

    code = "library"


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
    """The library met a fault of its own; please report it.

    After a fault in a command the stack is broken.
    """

    code = "panic"


class UnknownFrameError(RefusedError):
    """No frame has this ID or handle, or an ID with this beginning."""

    code = "unknown_frame"


class AmbiguousFrameError(RefusedError):
    """The IDs of several frames begin with the text. The details list up to eight candidates."""

    code = "ambiguous_frame"


class DuplicateIdError(RefusedError):
    """Another frame already has the ID."""

    code = "duplicate_id"


class TransitionError(RefusedError):
    """The frame cannot change from its current status to the requested one."""

    code = "transition"


class ParentClosedError(RefusedError):
    """The parent is completed, failed or invalidated."""

    code = "parent_closed"


class ParentPlannedError(RefusedError):
    """The parent is planned, so no frame can be pushed below it."""

    code = "parent_planned"


class IdentityFixedError(RefusedError):
    """The title and criteria of the frame are already set and cannot change."""

    code = "identity_fixed"


class DependencyError(RefusedError):
    """A dependency on the frame itself, on a frame above or below it, or in a circle."""

    code = "dependency"


class ParentCircleError(RefusedError):
    """Two imported frames name each other as ancestors."""

    code = "parent_circle"


class NotOpenError(RefusedError):
    """The frame is not in_progress or blocked, so it cannot be the active frame."""

    code = "not_open"


class BudgetTooSmallError(RefusedError):
    """The budget is too small for the required part of the context.

    The details hold the `needed` one and its `unit`, tokens or bytes.
    """

    code = "budget_too_small"


class NotEmptyError(RefusedError):
    """The folder for a new stack already contains one."""

    code = "not_empty"


class FullError(RefusedError):
    """The tree has the maximum number of frames (4,294,967,295)."""

    code = "full"


class ResultsFixedError(RefusedError):
    """The frame is not in_progress or blocked, so its results cannot be updated."""

    code = "results_fixed"


class NoFrameError(RefusedError):
    """The calling session has no frame, and the call names none."""

    code = "no_frame"


class TooDeepError(RefusedError):
    """The new frame would be deeper than the setting `maxDepth` allows."""

    code = "too_deep"


class HeldError(RefusedError):
    """Somebody else works on the frame. The details hold `by`, and `until` when."""

    code = "held"


class ChunkExistsError(RefusedError):
    """The frame, or an unfinished frame below it, already sees a chunk of that name."""

    code = "chunk_exists"


class UnknownChunkError(RefusedError):
    """The frame sees no chunk of that name."""

    code = "unknown_chunk"


class NoRunError(RefusedError):
    """The frame is not the root frame of a run."""

    code = "no_run"


class OutOfTurnError(RefusedError):
    """The run waits for something else."""

    code = "out_of_turn"


class SecondStackOperationError(RefusedError):
    """A reply of a model has a second push_frame or pop_frame."""

    code = "second_stack_operation"


class NotFinishedError(RefusedError):
    """The frame is neither completed nor failed, so it has no results to deliver."""

    code = "not_finished"


class NotBlockedError(RefusedError):
    """The frame is not blocked, so it waits for no answer."""

    code = "not_blocked"


class NotPlannedError(RefusedError):
    """The frame has begun or ended, so it cannot be edited; the words of an open one only by a person."""

    code = "not_planned"


class NotSiblingError(RefusedError):
    """The frame cannot stand before a frame with another parent."""

    code = "not_sibling"


class NotReadyError(RefusedError):
    """The planned frame waits for others."""

    code = "not_ready"


class PartsLeftError(RefusedError):
    """Frames below the frame that is to be completed are open or planned. The details hold `left`, the first dozen of them."""

    code = "parts_left"


class NotFreeError(RefusedError):
    """The frame is not free for a worker, or its holder cannot keep it. The details hold the `reason`."""

    code = "not_free"


class NothingToUndoError(RefusedError):
    """There is no command of this person to take back."""

    code = "nothing_to_undo"


class NotUndoneError(RefusedError):
    """The last command of the person cannot be taken back.

    The details hold the `command` and the `reason`.
    """

    code = "not_undone"


class ToolsExceedError(RefusedError):
    """The frame would have more tools than the frames above it.

    The details hold `tools`, those that are too many, and `above`.
    """

    code = "tools_exceed"


class HoldLostError(RefusedError):
    """Somebody else has held the frame since, so what its earlier holder still sends is refused.

    The details hold `by`, the newest holder, and its `generation`.
    """

    code = "hold_lost"


class WaitCircleError(RefusedError):
    """The frame waits for the caller, which would wait for it."""

    code = "wait_circle"


class NotRetriableError(RefusedError):
    """The frame is neither failed nor blocked, or was begun anew already.

    Then the details hold the `newest` attempt.
    """

    code = "not_retriable"


class RetryLinkError(RefusedError):
    """An imported frame has a `retryOf` that cannot be, or an edit would move an attempt away from its predecessor."""

    code = "retry_link"


class EmptyError(UsageError):
    """A required text is empty or has only white space."""

    code = "empty"


class SettingError(UsageError):
    """A setting, a number or an environment variable is outside of its allowed values."""

    code = "setting"


class JsonError(UsageError):
    """A text is not JSON, or JSON of another shape."""

    code = "json"


class TooLongError(UsageError):
    """A text is longer than its limit."""

    code = "too_long"


class NotOneLineError(UsageError):
    """A text that must be one line has line breaks or other control characters."""

    code = "not_one_line"


class BusyError(PassingError):
    """Other threads or processes took longer than the call waits (`busyTimeout`).

    The details hold `waited`, in milliseconds: how long the call waited in all.
    """

    code = "busy"


class DisconnectedError(PassingError):
    """The server of the stack cannot be reached.

    `isOutcomeUnknown` in the details says whether the command may have been committed.
    """

    code = "disconnected"


class IoError(StorageError):
    """The operating system or SQLite refused an operation on a file or folder."""

    code = "io"


class DiskFullError(StorageError):
    """The disk is full, or a quota is used up."""

    code = "disk_full"


class ReadOnlyError(StorageError):
    """The file, its folder or the disk is read-only for this process."""

    code = "read_only"


class DamagedError(CallstackError):
    """What is stored is damaged, was replaced, or was written by a newer version. It was not changed."""

    code = "damaged"


class VersionError(DamagedError):
    """A newer version of the library wrote the file."""

    code = "version"


class HistoryError(DamagedError):
    """An event does not fit the events before it in a history."""

    code = "history"


class ReplacedError(DamagedError):
    """The files of the stack were replaced while it was open.

    Nothing more is written to them: open the stack again.
    """

    code = "replaced"


class BrokenError(CallstackError):
    """The program has used the stack as it cannot be used.

    It called within a query, or for what a stack in memory does not have, or after a `PanicError`: then close the stack and
    open it again.
    """

    code = "broken"


class InMemoryError(BrokenError):
    """The stack is in memory and has no logs, or no history."""

    code = "in_memory"


class InsideReadError(BrokenError):
    """A command was called by code that the library calls while it reads the tree."""

    code = "inside_read"


def _with_codes(of: type[CallstackError]) -> list[type[CallstackError]]:
    below = [kind for direct in of.__subclasses__() for kind in _with_codes(direct)]
    return [of, *below] if "code" in vars(of) else below


_BY_CODE = {kind.code: kind for kind in _with_codes(CallstackError)}


def error_of(code: str, message: str, details: dict[str, Any]) -> CallstackError:
    """Returns the error for a code of the library: a `CallstackError` for a code that this version does not know."""
    error = _BY_CODE.get(code, CallstackError)(message, details)
    error.code = code
    return error
