"""Frames, queries, contexts, logs and histories."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callstack_core import Stack, errors
from callstack_core.types import NewFrame, Settings


def test_frames_are_pushed_planned_activated_and_popped(stack: Stack) -> None:
    cart = stack.push({"title": "Shopping cart", "parent": "f1"})
    assert (cart, stack.active()) == ("f2", "f2")
    pay, mail = stack.plan_children(
        "f1", [{"title": "Pay", "sessionID": "pay"}, {"title": "Send mail", "dependsOn": ["pay"]}]
    )
    assert stack.handles({"relation": "ready"}) == [pay]
    popped = stack.pop(
        cart, {"status": "completed", "results": "Totals in src/cart.py", "resultsCompacted": "cart.py: total()"}
    )
    assert popped == {"handle": "f2", "parent": "f1", "active": "f1", "stillOpen": [], "stillPlanned": []}
    stack.activate("Pay")
    assert stack.frame(pay)["status"] == "in_progress"
    assert stack.invalidate(mail, "No mail needed")["invalidated"] == [mail]
    assert stack.handles({"relation": "children", "frame": "f1"}) == [cart, pay, mail]
    assert stack.handles({"relation": "siblings", "frame": pay}) == [cart, mail]
    assert stack.handles({"relation": "ancestors", "frame": pay}) == ["f1"]
    assert stack.handles({"status": "completed"}) == [cart]
    assert stack.handles({"relation": "subtree", "frame": "f1"}) == ["f1", cart, pay, mail]
    assert [frame["title"] for frame in stack.frames({"status": "invalidated"})] == ["Send mail"]


def test_a_person_reopens_and_takes_back(stack: Stack) -> None:
    person = stack.as_actor({"kind": "person", "name": "Ann"})
    cart = person.plan({"title": "Cart", "parent": "f1", "task": "Sum up the prices", "priority": 1})
    mail = stack.plan({"title": "Mail", "parent": "f1", "dependsOn": [cart]})
    assert stack.frame(cart)["task"] == "Sum up the prices" and stack.frame(cart)["priority"] == 1
    person.activate(cart)
    person.pop(cart, {"status": "completed", "results": "Totals without taxes"})
    assert stack.handles({"relation": "ready"}) == [mail]
    reopened = person.reopen(cart, "taxes are missing")
    assert (reopened["handle"], stack.frame(cart)["status"]) == (cart, "in_progress")
    assert stack.handles({"relation": "ready"}) == []
    assert person.undo()["command"] == "reopen"
    assert stack.frame(cart)["status"] == "completed"
    with pytest.raises(errors.NothingToUndoError):
        stack.as_actor({"kind": "person", "name": "Bob"}).undo()
    with pytest.raises(errors.TransitionError):
        stack.reopen(mail, "it has never begun")


def test_what_can_go_on_goes_on_leaf_first() -> None:
    with Stack.in_memory() as stack:
        shop = stack.push({"title": "Shop"})
        cart = stack.push({"title": "Cart", "parent": shop})
        for frame in (shop, cart):
            stack.block(frame, {"question": "Shall I continue?"})
            stack.answer(frame, "Yes.")
        resumption = stack.resumption()
        assert (resumption["now"], resumption["later"]) == ([cart], [shop])
        assert stack.resumption([shop])["now"] == [shop]
        with pytest.raises(errors.UnknownFrameError):
            stack.resumption(["f999"])
        assert stack.note_interruptions() == []


def test_limits_and_costs_are_those_of_the_tree(stack: Stack) -> None:
    stack.set_limits("f1", {"maxCostMicroUsd": 100_000, "maxTurns": 40, "tools": ["Read"]})
    cart = stack.push({"title": "Cart", "parent": "f1"})
    stack.record_usage(cart, {"model": "small", "output": 5})
    stack.record_cost(cart, {"conversation": "ses_cart", "costMicroUsd": 60_000})
    assert stack.usage("f1")["totalCostMicroUsd"] == 60_000
    allowance = stack.allowance(cart)
    assert (allowance["maxCostMicroUsd"], allowance["maxTurns"], allowance["tools"]) == (40_000, 40, ["Read"])
    assert stack.overspent(cart) is None
    stack.record_cost(cart, {"conversation": "ses_cart", "costMicroUsd": 110_000})
    overspent = stack.overspent(cart)
    assert overspent is not None and overspent["frame"] == "f1" and "0.1 US dollars" in overspent["reason"]
    with pytest.raises(errors.ToolsExceedError):
        stack.set_limits(cart, {"tools": ["Bash"]})
    with pytest.raises(errors.SettingError):
        stack.set_limits(cart, {"maxTokens": 0})


def test_histories_are_compacted_and_old_logs_removed(tmp_path: Path) -> None:
    with Stack.open(tmp_path, {"mirror": False, "finishedFrames": 0}) as stack:
        done = stack.push({"title": "Done", "sessionID": "ses_1"})
        stack.append_log(done, ["a line"])
        stack.pop(done, {"status": "completed", "results": "Works"})
        assert stack.compact_history({"before": 1})["trees"] == 0
        compaction = stack.compact_history({"before": 2**53 - 1})
        assert compaction["trees"] == 1
        assert compaction["events"] > 2
        assert stack.prune_logs({"bytes": 0}) == {"files": 1, "bytes": 9, "left": 0}
        assert stack.frame(done)["results"] == "Works"
    with Stack.in_memory() as memory, pytest.raises(errors.InMemoryError):
        memory.compact_history({"before": 1})


def test_planned_frames_are_edited_and_their_order_changes(stack: Stack) -> None:
    first, second = stack.plan_children("f1", [{"title": "First"}, {"title": "Second"}])
    stack.edit(second, {"title": "Before", "before": first})
    assert stack.handles({"relation": "children", "frame": "f1"}) == [second, first]
    assert stack.frame(second)["title"] == "Before"
    third = stack.plan({"title": "Third", "parent": None})
    assert stack.handles({"relation": "roots"}) == ["f1", third]


def test_blocked_frames_are_answered_stopped_and_retried(stack: Stack) -> None:
    tax = stack.push({"title": "Tax", "parent": "f1"})
    stack.block(tax, {"question": "Which rate? The user knows", "results": "Totals work"})
    stack.answer(tax, "20 %")
    question = stack.frame(tax)["questions"][0]
    assert (question["question"], question["answer"]) == ("Which rate? The user knows", "20 %")
    stack.resume(tax)
    assert stack.frame(tax)["status"] == "in_progress"
    stack.pop(tax, {"status": "failed", "results": "The table is out of date"})
    again = stack.retry(tax, "Take the rates from the office's site")
    assert again["attempt"] == 2
    assert "out of date" in stack.context(again["handle"]).xml
    assert stack.stop("f1", "The user is away") == stack.stop_all("The user is away") == []
    assert stack.handles({"relation": "interrupted"}) == []


def test_workers_hold_frames_and_old_holds_are_refused(stack: Stack) -> None:
    plan = stack.plan({"title": "Plan", "parent": None})
    cart = stack.plan({"title": "Cart", "parent": plan})
    first = stack.hold({"name": "one", "lease": 60_000, "below": plan})
    assert first is not None
    assert (first["handle"], first["name"], first["generation"]) == (cart, "one", 1)
    assert stack.hold({"name": "two", "lease": 60_000, "below": plan}) is None
    assert stack.renew(first, {"lease": 90_000})["until"] > first["until"]
    stack.release(first)
    second = stack.hold({"name": "two", "lease": 60_000, "frame": cart})
    assert second is not None
    with stack.as_actor(first) as late, pytest.raises(errors.HoldLostError) as lost:
        late.pop(cart, {"status": "completed", "results": "done"})
    assert (lost.value.details["generation"], lost.value.details["refused"]) == (2, 1)
    with stack.as_actor(second) as worker:
        worker.add_artifact(cart, "cart.py")
    part = stack.plan({"title": "Part", "parent": cart})
    assert stack.finish(second, {"end": "done", "results": "half"})["status"] == "in_progress"
    assert stack.frame(cart)["results"] == "half"
    stack.invalidate(part, "no time")
    with pytest.raises(errors.HoldLostError):
        stack.finish(first, {"end": "failed", "results": "no"})
    # The frame was put back for its part: the worker can hold it again when its wait of a second is over.
    with pytest.raises(errors.NotFreeError):
        stack.finish(second, {"end": "done", "results": "again"})
    for _ in range(500):
        if (again := stack.hold({"name": "two", "lease": 60_000, "below": plan})) is not None:
            break
        time.sleep(0.02)
    assert again is not None
    done = stack.finish(again, {"end": "done", "results": "done in full", "resultsCompacted": "done"})
    assert done == {"status": "completed"}
    assert stack.standing(again) == {"kind": "ended", "status": "completed"}
    with pytest.raises(errors.HoldLostError):
        stack.standing(first)
    mail = stack.plan({"title": "Mail", "parent": None})
    third = stack.hold({"name": "three", "lease": 60_000, "frame": mail})
    assert third is not None
    with stack.as_actor({"kind": "conversation", "name": "codex/1"}) as other, pytest.raises(errors.HeldError) as held:
        other.pop(mail, {"status": "completed", "results": "done"})
    assert held.value.details["by"] == "worker `three`"
    assert stack.finish(third, {"end": "failed", "results": "no"})["status"] == "failed"
    assert (stack.frame(cart)["results"], stack.frame(cart)["resultsCompacted"]) == ("done in full", "done")
    left = {"free": 0, "held": 0, "later": 0, "waiting": 0, "begun": 0, "blocked": 0, "assigned": 0}
    assert stack.work_left(plan) == left
    with pytest.raises(errors.NotFreeError):
        stack.renew(again, {"lease": 60_000})
    for lease in (0, 10**12):
        with pytest.raises(errors.SettingError):
            stack.hold({"name": "one", "lease": lease})
        with pytest.raises(errors.SettingError):
            stack.renew(third, {"lease": lease})
    with pytest.raises(errors.JsonError, match="`lease`: invalid value: integer `-1`"):
        stack.hold({"name": "one", "lease": -1})


def test_placeholders_are_identified(stack: Stack) -> None:
    handle = stack.ensure("ses_2", {"parent": "ses_1"})
    assert stack.ensure("ses_2") == handle
    assert stack.frame(handle)["title"] == "Session ses_2"
    stack.identify(handle, {"title": "Payment", "successCriteria": "Cards work"})
    frame = stack.frame(handle)
    assert (frame["title"], frame["successCriteria"]) == ("Payment", "Cards work")
    with pytest.raises(errors.IdentityFixedError):
        stack.identify(handle, {"title": "Other"})
    stack.replace_id(handle, "ses_3")
    assert stack.resolve("ses_3") == handle


def test_what_frames_produce_is_recorded(stack: Stack) -> None:
    assert stack.add_artifact("f1", "src/cart.py")
    assert not stack.add_artifact("f1", "src/cart.py")
    stack.add_decision("f1", "Totals are in cents")
    stack.summarize("f1", {"results": "The cart works", "resultsCompacted": "cart"})
    frame = stack.frame("f1")
    assert (frame["artifacts"], frame["decisions"]) == (["src/cart.py"], ["Totals are in cents"])
    assert (frame["results"], frame["resultsCompacted"]) == ("The cart works", "cart")
    stack.record_usage("f1", {"model": "opus", "uncachedInput": 100, "output": 20})
    assert stack.usage("f1")["total"][0]["output"] == 20
    child = stack.push({"title": "Child"})
    stack.set_active("f1")
    assert stack.active() == "f1"
    stack.pop(child, {"status": "completed", "results": "Done"})
    stack.deliver(child)
    stack.forget("f1")
    assert "deliveredAt" in stack.frame(child)


def test_a_context_has_two_parts_and_a_report(stack: Stack) -> None:
    settings: Settings = {"budget": {"total": 2000}, "guidance": "none"}
    context = stack.context("ses_1", settings)
    assert context.xml.startswith("<stack-context")
    assert "Build a shop" in context.volatile
    assert context.stable and context.stable not in context.volatile
    report = stack.context_report("ses_1", settings)
    assert context.tokens == report["tokens"] <= 2000
    assert report["entries"][0]["section"] == "current-frame"
    assert repr(context).startswith("Context(xml=")
    hits = stack.info()["cache"]["hits"]
    stack.context("ses_1", settings)
    assert stack.info()["cache"]["hits"] == hits + 1
    stack.clear_cache("ses_1")
    stack.clear_cache()
    with pytest.raises(errors.BudgetTooSmallError) as raised:
        stack.context("f1", {"budget": {"total": 20}})
    assert raised.value.details["needed"] > 20 and raised.value.details["unit"] == "tokens"


def test_default_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACK_TOKEN_BUDGET_TOTAL", "1234")
    assert Stack.settings()["budget"]["total"] == 1234
    monkeypatch.setenv("STACK_TOKEN_BUDGET_TOTAL", "many")
    with pytest.warns(UserWarning, match="STACK_TOKEN_BUDGET_TOTAL"):
        assert Stack.settings()["budget"]["total"] == 4000


def test_texts_come_back_unchanged(stack: Stack) -> None:
    text = "a\0b 🛒 é \u2028 \"'\\ <&>" + "x" * 100_000
    stack.push({"title": "Texts", "sessionID": "texts"})
    stack.add_decision("texts", text)
    assert stack.frame("texts")["decisions"] == [text]
    stack.add_decision("texts", "one \ud83d alone")
    stack.allocate_chunk("texts", {"name": "chunk", "content": "\ude00 \ud83d\ude00"})
    assert stack.frame("texts")["decisions"][1] == "one \ufffd alone"
    assert stack.chunks("texts")[0]["chunk"]["content"] == "\ufffd 😀"


def test_chunks_and_registers_are_shown_to_the_frames_below(stack: Stack) -> None:
    stack.allocate_chunk("f1", {"name": "schema", "content": "id, total"})
    stack.write_chunk("f1", {"name": "schema", "content": "id, total, tax"})
    stack.update_registers("f1", {"R0_GOAL": "A shop"})
    below = stack.push({"title": "Below"})
    (seen,) = stack.chunks(below)
    assert (seen["handle"], seen["chunk"]["content"]) == ("f1", "id, total, tax")
    assert "id, total, tax" in stack.context(below).xml
    assert stack.frame("f1")["registers"] == {"R0_GOAL": "A shop"}
    stack.free_chunk(below, "schema")
    with pytest.raises(errors.UnknownChunkError):
        stack.free_chunk(below, "schema")


def test_a_run_asks_and_ends(stack: Stack) -> None:
    names = {tool["name"] for tool in Stack.all_tools({"memory": {"memory": "registers"}})}
    default = {tool["name"] for tool in Stack.all_tools({"memory": {}})}
    assert {"push_frame", "pop_frame"} <= names > default
    assert len(Stack.all_tools({"memory": {"sharedResults": False}})) == len(default) - 1
    run = stack.start_run({"task": "Tidy up", "settings": {"memory": "registers"}})
    step = stack.advance_run(run)
    assert step["next"] == "ask" and "Tidy up" in step["messages"][-1]["text"]
    stack.run_reply(run, {"calls": [{"id": "call_1", "name": "look", "arguments": "{}"}]})
    step = stack.advance_run(run)
    assert step["next"] == "call" and step["name"] == "look"
    stack.run_answer(run, {"call": "call_1", "answer": "all is tidy", "isError": False})
    stack.run_tell(run, "Then end")
    with pytest.raises(errors.OutOfTurnError):
        stack.run_answer(run, {"call": "call_1", "answer": "again"})
    pop = {"id": "call_2", "name": "pop_frame", "arguments": '{"result": "Nothing to do"}'}
    stack.run_reply(run, {"text": "Done", "calls": [pop]})  # type: ignore[list-item]
    step = stack.advance_run(run)
    assert step["next"] == "over" and step["results"] == "Nothing to do"
    assert stack.runs() == [run] and stack.run_status(run)["steps"] == 2


def test_plans_are_imported(stack: Stack) -> None:
    imported = stack.import_plan('{"id": "bd-1", "title": "Login", "status": "open"}\n')
    assert stack.frame(imported["handles"][0])["title"] == "Issues" and imported["problems"] == []
    with pytest.raises(errors.JsonError):
        stack.import_plan("{")


def test_a_state_and_a_history_make_the_same_stack(stack: Stack, tmp_path: Path) -> None:
    stack.push({"title": "Cart", "sessionID": "cart"})
    with Stack.from_state(stack.state()) as same:
        assert same.outline() == stack.outline()
    with Stack.from_state(json.dumps(stack.state()), {"counter": "chars4"}) as same:
        assert same.frames() == stack.frames()
    with Stack.rebuild(tmp_path / "rebuilt", stack.export_history(), {"mirror": False}) as same:
        assert same.history() == stack.history()
        added = same.history({"since": 1, "kind": "added"})[0]
        assert added["kind"] == "added" and added["frame"]["title"] == "Cart"
    stack.export_files(tmp_path / "files")
    with Stack.open(tmp_path / "files") as same:
        assert same.handles() == ["f1", "f2"]
    with pytest.raises(errors.NotEmptyError):
        stack.export_files(tmp_path / "rebuilt")


def test_a_stack_in_a_folder_is_there_again(tmp_path: Path) -> None:
    with Stack.open(str(tmp_path), {"durability": "full", "busyTimeout": 2000}) as stack:
        stack.push({"title": "Kept", "sessionID": "kept"})
        stack.append_log("kept", [{"role": "user", "text": "Hello"}, 2])
        with Stack.open(tmp_path) as other:
            assert not other.refresh()
            stack.add_decision("kept", "Totals are in cents")
            assert other.refresh()
            assert other.frame("kept")["decisions"] == ["Totals are in cents"]
        stack.flush()
    with Stack.open(tmp_path) as stack:
        page = stack.read_log("kept", {"tail": 1})
        assert (page["total"], page["lines"]) == (2, [{"number": 2, "entry": 2}])
        stack.set_log_path("kept", tmp_path / "other.jsonl")
        assert stack.frame("kept")["logPath"] == str(tmp_path / "other.jsonl")
        assert "Kept" in stack.outline({"style": "indented", "root": "f1"})


def test_wrong_arguments_are_refused_and_change_nothing(stack: Stack) -> None:
    stack.ensure("ses_2")
    needed: list[Callable[[Any], object]] = [
        lambda none: stack.stop("f1", none),
        lambda none: stack.pop(none, {"status": "completed", "results": "Done"}),
        lambda none: stack.free_chunk("f1", none),
        stack.activate,
    ]
    for call in needed:
        with pytest.raises(TypeError, match="expected a text, got NoneType None"):
            call(None)
    records: list[Callable[[Any], object]] = [
        lambda none: stack.pop("f1", {"status": "completed", "results": none}),
        lambda none: stack.pop("f1", none),
        lambda none: stack.block("f1", {"question": none}),
        lambda none: stack.write_chunk("f1", {"name": "notes", "content": none}),
    ]
    for call in records:
        with pytest.raises(errors.JsonError, match="null"):
            call(None)
    with pytest.raises(TypeError, match="plan_children: expected a list, got one dict"):
        stack.plan_children("f1", {"title": "Cart"})  # type: ignore[arg-type]
    with pytest.raises(errors.JsonError, match="`planned`, expected one of `completed`, `failed`, `blocked`"):
        stack.pop("f1", {"status": "planned", "results": "Later"})  # type: ignore[typeddict-item]
    before = stack.info()["revision"]
    wrong: NewFrame = {"title": "Cart", "sucessCriteria": "typo"}  # type: ignore[typeddict-unknown-key]
    with pytest.raises(errors.JsonError, match="sucessCriteria"):
        stack.push(wrong)
    with pytest.raises(errors.JsonError, match="`done`, expected one of `completed`"):
        stack.pop("f1", {"status": "done", "results": "It is"})  # type: ignore[typeddict-item]
    for wrong_frame in (1.5, 1, True):
        with pytest.raises(TypeError, match=r"activate: expected a text, got (float 1.5|int 1|bool True)"):
            stack.activate(wrong_frame)  # type: ignore[arg-type]
    with pytest.raises(errors.JsonError, match="set is not JSON serializable"):
        stack.push({"title": {1, 2}})  # type: ignore[typeddict-item]
    circle: list[object] = []
    circle.append(circle)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for entry in (float("nan"), circle, deep):
        with pytest.raises(errors.JsonError, match="cannot be written as JSON: "):
            stack.append_log("f1", [entry])
    for no_list in ("abc", b"abc", {"role": "user"}):
        with pytest.raises(TypeError, match="append_log: expected a list, got one "):
            stack.append_log("f1", no_list)  # type: ignore[arg-type]
    with pytest.raises(errors.JsonError, match="missing field `title`"):
        stack.identify("ses_2", {})  # type: ignore[typeddict-item]
    with pytest.raises(errors.EmptyError):
        stack.identify("ses_2", {"title": " "})
    with pytest.raises(errors.JsonError, match="`titel`"):
        stack.identify("ses_2", {"titel": "Shop"})  # type: ignore[typeddict-item,typeddict-unknown-key]
    refused = (([1, 2], "a JSON object"), (5, "a JSON object"), ('"ab"', "the JSON object"), ("ab", "not valid JSON"))
    for arguments, problem in refused:
        answer = stack.tool("ses_1", {"name": "stack_tree", "arguments": arguments})
        assert answer["isError"] and problem in answer["text"], answer
    with pytest.raises(errors.NoRunError):
        stack.run_answer("f1", {"call": "call_1", "answer": "Done", "isError": True})
    with pytest.raises(errors.JsonError, match="isError"):
        stack.run_answer("f1", {"call": "call_1", "answer": "Done", "isError": 2**40})  # type: ignore[typeddict-item]
    with pytest.raises(TypeError, match=r"Stack\.open"):
        Stack()
    assert stack.info()["revision"] == before


def test_contexts_of_several_frames_come_in_one_call(stack: Stack) -> None:
    cart = stack.push({"title": "Cart", "parent": "ses_1"})
    both = stack.contexts([cart, "ses_1"], {"guidance": "none"})
    assert both == [stack.context(frame, {"guidance": "none"}) for frame in (cart, "ses_1")]
    assert stack.contexts([]) == []
    with pytest.raises(errors.UnknownFrameError):
        stack.contexts([cart, "nothing"])
    with pytest.raises(errors.JsonError):
        stack.contexts([cart], {"budgets": {}})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a list, got one str"):
        stack.contexts(cart)
    with pytest.raises(TypeError, match="expected a text, got int 1"):
        stack.contexts([1])  # type: ignore[list-item]


def test_a_context_stays_readable_and_shows_what_was_there(stack: Stack) -> None:
    before = stack.context("ses_1")
    assert stack.context("ses_1") is before, "the library has it in its cache"
    stack.add_decision("ses_1", "Use Ĳssel ✓")
    now = stack.context("ses_1")
    assert now is not before and now != before and "Ĳssel ✓" in now.volatile
    copied = pickle.loads(pickle.dumps(now))
    assert copied == now and hash(copied) == hash(now) and copied.tokens == now.tokens
    many = [stack.context("ses_1", {"budget": {"total": 1000 + number}}) for number in range(50)]
    stack.close()
    assert "Ĳssel" not in before.xml and before.stable.startswith("<stack-context")
    assert all("Ĳssel" in context.xml for context in many)
