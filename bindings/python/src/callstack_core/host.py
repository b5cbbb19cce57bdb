"""A host of the engine, for asyncio.

It reports events, carries out the effects that they cause, lets tool calls wait for their answers, and polls
the engine when something is due. What a host has to do itself is in `HostActions`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar

from callstack_core.context import Context
from callstack_core.errors import ClosedError
from callstack_core.stack import Stack
from callstack_core.types import (
    Effect,
    EffectAnswer,
    EffectCreateSession,
    EffectPrompt,
    Handle,
    HostEvent,
    HostEventCallEnded,
    HostSettings,
    SessionMessage,
    ToolRequest,
)

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired

_Result = TypeVar("_Result")

_AFTER_FAILURE = 1.0
"""Time from a poll that failed to the next one, in seconds."""

HostLogLevel: TypeAlias = Literal["debug", "info", "warn", "error"]
"""The level of a line in a host's log."""

TakePrompt: TypeAlias = Callable[[str], None]
"""Receives the text for the prompt of a compaction."""


class SessionDescription(TypedDict):
    """What a host knows about a session."""

    title: str
    #: The session that made it.
    parentID: NotRequired[str | None]


class HostActions(Protocol):
    """What a host does with its sessions.

    Each method may raise: the failure is reported to the engine, or logged.
    """

    def log(self, level: HostLogLevel, message: str, data: dict[str, Any]) -> None:
        """Writes a line to the log of the host.

        If it raises, the event loop's exception handler gets the failure.
        """

    async def create_session(self, parent_id: str, title: str) -> str:
        """Creates a session for a frame, and returns its ID.

        It is recorded before the session is prompted.
        """

    async def describe_session(self, session_id: str) -> SessionDescription | None:
        """Describes a session; None if it does not exist."""

    async def messages(self, session_id: str) -> Sequence[SessionMessage]:
        """Reads the messages of a session; none if it does not exist."""

    async def prompt(self, session_id: str, text: str, caller_id: str) -> None:
        """Prompts a session with the model of the session `caller_id`, and waits for the end of its turn."""

    async def abort(self, session_id: str) -> None:
        """Ends the current turn of a session. What it has said is kept."""

    async def compact(self, session_id: str) -> bool:
        """Compacts a session, and returns when that has ended; False if there is no summary.

        It reports `sessionCompacting` before it asks for the summary, and `sessionCompacted` with messages
        after a success.
        """


class HostAnswer(TypedDict):
    """The answer of an agent's tool."""

    #: The text for the model.
    text: str
    #: One line for people: what the call was about, and what became of that. Empty if its arguments say it.
    title: str
    #: The frames that the call has popped, or for whose ends it has waited.
    ended: list[Handle]
    #: Whether the text explains why nothing was done.
    isError: bool


class Host:
    """Connects a stack with a host that has sessions: an editor, an agent program or an orchestrator.

        host = Host(Stack.open("stack"), actions)
        prompt = {"kind": "message", "sessionID": "ses_1", "messageID": "m1", "role": "user"}
        await host.report({**prompt, "text": "Build the shop"})
        criteria = {"successCriteria": "Totals are right", "successCriteriaCompacted": "Totals right"}
        answer = await host.tool("ses_1", "stack_frame_push", {"title": "Cart", **criteria})

    The engine decides, the actions carry out. All methods belong to one event loop.
    """

    def __init__(self, stack: Stack, actions: HostActions) -> None:
        """Takes over a stack. The caller may read and change it; the host closes it."""
        self.stack = stack
        self._actions = actions
        # Tool calls that wait for their answers, by the number of the call.
        self._waiting: dict[int, asyncio.Future[EffectAnswer]] = {}
        # The compactions that run, by session ID.
        self._compactions: dict[str, asyncio.Task[None]] = {}
        # Event loops keep no references to their tasks.
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def configure(self, settings: HostSettings) -> list[str]:
        """Applies settings. Invalid values are ignored. Returns a message for each, and logs it."""
        problems = self.stack.configure(settings)
        for message in problems:
            self._log("warn", message)
        self._schedule()
        return problems

    def background(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Starts work that no caller has to wait for. If it fails, the failure is logged with this name."""
        task = asyncio.create_task(self._attempt(name, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def report(self, event: HostEvent, take_prompt: TakePrompt | None = None) -> None:
        """Reports an event to the engine and carries out the effects. After `close` it does nothing.

        If the waiting task is cancelled, the effects are carried out all the same.
        """
        if not self._is_closed:
            await self._perform(self.stack.report(event), take_prompt)

    async def poll(self) -> None:
        """Polls the engine now and carries out what is due.

        The host does so by itself when the engine has a deadline.
        """
        if not self._is_closed:
            await self._perform(self.stack.poll())

    def context(self, session_id: str) -> Context | None:
        """Returns the present context of a session; None if it has none."""
        if self._is_closed:
            return None
        self.stack.refresh()
        context = self.stack.session_context(session_id)
        self._schedule()
        return context

    async def tool(self, session_id: str, name: str, arguments: Mapping[str, Any] | str | None = None) -> HostAnswer:
        """Executes a tool call and waits for its answer. The answer explains a failure.

        `arguments` can also be their JSON text, as model APIs deliver it.

        If the waiting task is cancelled, the engine learns that no caller waits any more.
        """
        try:
            if self._is_closed:
                raise ClosedError("the host was closed")
            answer = self.stack.tool(session_id, _request(name, arguments))
            if "call" in answer:
                later = await self._answered(answer["call"], answer["effects"])
                text, title, ended = later["text"], later["title"], later["ended"]
            else:
                await self._perform(answer["effects"])
                text, title, ended = answer.get("text", ""), answer["title"], answer["ended"]
            return {"text": text, "title": title, "ended": ended, "isError": answer["isError"]}
        except Exception as error:
            text = f"{name}: {_message_of(error)}"
            return {"text": text, "title": text, "ended": [], "isError": True}

    async def close(self) -> None:
        """Stops the timer and the work in the background, and closes the stack.

        Tool calls that still wait fail.
        """
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ClosedError("the host was closed before the answer came"))
        self._waiting.clear()
        current = asyncio.current_task()
        others = [task for task in self._tasks if task is not current]
        for task in others:
            task.cancel()
        try:
            if others:
                await asyncio.wait(others)
        finally:
            # Also if the wait was cancelled: close may not be called again.
            self.stack.close()

    async def __aenter__(self) -> Host:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _attempt(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await _uncancelled(work())
        except Exception as error:
            self._log("error", f"{name} failed: {_message_of(error)}")

    def _log(self, level: HostLogLevel, message: str, data: dict[str, Any] | None = None) -> None:
        try:
            self._actions.log(level, message, data or {})
        except Exception as error:
            context = {"message": f"the log of the host failed for: {message}", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)

    async def _answered(self, call: int, effects: list[Effect]) -> EffectAnswer:
        waiting = self._waiting[call] = asyncio.get_running_loop().create_future()
        try:
            await self._perform(effects)
            return await waiting
        except asyncio.CancelledError:
            if not self._is_closed:
                self.background("abort", lambda: self.report({"kind": "callAborted", "call": call}))
            raise
        finally:
            self._waiting.pop(call, None)

    def _deliver(self, answer: EffectAnswer) -> None:
        """Answers the tool call that waits for a call. Does nothing if none waits."""
        waiting = self._waiting.pop(answer["call"], None)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    async def _perform(self, effects: list[Effect], take_prompt: TakePrompt | None = None) -> None:
        self._schedule()
        if effects:
            # In a task of its own: if the caller is cancelled, it must continue, because an effect may answer
            # a tool call.
            await asyncio.wait([self.background("effects", lambda: self._carry_out(effects, take_prompt))])

    async def _carry_out(self, effects: list[Effect], take_prompt: TakePrompt | None) -> None:
        # Also a failure of one effect must not keep the others from being carried out.
        for effect in effects:
            await self._attempt(effect["kind"], self._work_of(effect, take_prompt))

    def _work_of(self, effect: Effect, take_prompt: TakePrompt | None) -> Callable[[], Coroutine[Any, Any, None]]:
        async def work() -> None:
            if effect["kind"] == "log":
                self._log(effect["level"], effect["message"], effect["data"])
            elif effect["kind"] == "describeSession":
                await self._describe(effect["sessionID"])
            elif effect["kind"] == "readMessages":
                session_id = effect["sessionID"]
                messages = list(await self._actions.messages(session_id))
                await self.report({"kind": "sessionMessages", "sessionID": session_id, "messages": messages})
            elif effect["kind"] == "createSession":
                await self._create(effect)
            elif effect["kind"] == "prompt":
                # The prompt lasts until the child has finished. An event tells the engine about the end.
                self.background("prompt", lambda: self._prompt(effect))
            elif effect["kind"] == "answer":
                self._deliver(effect)
            elif effect["kind"] == "abortSession":
                await self._actions.abort(effect["sessionID"])
            elif effect["kind"] == "compactSession":
                self._compact(effect["sessionID"])
            elif effect["kind"] == "compactionPrompt" and take_prompt is not None:
                take_prompt(effect["text"])

        return work

    async def _describe(self, session_id: str) -> None:
        session = await self._actions.describe_session(session_id)
        if session is None:
            await self.report({"kind": "sessionDeleted", "sessionID": session_id})
        else:
            # The library takes None for an absent parent, although the generated type of the event does not
            # say so.
            await self.report({"kind": "sessionCreated", "sessionID": session_id, **session})  # type: ignore[typeddict-item]

    async def _create(self, effect: EffectCreateSession) -> None:
        try:
            session_id = await _uncancelled(self._actions.create_session(effect["parentID"], effect["title"]))
            await self.report({"kind": "callStarted", "call": effect["call"], "sessionID": session_id})
        except Exception as error:
            await self._end(effect["call"], _message_of(error))

    async def _prompt(self, effect: EffectPrompt) -> None:
        session_id = effect["sessionID"]
        # A host can report the end of a compaction before the session is free.
        compaction = self._compactions.get(session_id)
        if compaction is not None:
            await compaction
        problem = None
        try:
            await _uncancelled(self._actions.prompt(session_id, effect["text"], effect["callerID"]))
        except Exception as error:
            problem = _message_of(error)
        await self._end(effect["call"], problem)

    async def _end(self, call: int, problem: str | None) -> None:
        """Reports the end of a call.

        If the engine cannot record it, the tool call that waits gets the reason.
        """
        event: HostEventCallEnded = {"kind": "callEnded", "call": call}
        if problem is not None:
            event["error"] = problem
        try:
            await self.report(event)
        except Exception as error:
            ended = "The call has ended" if problem is None else f"The call has ended with an error: {problem}"
            text = f"{ended}. It could not be recorded: {_message_of(error)}"
            self._deliver({"kind": "answer", "call": call, "text": text, "title": text, "ended": []})
            raise

    def _compact(self, session_id: str) -> None:
        """Starts a compaction. Only the next prompt of the session waits for it."""

        async def work() -> None:
            is_done = False
            try:
                is_done = await self._actions.compact(session_id)
            finally:
                if not is_done:
                    await self.report({"kind": "sessionCompacted", "sessionID": session_id, "messages": []})

        def forget(compaction: asyncio.Task[None]) -> None:
            if self._compactions.get(session_id) is compaction:
                del self._compactions[session_id]

        compaction = self._compactions[session_id] = self.background("compaction", work)
        compaction.add_done_callback(forget)

    def _schedule(self) -> None:
        """Sets the timer for the next poll of the engine.

        A poll before the deadline is harmless and sets it again.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = None if self._is_closed else self.stack.deadline()
        if deadline is not None:
            # Event loops refuse or shorten longer delays than a day, depending on the version.
            delay = min(max(0.0, deadline / 1000 - time.time()), 86_400.0)
            self._timer = asyncio.get_running_loop().call_later(delay, self._poll_later)

    def _poll_later(self) -> None:
        if not self._is_closed:
            self.background("poll", self._poll_again)

    async def _poll_again(self) -> None:
        try:
            await self.poll()
        except Exception:
            # A full disk, for example. The next poll may succeed, and a time limit must not be forgotten.
            if not self._is_closed:
                self._timer = asyncio.get_running_loop().call_later(_AFTER_FAILURE, self._poll_later)
            raise


async def _uncancelled(work: Awaitable[_Result]) -> _Result:
    """Waits for work of the host.

    If it ends as cancelled although the task that waits was not cancelled, it has failed.
    """
    try:
        return await work
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or not hasattr(task, "cancelling") or task.cancelling() > 0:
            raise
        raise RuntimeError("it was cancelled") from None


def _message_of(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _request(name: str, arguments: Mapping[str, Any] | str | None) -> ToolRequest:
    """A tool call for the library."""
    if arguments is None or isinstance(arguments, str):
        return {"name": name, "arguments": arguments or ""}
    return {"name": name, "arguments": dict(arguments)}
