"""The context of a frame."""

from __future__ import annotations

from dataclasses import dataclass

from callstack_core import _handle


@dataclass(frozen=True)
class Context:
    """What the agent of a frame should see before the next model call.

    Use either `xml`, or `stable` and `volatile`: both ways carry the same information.
    """

    xml: str
    """The whole context as one XML document, the stable part first."""

    stable: str
    """The part that rarely changes, for the system prompt. It keeps its bytes, so that prompt caches stay
    valid, until a frame is pushed, popped or invalidated, or a chunk that it shows changes."""

    volatile: str
    """The part that changes often. Put it after the newest message."""

    tokens: int
    """An upper bound of the tokens of `xml`, and of `stable` and `volatile` together."""


def context_changes(before: str, now: str) -> str:
    """Returns what has changed in a volatile part, for a conversation that keeps what it was told.

    A whole new part would leave the older one, `before`, beside it. Empty if nothing has changed; `now`
    itself if that is not longer.
    """
    return _handle.text("callstack_context_changes", before, now)
