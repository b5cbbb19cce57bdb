"""An agent that manages its own memory: frames with conversations of their own, and a heap.

Its model is a script; put yours into `ask`, and its tools into `execute`.

    python agent.py
"""

import json

from callstack_core import Stack
from callstack_core.types import NextAsk, NextCall, Reply


def main() -> None:
    with Stack.in_memory() as stack:  # or Stack.open(".callstack"), then the run continues after a crash
        run = stack.start_run({"task": "Add the numbers of the orders", "tools": "- count(): returns the number of orders"})
        while True:
            step = stack.advance_run(run)
            if step["next"] == "ask":
                # The model is asked: the system prompt is the same in each step, the messages are those of the frame.
                length = len(json.dumps(step["messages"]))
                print(f"step {step['step']} in {step['frame']}: {len(step['messages'])} messages, {length} bytes")
                stack.run_reply(run, ask(step))
            elif step["next"] == "call":
                # A tool of yours. The calls that concern memory are carried out by the library.
                stack.run_answer(run, {"call": step["id"], "answer": execute(step)})
            else:
                print(f"{step['status']}: {step['results']}")
                return


def ask(step: NextAsk) -> Reply:
    """The model: it pushes a frame, counts there, keeps the number, pops the frame, and ends."""
    script: list[tuple[str, dict[str, str]]] = [
        ("push_frame", {"name": "count", "objective": "Count the orders", "return_spec": "the number"}),
        ("count", {}),
        ("heap_alloc", {"name": "orders", "content": "42"}),
        ("pop_frame", {"result": "There are 42 orders."}),
        ("pop_frame", {"result": "The sum is 42."}),
    ]
    name, arguments = script[step["step"] - 1]
    return {"calls": [{"id": f"call_{step['step']}", "name": name, "arguments": json.dumps(arguments)}]}


def execute(call: NextCall) -> str:
    """The tools of the agent."""
    return "42" if call["name"] == "count" else "there is no such tool"


main()
