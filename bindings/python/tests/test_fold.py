"""Folding from Python: the library does it, the package carries it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callstack_core import Stack, context_changes, errors, fold


def call(number: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": f"callstack-{name}", "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": number, "type": "function", "function": function}],
    }


def outcome(number: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": number, "content": content}


REQUEST = json.dumps(
    {
        "messages": [
            {"role": "user", "content": "Build the shop."},
            call("1", "push", {"title": "Cart"}),
            outcome("1", "f1 (Cart) has begun.\nYou are in f1 (Cart)."),
            {"role": "assistant", "content": "What is there?"},
            call("2", "pop", {"status": "completed", "results": "Cart::total() 🛒"}),
            outcome("2", "f1 (Cart) is completed.\nYou are in no frame."),
        ]
    }
)


def test_a_finished_frame_becomes_a_call_and_its_return() -> None:
    folded = fold("chat", REQUEST)
    messages = json.loads(folded["request"])["messages"]
    assert len(messages) == 3
    assert messages[2]["content"].startswith("f1 (Cart) is completed.\nResults: Cart::total() 🛒\n")
    (stretch,) = folded["report"]["stretches"]
    assert (stretch["frame"], stretch["status"], stretch["items"]) == ("f1", "completed", 3)
    assert "callstack log f1" in fold("chat", REQUEST, {"pointer": "callstack log {frame}"})["request"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"messages":[]}'])
def test_what_cannot_be_folded_comes_back(text: str) -> None:
    assert fold("chat", text) == {"request": text, "report": {"stretches": [], "turns": []}}


def test_turns_are_folded_on_request() -> None:
    def turn(number: str) -> list[dict[str, Any]]:
        read = call(number, "x", {"path": f"src/{number}.py"})
        answer = {"role": "assistant", "content": f"answer{number}"}
        return [{"role": "user", "content": f"words{number}"}, read, outcome(number, "nonsense " * 50), answer]

    request = json.dumps({"messages": [*turn("1"), *turn("2"), {"role": "user", "content": "now"}]})
    folded = fold("chat", request, {"turns": {"floor": 10}})
    assert len(json.loads(folded["request"])["messages"]) == 5
    assert "src/2.py" in folded["request"]
    assert [turns["turns"] for turns in folded["report"]["turns"]] == [1, 1]


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(errors.SettingError):
        fold("morse", REQUEST)  # type: ignore[arg-type]
    with pytest.raises(errors.JsonError):
        fold("chat", REQUEST, {"servers": "x"})  # type: ignore[arg-type]


def test_a_pop_begins_the_next_frame(stack: Stack) -> None:
    cart = stack.push({"title": "Cart", "parent": "f1"})
    pay = stack.plan({"title": "Pay", "parent": "f1", "dependsOn": [cart]})
    later = stack.plan({"title": "Later", "parent": "f1", "dependsOn": [pay]})
    with pytest.raises(errors.NotReadyError):
        stack.begin(later)
    with pytest.raises(errors.NotReadyError):
        stack.pop(cart, {"status": "completed", "results": "Totals", "next": later})
    popped = stack.pop(cart, {"status": "completed", "results": "Totals", "resultsCompacted": "total()", "next": True})
    assert (popped["next"], stack.frame(pay)["status"]) == (pay, "in_progress")
    assert "next" not in stack.pop(pay, {"status": "failed", "results": "No", "next": True})
    with pytest.raises(errors.PartsLeftError) as left:
        stack.complete("f1", {"results": "The shop is open"})
    assert left.value.details["left"] == [later]
    stack.invalidate(later, "Not now")
    stack.complete("f1", {"results": "The shop is open"})
    assert stack.frame("f1")["status"] == "completed"


def test_of_a_context_only_what_has_changed_is_told() -> None:
    frame = '<current-frame id="f1">\n<title>A shop with a cart, a till and a door</title>\n</current-frame>\n'
    before, now = (
        f"<stack-now>\n{next_}{frame}</stack-now>\n" for next_ in ("", "<next-action>Finish</next-action>\n")
    )
    changed = '<stack-now shows="only what has changed">\n<next-action>Finish</next-action>\n</stack-now>\n'
    assert context_changes(before, now) == changed
    assert context_changes(now, now) == ""
    assert context_changes("", now) == now
