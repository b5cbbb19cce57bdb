"""A stack of the native library from its opening to its closing: what every method needs."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable, Mapping
from os import PathLike, fsencode
from types import TracebackType
from typing import Any

from callstack_core import _handle
from callstack_core._handle import ABSENT, FLAG, TIME, Handle, optional, read_json, write_json

if sys.version_info >= (3, 11):
    from typing import Self
else:
    from typing_extensions import Self


class OpenStack:
    """A stack that can be closed."""

    __slots__ = ("__weakref__", "_native")

    _native: Handle

    @classmethod
    def _made(cls, name: str, *inputs: _handle.Input, owner: Handle | None = None) -> Self:
        stack = object.__new__(cls)
        stack._native = Handle(f"callstack_{name}", *inputs, owner=owner)
        weakref.finalize(stack, stack._native.abandon)
        return stack

    def close(self) -> None:
        """Flushes and frees the stack, when the calls of other threads with it have ended.

        Closing again does nothing.

        If the flush fails, the stack is closed all the same and the error says what could not be written.
        """
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, name: str, *inputs: _handle.Input) -> None:
        self._native.run(f"callstack_{name}", *inputs)

    def _text(self, name: str, *inputs: _handle.Input) -> str:
        return self._native.text(f"callstack_{name}", *inputs)

    def _record(self, name: str, *inputs: _handle.Input) -> Any:
        return read_json(self._native.text(f"callstack_{name}", *inputs))

    def _flag(self, name: str, *inputs: _handle.Input) -> bool:
        return self._native.value(FLAG, f"callstack_{name}", *inputs) != 0

    def _time(self, name: str, *inputs: _handle.Input) -> int | None:
        return self._native.value(TIME, f"callstack_{name}", *inputs) or None

    @staticmethod
    def _json(value: object) -> str:
        return write_json(value)

    @staticmethod
    def _optional_json(value: object) -> _handle.Input:
        return ABSENT if value is None else write_json(value)

    @staticmethod
    def _optional(value: str | None) -> _handle.Input:
        return optional(value)

    @staticmethod
    def _list(items: Iterable[Any], name: str) -> str:
        """The JSON of a list. One record or one text in its place would be taken for a list of its parts."""
        if isinstance(items, (str, bytes, Mapping)):
            raise TypeError(f"{name}: expected a list, got one {type(items).__name__}")
        return write_json(list(items))

    @classmethod
    def _optional_list(cls, items: Iterable[Any] | None, name: str) -> _handle.Input:
        return ABSENT if items is None else cls._list(items, name)

    @staticmethod
    def _path(path: str | PathLike[str]) -> bytes:
        return fsencode(path)
