"""Folding: takes the stretches of finished frames out of a request to a model. It needs no stack."""

from __future__ import annotations

from typing import TypedDict

from callstack_core import _handle
from callstack_core._handle import optional, read_json, write_json
from callstack_core.types import FoldReport, FoldSettings, Wire


class Folded(TypedDict):
    """A folded request."""

    #: The request that the host sends.
    request: str
    #: What was removed.
    report: FoldReport


def fold(wire: Wire, request: str, settings: FoldSettings | None = None) -> Folded:
    """Folds a request to a model: takes the stretches of finished frames out of it.

    In a host whose agent works on all its frames in one conversation, a pushed and popped frame is then a
    call and its return. The answer of the push becomes what the frame has returned, and everything from there
    to the answer of the pop is removed. What is not folded keeps its bytes. The result depends on the
    arguments only; what cannot be understood comes back as it is.

        folded = fold("anthropic", body)

    `request` is the body of the request, or for `opencode` and `pi` the list of messages, as JSON. Raises
    `SettingError` for an unknown wire or a name that cannot be one, `JsonError` for settings with an unknown
    key or a wrong type.
    """
    encoded = None if settings is None else write_json(settings)
    folded, report = _handle.texts(2, "callstack_fold", wire, request, optional(encoded))
    return {"request": folded or "", "report": read_json(report or "{}")}
