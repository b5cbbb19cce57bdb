"""A host with sessions: events, effects and tools; and the class that carries effects out."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from types import MappingProxyType
from typing import Any

import pytest

from callstack_core import Host, Stack, errors, host as host_module
from callstack_core.host import HostLogLevel, SessionDescription
from callstack_core.types import Effect, SessionMessage

TASK = {"title": "Cart 🛒", "successCriteria": "Totals", "successCriteriaCompacted": "totals"}


@pytest.fixture
def shop() -> Iterator[Stack]:
    with Stack.in_memory({"history": True}) as stack:
        assert stack.configure({"calls": {"maxDepth": 1}, "autonomy": {"level": "manual"}}) == []
        stack.report({"kind": "sessionCreated", "sessionID": "ses_1", "title": "Shop"})
        stack.report({"kind": "message", "sessionID": "ses_1", "messageID": "m1", "role": "user", "text": "A shop"})
        yield stack


def test_a_push_runs_in_its_own_session_and_its_results_answer_it(shop: Stack) -> None:
    answer = shop.tool("ses_1", {"name": "stack_frame_push", "arguments": TASK})
    assert "text" not in answer and not answer["isError"]
    call = answer["call"]
    assert {"kind": "createSession", "call": call, "parentID": "ses_1", "title": "Cart 🛒"} in answer["effects"]
    effects = shop.report({"kind": "callStarted", "call": call, "sessionID": "ses_2"})
    (prompt,) = [effect for effect in effects if effect["kind"] == "prompt"]
    assert "frame f2: Cart 🛒" in prompt["text"]
    refused = shop.tool("ses_2", {"name": "stack_frame_push", "arguments": TASK})
    assert refused["isError"] and "the maximum depth is 1" in refused["text"]
    results = {"status": "completed", "results": "It adds up", "resultsCompacted": "adds up"}
    shop.tool("ses_2", {"name": "stack_frame_pop", "arguments": results})
    effects = shop.report({"kind": "callEnded", "call": call})
    (ended,) = [effect for effect in effects if effect["kind"] == "answer"]
    assert ended["text"].startswith("f2 (Cart 🛒) is completed.\nResults: It adds up\n")


def test_the_arguments_of_a_tool_can_be_a_json_text_or_any_mapping(shop: Stack) -> None:
    text = '{"title": "Mail", "successCriteria": "Sent"}'
    pushed = shop.tool("ses_1", {"name": "stack_frame_push", "arguments": text})
    assert not pushed["isError"]
    mapping = MappingProxyType({"rootID": "f1"})
    assert not shop.tool("ses_1", {"name": "stack_tree", "arguments": mapping})["isError"]
    for broken in ("{", '{"title": 5}', "[]", ""):
        refused = shop.tool("ses_1", {"name": "stack_frame_push", "arguments": broken})
        assert refused["isError"] and "struct" not in refused["text"], refused


def test_a_conversation_goes_through_frames_and_back_to_where_a_person_sets_it(shop: Stack) -> None:
    assert shop.configure({"calls": {"in": "conversation"}}) == []
    assert (shop.place("ses_1"), shop.place("nobody")) == ("f1", None)
    answer = shop.tool("ses_1", {"name": "stack_frame_push", "arguments": TASK})
    assert answer["text"].endswith("\nYou are in f2 (Cart 🛒).")
    shop.report({"kind": "sessionSetBack", "sessionID": "ses_1", "answers": [answer["text"]]})
    assert shop.place("ses_1") == "f2"
    shop.report({"kind": "sessionSetBack", "sessionID": "ses_1", "answers": []})
    assert (shop.place("ses_1"), shop.frame("f2")["status"]) == ("f1", "blocked")


def test_a_session_has_a_context_in_two_parts_or_none(shop: Stack) -> None:
    context = shop.session_context("ses_1")
    assert context is not None
    assert context.stable.startswith("<stack-context>") and "Shop" in context.volatile
    assert shop.session_context("nobody") is None
    assert shop.deadline() is not None
    assert [effect["message"] for effect in shop.poll() if effect["kind"] == "log"] == ["Context generated"]


def test_a_host_offers_the_standard_tools_all_or_those_of_a_list(shop: Stack) -> None:
    every = [tool["name"] for tool in Stack.all_tools()]
    assert len(every) > len(shop.tools()) > 5
    assert shop.configure({"tools": ["stack_heap_alloc", "stack_tree"]}) == []
    assert [tool["name"] for tool in shop.tools()] == ["stack_tree", "stack_heap_alloc"]
    assert shop.configure({"tools": "all"}) == []
    assert [tool["name"] for tool in shop.tools()] == every
    assert "unknown tool `posh`" in shop.configure({"tools": ["posh"]})[0]
    unnamed = "".join(tool["description"] for tool in Stack.all_tools({"names": "none"}))
    assert "stack_" not in unnamed
    prefixed = "".join(tool["description"] for tool in Stack.all_tools({"names": {"prefix": "mcp__callstack__"}}))
    assert "mcp__callstack__stack_heap_free" in prefixed
    with pytest.raises(errors.SettingError) as raised:
        Stack.all_tools({"names": {"push": ""}})
    assert raised.value.details["name"] == "tools.push"
    with pytest.raises(errors.JsonError):
        shop.report({"kind": "sessionCrated"})  # type: ignore[arg-type]


class Actions:
    """Sessions that push a frame, or end with a result, or fail."""

    def __init__(self) -> None:
        self.lines: list[tuple[HostLogLevel, str]] = []
        self.prompts: list[tuple[str, str]] = []
        self.aborted: list[str] = []
        self.work: Callable[[str], Coroutine[Any, Any, None]] | None = None
        self.sessions = 1

    def log(self, level: HostLogLevel, message: str, data: dict[str, Any]) -> None:
        self.lines.append((level, message))

    async def create_session(self, parent_id: str, title: str) -> str:
        if title == "No session":
            raise RuntimeError("there is no room")
        self.sessions += 1
        return f"ses_{self.sessions}"

    async def describe_session(self, session_id: str) -> SessionDescription | None:
        return {"title": f"Described {session_id}"} if session_id == "ses_9" else None

    async def messages(self, session_id: str) -> list[SessionMessage]:
        return [{"id": "m1", "role": "user", "text": f"Read from {session_id}"}]

    async def prompt(self, session_id: str, text: str, caller_id: str) -> None:
        self.prompts.append((session_id, caller_id))
        if self.work is not None:
            await self.work(session_id)

    async def abort(self, session_id: str) -> None:
        self.aborted.append(session_id)

    async def compact(self, session_id: str) -> bool:
        return False


def hosted(test: Callable[[Host, Actions], Coroutine[Any, Any, None]], stack: Stack | None = None) -> None:
    """Runs a test with a host that has the session ses_1."""

    async def run() -> None:
        actions = Actions()
        async with Host(stack or Stack.in_memory(), actions) as host:
            host.configure({"autonomy": {"level": "manual"}})
            await host.report({"kind": "sessionCreated", "sessionID": "ses_1", "title": "Shop"})
            await host.report(
                {"kind": "message", "sessionID": "ses_1", "messageID": "m1", "role": "user", "text": "A shop"}
            )
            await asyncio.wait_for(test(host, actions), 30)

    asyncio.run(run())


def test_a_host_runs_frames_in_sessions_and_answers_the_callers() -> None:
    async def test(host: Host, actions: Actions) -> None:
        async def work(session: str) -> None:
            results = {"status": "completed", "results": f"Done in {session}", "resultsCompacted": "done"}
            assert not (await host.tool(session, "stack_frame_pop", results))["isError"]

        actions.work = work
        answers = await asyncio.gather(*(host.tool("ses_1", "stack_frame_push", TASK) for _ in range(3)))
        assert [answer["isError"] for answer in answers] == [False] * 3
        assert all("Done in ses_" in answer["text"] for answer in answers)
        assert sorted(actions.prompts) == [("ses_2", "ses_1"), ("ses_3", "ses_1"), ("ses_4", "ses_1")]
        context = host.context("ses_1")
        assert context is not None and "Shop" in context.volatile

    hosted(test)


def test_failures_of_a_host_are_answers() -> None:
    async def test(host: Host, actions: Actions) -> None:
        async def work(_: str) -> None:
            raise RuntimeError("the model is away")

        actions.work = work
        assert "the model is away" in (await host.tool("ses_1", "stack_frame_push", TASK))["text"]
        none = TASK | {"title": "No session"}
        assert "there is no room" in (await host.tool("ses_1", "stack_frame_push", none))["text"]
        unknown = await host.tool("ses_1", "stack_posh")
        assert unknown["isError"] and "there is no such tool" in unknown["text"]
        assert (await host.tool("ses_1", "stack_frame_push", {"title": {1}}))["isError"]

    hosted(test)


def test_a_cancelled_tool_call_aborts_its_session() -> None:
    async def test(host: Host, actions: Actions) -> None:
        prompted, aborted = asyncio.Event(), asyncio.Event()

        async def work(_: str) -> None:
            prompted.set()
            await aborted.wait()

        async def abort(session_id: str) -> None:
            actions.aborted.append(session_id)
            aborted.set()

        actions.work, actions.abort = work, abort  # type: ignore[method-assign]
        call = asyncio.create_task(host.tool("ses_1", "stack_frame_push", TASK))
        await prompted.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await aborted.wait()
        assert actions.aborted == ["ses_2"]

    hosted(test)


def test_a_cancelled_report_and_a_log_that_fails_keep_no_effect_back() -> None:
    async def test(host: Host, actions: Actions) -> None:
        describing, described = asyncio.Event(), asyncio.Event()
        describe = actions.describe_session
        failures: list[str] = []

        async def describe_slowly(session_id: str) -> SessionDescription | None:
            describing.set()
            await described.wait()
            return await describe(session_id)

        def log(level: HostLogLevel, message: str, data: dict[str, Any]) -> None:
            raise OSError("the disk of the log is full")

        actions.describe_session, actions.log = describe_slowly, log  # type: ignore[method-assign]
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context["message"]))
        message = {"kind": "message", "sessionID": "ses_9", "messageID": "m1", "role": "user", "text": "Hello"}
        report = asyncio.create_task(host.report(message))  # type: ignore[arg-type]
        await describing.wait()
        report.cancel()
        with pytest.raises(asyncio.CancelledError):
            await report
        described.set()
        while "Described ses_9" not in host.stack.outline():
            await asyncio.sleep(0.01)
        assert host.configure({"tools": ["posh"]}) and "unknown tool `posh`" in failures[-1]
        assert not (await host.tool("ses_1", "stack_tree"))["isError"]

    hosted(test)


def test_a_close_that_is_cancelled_or_repeated_closes_the_stack() -> None:
    async def test(host: Host, actions: Actions) -> None:
        prompted = asyncio.Event()

        async def work(_: str) -> None:
            prompted.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.3)

        actions.work = work
        call = asyncio.create_task(host.tool("ses_1", "stack_frame_push", TASK))
        await prompted.wait()
        close = asyncio.create_task(host.close())
        await asyncio.sleep(0)
        late = await host.tool("ses_1", "stack_frame_push", TASK)
        assert late["isError"] and "the host was closed" in late["text"]
        close.cancel()
        with pytest.raises(asyncio.CancelledError):
            await close
        with pytest.raises(errors.ClosedError):
            host.stack.info()
        await host.close()
        assert (await call)["isError"]

    hosted(test)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="older versions do not tell who has cancelled")
@pytest.mark.parametrize("action", ["create_session", "prompt"])
def test_an_action_that_ends_as_cancelled_has_failed(action: str) -> None:
    async def test(host: Host, actions: Actions) -> None:
        async def cancelled(*_: str) -> str:
            raise asyncio.CancelledError

        setattr(actions, action, cancelled)
        assert "it was cancelled" in (await host.tool("ses_1", "stack_frame_push", TASK))["text"]

    hosted(test)


def test_a_poll_that_fails_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(host: Host, actions: Actions) -> None:
        polls = 0
        poll = Stack.poll

        def failing(stack: Stack) -> list[Effect]:
            nonlocal polls
            polls += 1
            if polls == 1:
                raise errors.DiskFullError("the disk is full")
            return poll(stack)

        with monkeypatch.context() as patched:
            patched.setattr(Stack, "poll", failing)
            patched.setattr(host_module, "_AFTER_FAILURE", 0.01)
            host.configure({"calls": {"timeLimit": 50}})
            actions.work = lambda _: asyncio.Event().wait()  # type: ignore[assignment,return-value]
            answer = await host.tool("ses_1", "stack_frame_push", TASK)
            assert polls > 1 and "time limit" in answer["text"], answer

    hosted(test)


def test_a_host_polls_by_itself_and_describes_sessions_that_it_does_not_know() -> None:
    async def test(host: Host, actions: Actions) -> None:
        host.configure({"subagents": {"idleCompletionDelay": 20, "minDuration": 0, "minMessageCount": 0}})
        await host.report({"kind": "sessionCreated", "sessionID": "ses_2", "parentID": "ses_1", "title": "subagent"})
        await host.report(
            {"kind": "message", "sessionID": "ses_2", "messageID": "m1", "role": "assistant", "text": "Found it"}
        )
        await host.report({"kind": "sessionIdle", "sessionID": "ses_2"})
        while host.stack.frame("ses_2")["status"] != "completed":
            await asyncio.sleep(0.01)
        for session in ("ses_8", "ses_9"):
            await host.report(
                {"kind": "message", "sessionID": session, "messageID": "m1", "role": "user", "text": "Hello"}
            )
        assert "Described ses_9" in host.stack.outline()

    hosted(test)


def test_a_closed_host_answers_what_still_waits() -> None:
    async def test(host: Host, actions: Actions) -> None:
        prompted = asyncio.Event()

        async def work(_: str) -> None:
            prompted.set()
            await asyncio.Event().wait()

        actions.work = work
        call = asyncio.create_task(host.tool("ses_1", "stack_frame_push", TASK))
        await prompted.wait()
        await host.close()
        await host.close()
        answer = await call
        assert answer["isError"] and "the host was closed" in answer["text"]
        await host.report({"kind": "sessionIdle", "sessionID": "ses_1"})
        await host.poll()
        assert host.context("ses_1") is None

    hosted(test)
