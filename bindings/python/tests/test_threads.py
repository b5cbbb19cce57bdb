"""Threads, closing while others work, finalizers, signals, and the end of the interpreter."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from callstack_core import CallstackError, Stack, _calls, errors

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_threads_share_a_stack(where: str, tmp_path: Path) -> None:
    def work(thread: int) -> list[str]:
        made = []
        for number in range(25):
            handle = stack.push(
                {"title": f"Task {thread}.{number}", "sessionID": f"t{thread}.{number}", "parent": "root"}
            )
            assert f"Task {thread}.{number}" in stack.context(handle).xml
            stack.pop(handle, {"status": "completed", "results": "Done"})
            made.append(handle)
        return made

    with Stack.in_memory() if where == "memory" else Stack.open(tmp_path) as stack, ThreadPoolExecutor(4) as pool:
        stack.push({"title": "Root", "sessionID": "root"})
        made = [handle for handles in pool.map(work, range(4)) for handle in handles]
        assert sorted(made) == sorted(stack.handles({"relation": "children", "frame": "root"})) and len(made) == 100


def test_other_threads_run_while_a_call_waits(tmp_path: Path) -> None:
    """A call that waits for the lock of the disk does not hold the lock of the interpreter."""
    with Stack.open(tmp_path) as stack, (tmp_path / "stack.db-write").open("r+b") as lock:
        fcntl = pytest.importorskip("fcntl")
        fcntl.flock(lock, fcntl.LOCK_EX)
        with ThreadPoolExecutor(1) as pool:
            pushed = pool.submit(stack.push, {"title": "Waits"})
            while not _calls.is_running(stack._native):
                assert not pushed.done()
            # Only reached if this thread runs while the other one waits.
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert pushed.result() == "f1"


def test_a_stack_can_be_closed_while_threads_use_it(tmp_path: Path) -> None:
    for attempt in range(6):
        stack = Stack.open(tmp_path / str(attempt), {"mirror": False})
        stack.push({"title": "Root", "sessionID": "root"})
        begun = threading.Barrier(4)

        def work(stack: Stack = stack, begun: threading.Barrier = begun) -> int:
            acknowledged = 0
            begun.wait()
            try:
                while True:
                    stack.push({"title": "Task", "parent": "root"})
                    stack.context("root")
                    acknowledged += 1
            except errors.ClosedError:
                return acknowledged

        with ThreadPoolExecutor(3) as pool:
            counts = [pool.submit(work) for _ in range(3)]
            begun.wait()
            while len(stack.handles()) < 5:
                pass
            stack.close()
            acknowledged = sum(count.result() for count in counts)
        with Stack.open(tmp_path / str(attempt)) as again:
            made = again.handles({"relation": "children", "frame": "root"})
            assert acknowledged <= len(made) <= acknowledged + 3


def test_two_threads_can_close(tmp_path: Path) -> None:
    for attempt in range(6):
        stack = Stack.open(tmp_path / str(attempt))
        with ThreadPoolExecutor(4) as pool:
            for closed in [pool.submit(stack.close) for _ in range(4)]:
                closed.result()


def test_a_close_that_was_interrupted_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    stack = Stack.open(tmp_path)
    before = open_files()
    with monkeypatch.context() as patched:
        patched.setattr(_calls, "wait_for_end", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stack.close()
    with pytest.raises(errors.ClosedError):
        stack.push({"title": "Late"})
    assert open_files() == before
    stack.close()
    assert open_files() < before


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_handler_that_closes_the_stack_of_its_call_can_touch_it_again(run_python: Run) -> None:
    run_python(
        """
import faulthandler, signal, tempfile
from callstack_core import _calls, errors
faulthandler.dump_traceback_later(30, exit=True)
stack = Stack.open(tempfile.mkdtemp())
stack.push({"title": "Root"})
seen = []
def handle(*_):
    if not _calls.runs_here(stack._native):
        signal.setitimer(signal.ITIMER_REAL, 0.0007)
        return
    stack.close()
    try:
        stack.info()
    except errors.ClosedError:
        seen.append("closed")
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.001)
try:
    while True:
        stack.frames()
except errors.ClosedError:
    assert seen == ["closed"], seen
"""
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals and forks")
def test_a_handler_may_interrupt_a_call_while_another_thread_forks(run_python: Run) -> None:
    run_python(
        """
import faulthandler, os, signal, tempfile, threading, time
faulthandler.dump_traceback_later(40, exit=True)
stack = Stack.open(tempfile.mkdtemp())
stack.push({"title": "Root"})
end = time.time() + 4
def handle(*_):
    stack.active()
    if time.time() < end:
        signal.setitimer(signal.ITIMER_REAL, 0.002)
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.002)
forks = 0
def fork():
    global forks
    while time.time() < end:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        forks += 1
thread = threading.Thread(target=fork)
thread.start()
while time.time() < end:
    stack.frames()
    stack.outline()
thread.join()
assert forks > 10, forks
"""
    )


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files in /proc")
def test_a_forgotten_stack_is_closed(tmp_path: Path) -> None:
    Stack.open(tmp_path).close()
    before = open_files()
    stack = Stack.open(tmp_path)
    stack.push({"title": "Forgotten"})
    context = stack.context("f1")
    assert open_files() > before
    del stack
    gc.collect()
    assert open_files() == before
    assert context.xml.startswith("<stack-context") and "Forgotten" in context.volatile


def test_stacks_are_collected_while_threads_call() -> None:
    def work(number: int) -> None:
        for _ in range(30):
            stack = Stack.in_memory()
            stack.push({"title": "Root"})
            circle = [stack]
            circle.append(circle)  # type: ignore[arg-type]
            del stack, circle

    threshold = gc.get_threshold()
    gc.set_threshold(3, 2, 2)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
    finally:
        gc.set_threshold(*threshold)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_signal_handler_can_call_and_close(tmp_path: Path) -> None:
    """The handler runs between two steps of an interrupted call. It may not wait for the end of that call."""
    stack = Stack.open(tmp_path, {"mirror": False})
    seen = []

    def handle(*_: object) -> None:
        with contextlib.suppress(errors.ClosedError):
            seen.append(stack.active())
        if len(seen) == 20:
            stack.close()
        signal.setitimer(signal.ITIMER_REAL, 0.001)

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    acknowledged = 0
    try:
        with pytest.raises(errors.ClosedError):
            while True:
                stack.push({"title": "Task", "parent": None})
                acknowledged += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not _calls.is_running(stack._native)
    with Stack.open(tmp_path) as again:
        assert acknowledged <= len(again.handles()) <= acknowledged + 1


def test_the_interpreter_can_end_while_threads_call(run_python: Run, tmp_path: Path) -> None:
    program = """
import threading
stack = Stack.open("stack")
stack.ensure("root")
before = len(stack.handles())
def work():
    while True:
        try:
            stack.push({"title": "Task", "parent": "root"})
            stack.context("root")
        except Exception:
            return
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
while len(stack.handles()) < before + 20:
    pass
"""
    for _ in range(5):
        run_python(program)
    with Stack.open(tmp_path / "stack") as stack:
        assert len(stack.handles()) >= 101


def test_a_stack_that_no_caller_closes_is_written_at_the_end(run_python: Run, tmp_path: Path) -> None:
    run_python(
        'stack = Stack.open("stack"); stack.push({"title": "Root"}); stack.poll(); stack.push({"title": "Last"})'
    )
    assert "Last" in (tmp_path / "stack" / "state.json").read_text()


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="needs fork")
def test_finalizers_may_run_inside_of_the_accounting_of_calls() -> None:
    """A finalizer that calls the library runs at any point of this package's own code, in the same thread."""
    stack = Stack.in_memory()

    class Last:
        def __del__(self) -> None:
            stack.handles()

    threshold = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(200):
            circle: list[object] = [Last()]
            circle.append(circle)
            del circle
            stack.handles()
    finally:
        gc.set_threshold(*threshold)
    with pytest.raises(CallstackError):
        stack.frame("f1")
    stack.close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_an_interrupt_from_the_keyboard_leaves_no_call_behind(tmp_path: Path) -> None:
    """Else the next close or fork would wait for a call that has ended."""
    stack = Stack.open(tmp_path, {"mirror": False})

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for number in range(300):
            with contextlib.suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.0005 + number % 7 * 0.0001)
                while True:
                    stack.push({"title": "Task", "parent": None})
            assert not _calls.is_running(stack._native)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    stack.close()
    with Stack.open(tmp_path) as again:
        assert len(again.handles()) > 300
