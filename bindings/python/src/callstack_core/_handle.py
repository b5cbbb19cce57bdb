"""Calls to the native library: texts in, texts out, failures as errors."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from callstack_core import _calls
from callstack_core._library import load, text_at
from callstack_core._native import ffi
from callstack_core.context import Context
from callstack_core.errors import CallstackError, ClosedError, ForkedError, JsonError, LibraryError, error_of

if TYPE_CHECKING:
    from _cffi_backend import FFI

    Data: TypeAlias = FFI.CData


class Absent:
    """An optional text that the caller did not give: NULL for the library."""


ABSENT = Absent()

Input: TypeAlias = "str | bytes | Absent | Data"
"""A text for the library (bytes are passed as they are), or a pointer."""


def optional(text: str | None) -> Input:
    """Returns an optional text.

    None where a text is needed would be a mistake, which the library cannot see.
    """
    return ABSENT if text is None else text


_TEXTS = ffi.typeof("CallstackText[]")
_VIEW = ffi.typeof("CallstackView *")
_VIEWS = ffi.typeof("CallstackView[]")
_CONTEXT = ffi.typeof("CallstackContext *")
_CONTEXTS = ffi.typeof("CallstackContext[]")
_STACK = ffi.typeof("Callstack **")
_ERROR = ffi.typeof("CallstackError **")
FLAG = ffi.typeof("int32_t *")
TIME = ffi.typeof("uint64_t *")
_MOST_KNOWN = 32
"""How many contexts a stack finds again when the library returns them again."""


def _plain(value: object) -> object:
    """Returns a mapping that is not a dictionary as a dictionary, and refuses all other classes."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain).encode
read_json = json.JSONDecoder().decode


def write_json(value: object) -> str:
    """Returns a value as JSON."""
    try:
        return _encode(value)
    except (TypeError, ValueError) as error:
        raise _not_json(str(error)) from error
    except RecursionError as error:
        raise _not_json("it is nested too deep") from error


def _not_json(reason: str) -> JsonError:
    return JsonError(f"the value cannot be written as JSON: {reason}", {"what": "value", "reason": reason})


def to_utf8(text: str) -> bytes:
    """Encodes a text. A surrogate without its pair is not a character, and becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


class _Request:
    """The memory of a call that makes one context. Later calls use it again."""

    __slots__ = ("_chosen", "_passed", "_texts", "context", "error", "frame", "settings")

    def __init__(self) -> None:
        self.frame: Any = ffi.new(_VIEW)
        self.settings: Any = ffi.new(_VIEW)
        self.context: Any = ffi.new(_CONTEXT)
        self.error: Any = ffi.new(_ERROR)
        self._passed: tuple[str, str | None] | None = None
        # A view does not keep its text alive.
        self._texts: tuple[bytes, bytes | None] = (b"", None)
        self._chosen: Any = ffi.NULL

    def pass_texts(self, frame: str, settings: str | None) -> Any:
        """Lets the views be of these texts. Returns the address of the settings, NULL for none."""
        passed = (frame, settings)
        if passed == self._passed:
            return self._chosen
        self._passed = None
        text = _text_of("context", frame)
        chosen = None if settings is None else to_utf8(settings)
        self._texts = text, chosen
        self.frame.data, self.frame.len = ffi.from_buffer(text), len(text)
        if chosen is not None:
            self.settings.data, self.settings.len = ffi.from_buffer(chosen), len(chosen)
        self._chosen = ffi.NULL if chosen is None else self.settings
        self._passed = passed
        return self._chosen


_free_requests: list[_Request] = []
"""The requests that no call uses. A call takes one out, so calls of several threads do not share one."""


class Handle:
    """A stack of the library, which is freed once, and not while a call uses it."""

    __slots__ = ("__weakref__", "_contexts", "_is_close_due", "_is_closed", "_library", "_pointers", "_process")

    def __init__(self, name: str, *inputs: Input, owner: Handle | None = None) -> None:
        """Opens a stack by the function `name`, of another stack if there is an `owner`."""
        stack = ffi.new(_STACK)
        self._library = load()
        self._process = os.getpid()
        self._is_closed = self._is_close_due = False
        self._pointers: list[Data] = []
        self._contexts: dict[tuple[str, str | None], Context] = {}
        try:
            _call(owner, name, inputs, [stack])
        finally:
            if stack[0] != ffi.NULL:
                self._pointers.append(stack[0])

    def run(self, name: str, *inputs: Input) -> None:
        """Calls a function that answers nothing."""
        _call(self, name, inputs, [])

    def text(self, name: str, *inputs: Input) -> str:
        """Calls a function that answers a text."""
        return _texts(self, name, inputs, 1)[0] or ""

    def texts(self, count: int, name: str, *inputs: Input) -> list[str | None]:
        """Calls a function that answers several texts, or none."""
        return _texts(self, name, inputs, count)

    def context(self, name: str, *inputs: Input) -> Context | None:
        """Calls a function that answers a context, or none."""
        context: Any = ffi.new(_CONTEXT)
        _call(self, name, inputs, [context])
        return None if context.owner == ffi.NULL else _held(context)

    def context_of(self, frame: str, settings: str | None) -> Context:
        """Makes the context of a frame."""
        try:
            request = _free_requests.pop()
        except IndexError:
            request = _Request()
        try:
            chosen = request.pass_texts(frame, settings)
            arguments = (request.frame, 1, chosen, request.context)
            _carry(self, self._library.callstack_contexts, arguments, request.error)
            return self._known(frame, settings, request.context)
        finally:
            self._library.callstack_context_free(request.context)
            _free_requests.append(request)

    def contexts(self, frames: Sequence[str], settings: str | None) -> list[Context]:
        """Makes the contexts of frames. All of them have the same settings."""
        # The library reads these texts during the call.
        texts = [_text_of("contexts", frame) for frame in frames]
        count = len(texts)
        views = ffi.new(_VIEWS, [(ffi.from_buffer(text), len(text)) for text in texts])
        request = _Request()
        chosen = request.pass_texts("", settings)
        made: Any = ffi.new(_CONTEXTS, count)
        places = [made + place for place in range(count)]
        try:
            _carry(self, self._library.callstack_contexts, (views, count, chosen, made), request.error)
            return [self._known(frame, settings, place) for frame, place in zip(frames, places, strict=True)]
        finally:
            for place in places:
                self._library.callstack_context_free(place)

    def _known(self, frame: str, settings: str | None, made: Any) -> Context:
        """The context that was made, or the same one that the stack has had, so that its texts are read once."""
        known = self._contexts.get((frame, settings))
        if known is not None and known.is_of(made.owner):
            return known
        copy: Any = ffi.new(_CONTEXT, made[0])
        # The caller frees what is left there. This comes first: an interrupt from the keyboard between the two
        # must not let both free the same texts.
        made.owner = ffi.NULL
        context = _held(copy)
        if len(self._contexts) >= _MOST_KNOWN:
            self._contexts.clear()
        self._contexts[frame, settings] = context
        return context

    def context_report(self, *inputs: Input) -> str:
        """Makes a context and answers its report."""
        context: Any = ffi.new(_CONTEXT)
        report = ffi.new(_TEXTS, 1)
        try:
            _call(self, "callstack_context", inputs, [context])
            _call(None, "callstack_context_report", [], [context, report + 0])
            return str(ffi.buffer(report[0].data, report[0].len), "utf-8")
        finally:
            load().callstack_text_free(report + 0)
            load().callstack_context_free(context)

    def value(self, kind: FFI.CType, name: str, *inputs: Input) -> int:
        """Calls a function that answers a number: a `FLAG` or a `TIME`."""
        value = ffi.new(kind)
        _call(self, name, inputs, [value])
        return int(value[0])

    def close(self) -> None:
        """Flushes and frees the stack, when the calls of other threads with it have ended.

        Closing again does nothing.
        """
        self._is_closed = True
        if _calls.runs_here(self):
            self._is_close_due = True
        else:
            # Also if it was closed before: an interrupt can have ended that close while it waited.
            self.free()

    def abandon(self) -> None:
        """Closes the stack if no code uses it.

        It was collected, or the interpreter ends while threads may run.
        """
        self._is_closed = True
        if not _calls.is_running(self):
            # The database holds everything that was acknowledged; the next open writes the files beside it.
            with suppress(CallstackError):
                self.free()

    def enter(self) -> Data:
        """Returns the pointer for a call that has begun. Raises an error if the call may not use it."""
        if self._process != os.getpid():
            raise ForkedError("this stack was opened before fork; open the stack again in the child", {})
        if self._is_closed:
            raise ClosedError("this stack has been closed; open it again", {})
        return self._pointers[0]

    def leave(self) -> None:
        """Closes the stack at the end of a call that was interrupted by a close of its own thread."""
        if self._is_close_due and not _calls.runs_here(self):
            self.free()

    def free(self) -> None:
        """Frees the stack, except in a forked child: it is its parent's."""
        if self._process != os.getpid() or not self._pointers:
            return
        _calls.wait_for_end(self)
        try:
            pointer = self._pointers.pop()
        except IndexError:
            return
        _call(None, "callstack_close", [], [ffi.new(_STACK, pointer)])


def text(name: str, *inputs: Input) -> str:
    """Calls a function that takes no stack and answers a text."""
    return _texts(None, name, inputs, 1)[0] or ""


def tools(query: str) -> str:
    """Returns tools of no stack."""
    return _texts(None, "callstack_tools", [ffi.NULL, query], 1)[0] or ""


def texts(count: int, name: str, *inputs: Input) -> list[str | None]:
    """Calls a function that takes no stack and answers several texts."""
    return _texts(None, name, inputs, count)


def _texts(owner: Handle | None, name: str, inputs: Sequence[Input], count: int) -> list[str | None]:
    outputs = ffi.new(_TEXTS, count)
    places = [outputs + place for place in range(count)]
    try:
        _call(owner, name, inputs, places)
        return [None if text.data == ffi.NULL else str(ffi.buffer(text.data, text.len), "utf-8") for text in places]
    finally:
        free = load().callstack_text_free
        for place in places:
            free(place)


def _call(owner: Handle | None, name: str, inputs: Sequence[Input], outputs: Sequence[Data]) -> None:
    function = _function(name)
    arguments: list[Any] = []
    for value in inputs:
        if value is ABSENT:
            arguments.append((ffi.NULL, 0))
        elif isinstance(value, ffi.CData):
            arguments.append(value)
        else:
            text = _text_of(name.removeprefix("callstack_"), value)
            arguments.append((ffi.from_buffer(text), len(text)))
    _carry(owner, function, (*arguments, *outputs), ffi.new(_ERROR))


def _text_of(method: str, value: object) -> bytes:
    """The bytes of a text."""
    if isinstance(value, str):
        return to_utf8(value)
    if isinstance(value, bytes):
        return value
    raise TypeError(f"{method}: expected a text, got {type(value).__name__} {value!r}")


def _carry(owner: Handle | None, function: Any, arguments: Sequence[Any], error: Any) -> None:
    """Makes a call, and raises its error."""
    token = object()
    try:
        _calls.begin(token, owner)
        code = function(*arguments, error) if owner is None else function(owner.enter(), *arguments, error)
    finally:
        # Not in a function of its own: at its beginning, an interrupt from the keyboard could keep it from
        # running.
        _calls.running.pop(token, None)
        _calls.announce_end()
        if owner is not None:
            owner.leave()
    if code != 0:
        raise _taken(error)


def _held(context: Any) -> Context:
    """A context that is freed when it is not used any more."""
    return Context.held(ffi.gc(context, load().callstack_context_free))


def _function(name: str) -> Any:
    try:
        return getattr(load(), name)
    except (AttributeError, ffi.error) as error:
        message = f"the native library has no function {name}; install a newer one, in the version of this package"
        raise LibraryError(message, {"function": name}) from error


def _taken(error: Data) -> CallstackError:
    library = load()
    texts = (library.callstack_error_name, library.callstack_error_message, library.callstack_error_details)
    try:
        name, message, details = (text_at(text(error[0])) for text in texts)
    finally:
        library.callstack_error_free(error)
    return error_of(name, message, read_json(details))
