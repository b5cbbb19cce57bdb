"""Forked and spawned processes that work with the stack of one folder."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from callstack_core import Stack, errors

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
Run = Callable[..., subprocess.CompletedProcess[str]]
METHODS = ["fork", "forkserver", "spawn"]
inherited: Stack | None = None


def push(folder: Path, worker: int, count: int = 10) -> int:
    """What a worker does: its own stack on the folder."""
    with Stack.open(folder) as stack:
        for number in range(count):
            handle = stack.push({"title": f"{worker}.{number}", "sessionID": f"w{worker}.{number}", "parent": "root"})
            stack.pop(handle, {"status": "completed", "results": "Done"})
    return worker


def use_inherited(_: int) -> tuple[str, str]:
    """What a forked worker must not do: use the stack of its parent."""
    assert inherited is not None
    try:
        inherited.push({"title": "Wrong"})
    except errors.ForkedError as error:
        return error.code, str(error)
    return "", ""


def in_child(work: Callable[[], None]) -> int:
    """Forks, does the work in the child, and returns its exit status."""
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(BaseException):
            work()
            status = 0
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("method", METHODS)
def test_workers_of_every_kind_share_a_folder(method: str, tmp_path: Path) -> None:
    with Stack.open(tmp_path) as stack:
        stack.push({"title": "Root", "sessionID": "root"})
        context: Any = multiprocessing.get_context(method)
        workers = [context.Process(target=push, args=(tmp_path, worker)) for worker in range(3)]
        for worker in workers:
            worker.start()
        for number in range(10):
            stack.push({"title": f"Parent's {number}", "parent": "root"})
        for worker in workers:
            worker.join(60)
            assert worker.exitcode == 0
        stack.refresh()
        assert len(stack.handles({"relation": "children", "frame": "root"})) == 40


@pytest.mark.parametrize("method", METHODS)
def test_executors_work_and_their_errors_arrive(method: str, tmp_path: Path) -> None:
    with Stack.open(tmp_path) as stack:
        stack.push({"title": "Root", "sessionID": "root"})
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
            assert list(pool.map(push, [tmp_path] * 3, range(3))) == [0, 1, 2]
            with pytest.raises(errors.DuplicateIdError) as raised:
                pool.submit(push, tmp_path, 0).result()
        assert raised.value.details["sessionID"] == "w0.0"
        assert len(stack.frames({"status": "completed"})) == 0
        stack.refresh()
        assert len(stack.frames({"status": "completed"})) == 30


def test_a_child_may_not_use_the_stack_of_its_parent(tmp_path: Path) -> None:
    global inherited
    inherited = stack = Stack.open(tmp_path)
    try:
        with multiprocessing.get_context("fork").Pool(1) as pool:
            ((code, message),) = pool.map(use_inherited, [1])
        assert (code, message) == (
            "forked",
            "this stack was opened before fork; open the stack again in the child",
        )
    finally:
        inherited = None
    # Nor does it close it, by itself or at its end.
    stack.push({"title": "Root"})
    assert in_child(stack.close) == 0
    assert stack.push({"title": "Cart"}) == "f2"
    stack.close()


def test_what_a_child_inherits_is_not_freed_at_its_end(run_python: Run, tmp_path: Path) -> None:
    program = """
import os, sys
stack = Stack.open("stack")
stack.push({"title": "Root"})
child = os.fork()
if child == 0:
    del stack
    sys.exit(0)   # the finalizers run
assert os.waitpid(child, 0)[1] == 0
stack.push({"title": "After"})
"""
    run_python(program)
    with Stack.open(tmp_path / "stack") as stack:
        assert len(stack.handles()) == 2


def test_a_child_works_on_when_its_parent_has_closed_and_others_come_and_go(tmp_path: Path) -> None:
    """Nothing that SQLite remembers of the parent's files lets a third process take the child's for unused."""
    stack = Stack.open(tmp_path)
    stack.push({"title": "Root", "sessionID": "root"})
    children = []
    for worker in range(2):
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                push_until_told(tmp_path, worker)
                os._exit(0)
            os._exit(1)
        children.append(child)
    stack.close()
    # Each is a process of its own that opens the database again, and closes it.
    source = str(Path(__file__).resolve().parents[1] / "src")
    program = "import sys; sys.path.insert(0, sys.argv[1]); from callstack_core import Stack\n"
    program += "for _ in range(10):\n  with Stack.open(sys.argv[2]) as s: s.add_decision('root', 'x'); s.flush()"
    others = [subprocess.Popen([sys.executable, "-c", program, source, str(tmp_path)]) for _ in range(2)]
    try:
        assert [other.wait(60) for other in others] == [0, 0]
    finally:
        (tmp_path / "end").touch()
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    with Stack.open(tmp_path) as stack:
        assert (
            len(stack.handles({"relation": "children", "frame": "root"}))
            == sum(int((tmp_path / f"count{worker}").read_text()) for worker in range(2))
            > 50
        )
        assert len(stack.frame("root")["decisions"]) == 20


def test_a_fork_waits_for_the_calls_of_other_threads(tmp_path: Path) -> None:
    """Without that, the child inherits locks of the library that no thread opens, and hangs."""
    with Stack.open(tmp_path, {"mirror": False}) as stack:
        stack.push({"title": "Root", "sessionID": "root"})
        done = threading.Event()

        def work() -> None:
            while not done.is_set():
                stack.push({"title": "Thread's", "parent": "root"})
                Stack.in_memory().close()

        def child() -> None:
            signal.alarm(20)
            Stack.in_memory().close()
            with Stack.open(tmp_path, {"mirror": False}) as own:
                own.add_decision("root", f"by {os.getpid()}")

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            assert [in_child(child) for _ in range(8)] == [0] * 8
        finally:
            done.set()
            for thread in threads:
                thread.join()
        stack.refresh()
        assert len(stack.frame("root")["decisions"]) == 8


def test_children_of_children_and_forks_of_several_threads_work(tmp_path: Path) -> None:
    with Stack.open(tmp_path) as stack:
        stack.push({"title": "Root", "sessionID": "root"})

        def grandchild() -> None:
            push(tmp_path, os.getpid(), 3)

        def child() -> None:
            with Stack.open(tmp_path) as own:
                own.add_decision("root", "child")
                assert in_child(grandchild) == 0
                own.refresh()
                assert own.frame("root")["decisions"]

        statuses: list[int] = []
        threads = [threading.Thread(target=lambda: statuses.append(in_child(child))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [0] * 3
        stack.refresh()
        assert len(stack.handles({"relation": "children", "frame": "root"})) == 9


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_worker_loses_nothing_that_was_acknowledged(method: str, tmp_path: Path) -> None:
    with Stack.open(tmp_path / "stack") as stack:
        stack.push({"title": "Root", "sessionID": "root"})
        context: Any = multiprocessing.get_context(method)
        for attempt in range(2):
            log = tmp_path / f"acknowledged-{method}-{attempt}"
            log.touch()
            worker = context.Process(target=push_until_killed, args=(tmp_path / "stack", attempt, log))
            worker.start()
            limit = time.monotonic() + 60
            while log.stat().st_size < 200:
                assert worker.is_alive() and time.monotonic() < limit
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGKILL)
            worker.join()
            assert worker.exitcode == -signal.SIGKILL
            acknowledged = [
                json.loads(line) for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")
            ]
            assert stack.push({"title": f"After {attempt}", "parent": "root"})
            titles = {frame["handle"]: frame["title"] for frame in stack.frames()}
            assert acknowledged and all(titles[handle] == title for handle, title in acknowledged)


def push_until_told(folder: Path, worker: int) -> None:
    """Pushes frames until the file `end` is there, and writes their number down."""
    count = 0
    with Stack.open(folder) as stack:
        while not (folder / "end").exists():
            stack.push({"title": f"{worker}.{count}", "parent": "root"})
            count += 1
            time.sleep(0.002)
    (folder / f"count{worker}").write_text(str(count))


def push_until_killed(folder: Path, attempt: int, log: Path) -> None:
    """Writes each acknowledged frame down, after the acknowledgement."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND)
    stack = Stack.open(folder)
    for number in range(1_000_000):
        title = f"{attempt}.{number}"
        handle = stack.push({"title": title, "parent": "root"})
        os.write(file, (json.dumps([handle, title]) + "\n").encode())
