"""A host: one agent, whose conversation goes through the frames of a stack. Its model is a script; put yours into `ask`.

    python host.py
"""

import json
import sys
from typing import Any

from callstack_core import Context, Stack, fold
from callstack_core.types import Effect, Tool

SESSION = "chat"
ORDERS = "order 1: a lamp, 40 EUR, paid\n"
"""What the own tool of this host answers."""


def main() -> None:
    with Stack.in_memory() as stack:  # or Stack.open(".callstack"), then it lasts
        # The agent works on all its frames in one conversation, which this host folds.
        stack.configure({"calls": {"in": "conversation"}})
        tools = stack.tools()

        # A session begins, and a person writes: the session is a frame now.
        wish = "Write a report on the shop"
        perform(stack.report({"kind": "sessionCreated", "sessionID": SESSION, "title": wish}))
        message = {"kind": "message", "sessionID": SESSION, "messageID": "m1", "role": "user", "text": wish}
        perform(stack.report(message))  # type: ignore[arg-type]
        messages: list[dict[str, Any]] = [{"role": "user", "content": wish}]

        for request in range(1, 100):
            # Before each request: the context of the frame in which the conversation is, and the folded conversation.
            context = stack.session_context(SESSION)
            assert context is not None
            folded = fold("chat", json.dumps({"messages": messages}))["request"]
            reply = ask(request, context, folded, tools)
            print(f"request {request}: {len(folded)} of {len(json.dumps({'messages': messages}))} bytes of messages")
            messages.append(reply)

            calls = reply.get("tool_calls", [])
            for call in calls:
                content = carry_out(stack, call["function"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
            if not calls:
                break
        perform(stack.report({"kind": "sessionIdle", "sessionID": SESSION}))
        print(stack.outline())


def perform(effects: list[Effect]) -> None:
    """What the library asks the host to do. A host with several sessions also creates, prompts and aborts them here."""
    for effect in effects:
        if effect["kind"] == "log":
            print(effect["level"], effect["message"], effect["data"].get("handle", ""), file=sys.stderr)


def carry_out(stack: Stack, call: dict[str, str]) -> str:
    """Carries out a tool call. Returns a text for the model, also if the library has refused the call."""
    if call["name"] == "read_orders":
        perform(stack.report({"kind": "toolExecuted", "sessionID": SESSION, "tool": call["name"], "answer": ORDERS}))
        return ORDERS * 50
    answer = stack.tool(SESSION, {"name": call["name"], "arguments": call["arguments"]})
    perform(answer["effects"])
    return answer.get("text") or ""


def ask(request: int, _context: Context, _messages: str, _tools: list[Tool]) -> dict[str, Any]:
    """The model. `stable` of the context belongs into the system prompt, `volatile` after the newest message."""
    if request == 1:
        title = {"title": "Count the orders", "successCriteria": "Known", "successCriteriaCompacted": "Known"}
        return call("stack_frame_push", title)
    if request == 2:
        return call("read_orders", {})
    if request == 3:
        results = "There are 42 orders, 3 of them unpaid."
        return call("stack_frame_pop", {"status": "completed", "results": results, "resultsCompacted": "42 orders"})
    return {"role": "assistant", "content": "The shop has 42 orders."}


def call(name: str, arguments: dict[str, str]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "tool_calls": [{"id": f"call_{name}", "type": "function", "function": function}]}


main()
