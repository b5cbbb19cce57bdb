"""The errors of this package itself, and the bases of the generated errors in `errors`."""

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
    """The kind of the error, for programs: the error code of the C header in lower case, or one of this
    package."""

    details: dict[str, Any]
    """The values in the message, such as
    `{"handle": "f3", "total": 100, "needed": 214, "unit": "tokens"}`."""

    def __init__(self, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message, details)
        self.details = {} if details is None else details

    def __str__(self) -> str:
        return str(self.args[0])


class RefusedError(CallstackError):
    """The stack refuses the request, and nothing has changed.

    Another request can succeed, as the message says.
    """


class UsageError(CallstackError):
    """A value that no stack takes."""


class PassingError(CallstackError):
    """Others use the stack, or its server cannot be reached for a while: the same call can succeed later.

    It is not known whether the call has changed something if it is a `BusyError`, or if `isOutcomeUnknown` is
    true in the details.
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
    """The native library was not found, cannot be loaded, or has another C interface than is needed."""

    code = "library"
