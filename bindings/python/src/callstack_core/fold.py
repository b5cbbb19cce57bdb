"""Folding: a request to a model without what its finished frames have said. It needs no stack."""

from __future__ import annotations

from callstack_core import _handle
from callstack_core._handle import optional, read_json, write_json
from callstack_core.types import Folded, FoldSettings, Wire


def fold(wire: Wire, request: str, settings: FoldSettings | None = None) -> Folded:
    """Returns a request to a model without what its finished frames have said.

    In a host whose agent works on all its frames in one conversation, that conversation is then as the stack is: a pushed and
    popped frame is a call and its return. The answer of the push becomes what the frame has returned, and everything from there
    to the answer of the pop is gone. What is not folded keeps its bytes. The result depends on the arguments alone; what cannot
    be understood comes back as it is.

        folded = fold("anthropic", body)

    `request` is the body of the request, or for `opencode` and `pi` the list of messages, as JSON. Raises `SettingError` for an
    unknown wire or a name that cannot be one, `JsonError` for settings with an unknown key or a wrong type.
    """
    encoded = None if settings is None else write_json(settings)
    folded, report = _handle.texts(2, "callstack_fold", wire, request, optional(encoded))
    return {"request": folded or "", "report": read_json(report or "{}")}
