"""Measures calls through this package and the same calls in pure Rust, on the same tree.

Prints a table; with --json the figures in microseconds, for scripts/figures.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

PACKAGE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PACKAGE / "src"))

ROUNDS = 21
"""The number of rounds. The median is that of the rounds."""

BATCH = 50
"""The number of frames whose contexts are made in one call."""

NAMES = {
    "cached": "context, from the cache",
    "batch": f"the same, {BATCH} in one call, for each",
    "changed": "a decision, and the context after it",
    "cold": "context, when nothing is rendered yet",
    "frame": "the record of a frame",
    "pushMemory": "push in memory",
    "pushSqlite": "push on SQLite, no mirror",
    "pushMirrored": "push on SQLite with the mirror",
}


class Times(TypedDict):
    """The median time of a call, and the time that one of a thousand exceeds, in microseconds."""

    median: float
    late: float


def measure(calls: int, call: Callable[[int], object]) -> Times:
    """Measures rounds of calls, and then as many calls each by itself."""
    now = time.perf_counter_ns
    rounds = []
    for round_number in range(ROUNDS):
        began = now()
        for number in range(round_number * calls, (round_number + 1) * calls):
            call(number)
        rounds.append((now() - began) / 1000 / calls)
    single = []
    for number in range(ROUNDS * calls, (ROUNDS + 1) * calls):
        began = now()
        call(number)
        single.append((now() - began) / 1000)
    return {"median": statistics.median(rounds), "late": sorted(single)[calls * 999 // 1000]}


def each(of_all: Times, count: int) -> Times:
    """The times of one of several things that a call does."""
    return {"median": of_all["median"] / count, "late": of_all["late"] / count}


def main() -> None:
    began = time.perf_counter()
    from callstack_core import Context, Stack

    Stack.in_memory().close()
    loaded = time.perf_counter() - began

    def push(stack: Stack) -> Callable[[int], object]:
        stack.push({"title": "Root", "sessionID": "root", "parent": None})
        return lambda number: stack.push(
            {
                "title": "Parse the configuration",
                "sessionID": f"ses_new_{number:016}",
                "successCriteria": "All options of the file are read, unknown ones are reported with their line",
                "successCriteriaCompacted": "All options read, unknown ones reported",
                "parent": "root",
            }
        )

    def read(context: Context) -> int:
        """Reads what hosts with a prompt cache read."""
        return len(context.stable) + len(context.volatile)

    def contexts(_: int) -> object:
        """Makes contexts in one call. Earlier versions, which are measured too, have no function for that."""
        if hasattr(stack, "contexts"):
            return [read(context) for context in stack.contexts(batch)]
        return [read(stack.context(frame)) for frame in batch]

    def cold(_: int) -> None:
        stack.clear_cache()
        read(stack.context(frame))

    def changed(number: int) -> None:
        changing.add_decision(frame, f"Decision {number % 20}")
        read(changing.context(frame))

    # Creating files is slow on some file systems: CALLSTACK_BENCH_FOLDER sets another folder.
    with tempfile.TemporaryDirectory(dir=os.environ.get("CALLSTACK_BENCH_FOLDER")) as name:
        folder = Path(name)
        command = ["cargo", "bench", "--quiet", "--bench", "binding", "--", str(folder)]
        rust = json.loads(subprocess.run(command, cwd=PACKAGE.parents[1], check=True, stdout=subprocess.PIPE).stdout)
        state = (folder / "state.json").read_text()
        stack, changing = Stack.from_state(state), Stack.from_state(state)
        frame = stack.handles()[-1]
        context = stack.context(frame)
        batch = [frame] * BATCH
        memory = Stack.in_memory()
        bare = Stack.open(folder / "bare", {"mirror": False})
        mirrored = Stack.open(folder / "mirrored", {"mirror": "withCommands"})
        here = {
            "cached": measure(10_000, lambda _: read(stack.context(frame))),
            "batch": each(measure(1_000, contexts), BATCH),
            "changed": measure(1_000, changed),
            "cold": measure(1_000, cold),
            "frame": measure(10_000, lambda _: stack.frame(frame)),
            "pushMemory": measure(1_000, push(memory)),
            "pushSqlite": measure(100, push(bare)),
            "pushMirrored": measure(100, push(mirrored)),
        }
        for opened in (stack, changing, memory, bare, mirrored):
            opened.close()
    runtime = f"{platform.python_implementation()} {platform.python_version()}"
    if "--json" in sys.argv:
        size = len(context.xml.encode())
        print(json.dumps({"runtime": runtime, "bytes": size, "names": NAMES, "here": here, "rust": rust}))
        return
    print(
        f"63 frames; the context has {len(context.xml)} characters of XML; loading the package took {loaded * 1000:.0f} ms"
    )
    print(f"{'µs':38} {runtime:>16} {'99.9 %':>10} {'Rust':>10}")
    for key, times in here.items():
        print(f"{NAMES[key]:38} {times['median']:16.2f} {times['late']:10.2f} {rust[key]['median']:10.2f}")


if __name__ == "__main__":
    main()
