"""The context of a frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from callstack_core import _handle
from callstack_core._handle import read_json
from callstack_core.types import Report


@dataclass(frozen=True)
class Context:
    """What the agent of a frame should see before the next model call.

    Use either `xml`, or `stable` and `volatile`: both ways carry the same information.
    """

    xml: str
    """The whole context as one XML document, the stable part first."""

    stable: str
    """The part that rarely changes, for the system prompt. It keeps its bytes, so that prompt caches stay valid, until a frame
    is pushed, popped or invalidated, or a chunk that it shows changes."""

    volatile: str
    """The part that changes often. Put it after the newest message."""

    _report: str = field(repr=False)

    @cached_property
    def report(self) -> Report:
        """Which frames and chunks were considered, and how much of each is shown. Parsed on first access."""
        return read_json(self._report)

    @property
    def tokens(self) -> int:
        """An upper bound of the tokens of `xml`, and of `stable` and `volatile` together."""
        return self.report["tokens"]


def context_changes(before: str, now: str) -> str:
    """Returns what of a volatile part has changed, for a conversation that keeps what it was told.

    A whole newer part would leave the older one, `before`, beside it. Empty if there is nothing to tell; `now` itself if that
    is not longer.
    """
    return _handle.text("callstack_context_changes", before, now)
