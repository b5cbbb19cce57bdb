"""The calls that are in the native library at a moment.

A stack must not be freed while a call uses it, and a process must not fork while a call is in the library:
the child would inherit its locks, and no thread that opens them. So each call says when it begins and ends.
Calls do not wait for each other here; only a close waits for the calls with its stack, and a fork for all
calls.

Finalizers and signal handlers call this code at any point of it, in the same thread. So it uses only
operations that cannot be interrupted, and locks that their own thread may take again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import RLock, get_ident

running: dict[object, tuple[object, int]] = {}
"""The calls that run: for each token the owner (a stack, or None) and the thread. Adding and removing is
atomic: a call ends by removing its own token, and then announces it."""

_waiting: list[SimpleQueue[None]] = []
"""A queue for each thread that waits for the end of calls."""

_forking: int | None = None
"""The thread that forks now. Others do not begin calls until it has forked."""

_fork_lock = RLock()
"""Held while a thread forks."""


def begin(token: object, owner: object) -> None:
    """Adds a call.

    The caller must then look whether the owner is closed, because a close does these in reverse order.
    """
    thread = get_ident()
    running[token] = (owner, thread)
    if _forking is not None:
        _wait_for_fork(token, owner, thread)


def _wait_for_fork(token: object, owner: object, thread: int) -> None:
    # A signal handler or a finalizer that has interrupted a call of its thread must not wait: the fork waits
    # for that call.
    is_inside = any(other == thread for key, (_, other) in running.copy().items() if key is not token)
    while _forking is not None and _forking != thread and not is_inside:
        running.pop(token)
        announce_end()
        with _fork_lock:
            pass
        running[token] = (owner, thread)


def announce_end() -> None:
    """Wakes those who wait for the end of calls, after a call was removed from `running`."""
    if _waiting:
        for queue in _waiting.copy():
            queue.put(None)


def runs_here(owner: object) -> bool:
    """Whether this thread is in a call of the owner.

    That is so if it asks from a signal handler that has interrupted the call.
    """
    return (owner, get_ident()) in running.copy().values()


def is_running(owner: object) -> bool:
    """Whether any thread is in a call of the owner."""
    return any(other is owner for other, _ in running.copy().values())


def wait_for_end(owner: object) -> None:
    """Waits until no thread is in a call of the owner."""
    _wait_while(lambda: is_running(owner))


def _wait_while(is_busy: Callable[[], bool]) -> None:
    ends: SimpleQueue[None] = SimpleQueue()
    _waiting.append(ends)
    try:
        while is_busy():
            # An interrupt from the keyboard can keep a thread from announcing an end.
            with suppress(Empty):
                ends.get(timeout=0.1)
    finally:
        _waiting.remove(ends)


def _before_fork() -> None:
    global _forking
    _fork_lock.acquire()
    _forking = thread = get_ident()
    # A call of this thread is not in the library: a signal handler has interrupted it, and forks.
    _wait_while(lambda: any(other != thread for _, other in running.copy().values()))


def _after_fork_in_parent() -> None:
    global _forking
    _forking = None
    _fork_lock.release()


def _after_fork_in_child() -> None:
    # Of all threads only this one exists here, so what other threads waited for and locked is made again.
    global _forking, _fork_lock
    running.clear()
    _waiting.clear()
    _forking, _fork_lock = None, RLock()


if sys.platform != "win32":
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
