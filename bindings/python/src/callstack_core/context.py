"""The context of a frame."""

from __future__ import annotations

from typing import Any

from callstack_core._native import ffi


class Context:
    """What the agent of a frame should see before the next model call.

    Use either `xml`, or `stable` and `volatile`: both ways carry the same information. A text is read from the
    library when it is asked for, and stays readable after the stack is closed. Contexts with the same texts
    are equal.
    """

    __slots__ = ("_held", "_stable", "_volatile", "_xml", "tokens")

    tokens: int
    """An upper bound of the tokens of `xml`, and of `stable` and `volatile` together."""

    def __init__(self, xml: str, stable: str, volatile: str, tokens: int) -> None:
        """Makes a context of its texts, for tests of a host."""
        self._held: Any = None
        self._xml: str | None = xml
        self._stable: str | None = stable
        self._volatile: str | None = volatile
        self.tokens = tokens

    @classmethod
    def held(cls, context: Any) -> Context:
        """Makes a context of one that the library holds."""
        made = object.__new__(cls)
        made._held = context
        made._xml = made._stable = made._volatile = None
        made.tokens = context.tokens
        return made

    def is_of(self, owner: Any) -> bool:
        """Whether the library holds the texts of this context as those of `owner`."""
        return self._held is not None and bool(self._held.owner == owner)

    @property
    def xml(self) -> str:
        """The whole context as one XML document, the stable part first."""
        if self._xml is None:
            self._xml = _read(self._held.xml)
        return self._xml

    @property
    def stable(self) -> str:
        """The part that rarely changes, for the system prompt.

        It keeps its bytes, so that prompt caches stay valid, until a frame is pushed, popped or invalidated, or
        a chunk that it shows changes.
        """
        if self._stable is None:
            self._stable = _read(self._held.stable)
        return self._stable

    @property
    def volatile(self) -> str:
        """The part that changes often. Put it after the newest message."""
        if self._volatile is None:
            self._volatile = _read(self._held.changing)
        return self._volatile

    def _values(self) -> tuple[str, str, str, int]:
        return self.xml, self.stable, self.volatile, self.tokens

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, Context) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"Context(xml={self.xml!r}, stable={self.stable!r}, volatile={self.volatile!r}, tokens={self.tokens})"

    def __reduce__(self) -> tuple[type[Context], tuple[str, str, str, int]]:
        # Other processes cannot read the memory of the library, so the texts are passed.
        return Context, self._values()


def _read(view: Any) -> str:
    return str(ffi.buffer(view.data, view.len), "utf-8")
