"""The Stack class: how stacks are made, and contexts. The other methods are generated."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike, fsencode

from callstack_core import _handle
from callstack_core._handle import read_json, write_json
from callstack_core._library import has
from callstack_core._methods import StackMethods
from callstack_core.context import Context
from callstack_core.errors import LibraryError
from callstack_core.types import (
    Actor,
    ContextReport,
    FrameRef,
    Hold,
    MemoryOptions,
    Settings,
    StackOptions,
    StackState,
    StateOptions,
    Tool,
    ToolQuery,
)


class Stack(StackMethods):
    """A call stack: a tree of frames, and a context for each frame.

        with Stack.open(".callstack") as stack:  # or close() it
            shop = stack.push({"title": "Build a shop", "sessionID": "ses_1"})
            cart = stack.push({"title": "Cart", "parent": shop})
            stack.pop(cart, {"status": "completed", "results": "Cart in src/cart.py", "next": True})
            print(stack.context(shop).xml)

    A stack in a folder is persistent: when a command returns, its change survives the death of the process.
    Several processes may open the same folder at the same time. Any thread may use a stack; calls do not hold
    the interpreter's lock. A child that was made by a fork must open the stack again: its parent's raises
    `ForkedError`.

    A call that fails raises a `CallstackError` and changes nothing, except that of a `PassingError` it may
    not be known. Every method that takes a frame may raise `UnknownFrameError` or `AmbiguousFrameError`;
    every command on a stored stack may raise a `PassingError`, a `StorageError` or a `DamagedError`; after
    `close` every other method raises `ClosedError`.

    If a command raises an error with the code `damaged`, the database has an event that cannot be read or
    does not fit. All later commands then raise the same, and nothing is written any more. Queries continue
    with the frames before the damage: `export_history` returns the events before it, and `rebuild` makes a
    new stack of them.
    """

    __slots__ = ()

    def __init__(self) -> None:
        """Refuses: stacks are made by `open`, `in_memory`, `from_state` and `rebuild`."""
        raise TypeError("make a stack with Stack.open, Stack.in_memory, Stack.from_state or Stack.rebuild")

    @classmethod
    def open(cls, folder: str | PathLike[str], options: StackOptions | None = None) -> Stack:
        """Opens the stack in a folder. Creates the folder and the stack if they do not exist.

        `folder` can also be the URL of a stack in PostgreSQL, `postgres://HOST/DATABASE/STACK`, with the
        native library that `make native-postgres` builds (`CALLSTACK_LIBRARY` names it).

        Raises `DamagedError` or `VersionError` if a file cannot be read or comes from a newer version (the
        file is left unchanged), `EmptyError` for an empty path, `Utf8Error` for one that is not UTF-8,
        `JsonError` and `SettingError` for wrong options, `DisconnectedError` if the server cannot be reached,
        `LibraryError` for a URL if the native library was built without PostgreSQL.
        """
        if not (isinstance(folder, str) and folder.startswith(("postgres://", "postgresql://"))):
            return cls._made("open", fsencode(folder), cls._optional_json(options))
        if not has("callstack_open_url"):
            raise LibraryError(
                "the native library of callstack-core was built without PostgreSQL; build one with "
                "`make native-postgres`, and name it in CALLSTACK_LIBRARY",
                {},
            )
        return cls._made("open_url", folder, cls._optional_json(options))

    @classmethod
    def in_memory(cls, options: MemoryOptions | None = None) -> Stack:
        """Makes an empty stack in memory. Nothing is written to the disk."""
        return cls._made("in_memory", cls._optional_json(options))

    @classmethod
    def from_state(cls, state: StackState | str, options: StateOptions | None = None) -> Stack:
        """Makes a stack in memory from a state, or from the text of a `state.json`.

        Inconsistencies are repaired and listed in the `repairs` of `info`; no frame is lost. Raises
        `JsonError` if the text is not a state, `VersionError` if it comes from a newer version.
        """
        text = state if isinstance(state, str) else write_json(state)
        return cls._made("from_state", text, cls._optional_json(options))

    @classmethod
    def rebuild(cls, folder: str | PathLike[str], history: str, options: StackOptions | None = None) -> Stack:
        """Makes a stack in an empty folder from `export_history`: the same frames, handles and history.

        Raises `NotEmptyError` if the folder has a stack, `JsonError` or `HistoryError` (which name the line
        or the event) if the text is damaged or incomplete.
        """
        return cls._made("rebuild", fsencode(folder), history, cls._optional_json(options))

    @staticmethod
    def settings() -> Settings:
        """Returns the default settings of contexts.

        The environment variables `STACK_TOKEN_BUDGET_TOTAL`, `STACK_TOKEN_BUDGET_ANCESTORS`,
        `STACK_TOKEN_BUDGET_SIBLINGS` and `STACK_TOKEN_BUDGET_CURRENT` (tokens) override them. A variable that
        is not a whole number of at least 1 leaves the default, and warns.
        """
        settings, problems = _handle.texts(2, "callstack_settings")
        for problem in read_json(problems or "[]"):
            warnings.warn(problem, stacklevel=2)
        return read_json(settings or "{}")

    @staticmethod
    def all_tools(query: ToolQuery | None = None) -> list[Tool]:
        """Returns all tools for agents, or the tools of a run: see `ToolQuery`.

        It also returns tools that a host does not offer.

        Raises `JsonError` for an unknown key or a wrong type, `SettingError` for a name that is empty, longer
        than 64 characters, or has control characters.
        """
        return read_json(_handle.tools(write_json(query or {})))

    def tools(self, query: ToolQuery | None = None) -> list[Tool]:
        """Returns the tools that the host registers for its agents: the setting `tools` of `configure`.

            stack.configure({"tools": ["standard", "stack_tree"]})
            tools = stack.tools()

        Call it after `configure`.
        """
        return self._record("tools", write_json(query or {}))

    def as_actor(self, actor: Hold | Actor) -> Stack:
        """Returns the same stack for an actor.

        What other actors hold is theirs: commands of the returned stack that begin, continue, end, block or
        invalidate such a frame raise `HeldError`. A conversation, or a person with a name, holds what it
        begins. If the actor is a hold, each command raises `HoldLostError` when another actor has held that
        frame since. Close the returned stack too. Commands of this stack work as before.
        """
        return self._made("as_actor", write_json(actor), owner=self._native)

    def context(self, frame: FrameRef, settings: Settings | None = None) -> Context:
        """Returns the context of a frame: what its agent should see before the next model call.

            context = stack.context("ses_1", {"budget": {"total": 2000}})

        It never exceeds its budget. A cache answers repeated calls with the same settings until something in
        the context changes. Raises `BudgetTooSmallError`, with the budget that is `needed` and its `unit` in
        the details; `SettingError` or `JsonError` for wrong settings.
        """
        return self._native.context_of(frame, None if settings is None else write_json(settings))

    def contexts(self, frames: Sequence[FrameRef], settings: Settings | None = None) -> list[Context]:
        """Returns the contexts of several frames in one call, in the order of the frames.

            for context in stack.contexts(stack.handles({"status": "in_progress"})):
                print(context.xml)

        Raises what `context` raises, for the first frame whose context fails.
        """
        if isinstance(frames, (str, bytes)):
            raise TypeError(f"contexts: expected a list, got one {type(frames).__name__}")
        return self._native.contexts(frames, None if settings is None else write_json(settings))

    def context_report(self, frame: FrameRef, settings: Settings | None = None) -> ContextReport:
        """Returns which frames and chunks were considered for a context, and how much of each it shows.

        Raises what `context` raises.
        """
        return read_json(self._native.context_report(frame, self._optional_json(settings)))

    def session_context(self, session_id: str) -> Context | None:
        """Returns the context of a session's frame, made with the settings of `configure`.

        Returns None if the session has no frame, or if the settings give it no context. Raises
        `BudgetTooSmallError`.
        """
        return self._native.context("callstack_session_context", session_id)


def context_changes(before: str, now: str) -> str:
    """Returns what has changed in a volatile part, for a conversation that keeps what it was told.

    A whole new part would leave the older one, `before`, beside it. Empty if nothing has changed; `now`
    itself if that is not longer.
    """
    return _handle.text("callstack_context_changes", before, now)
