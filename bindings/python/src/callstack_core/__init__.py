"""A call stack of frames for LLM agents, instead of one long chat.

    from callstack_core import Stack

    with Stack.open(".callstack") as stack:
        shop = stack.push({"title": "Build a shop"})
        print(stack.context(shop).xml)

The records, such as a frame, are dictionaries; their types are in `callstack_core.types`. The errors are in
`callstack_core.errors`.
"""

from callstack_core.context import Context
from callstack_core.errors import CallstackError
from callstack_core.fold import fold
from callstack_core.host import Host, HostActions, HostAnswer
from callstack_core.stack import Stack, context_changes

__all__ = ["CallstackError", "Context", "Host", "HostActions", "HostAnswer", "Stack", "context_changes", "fold"]
