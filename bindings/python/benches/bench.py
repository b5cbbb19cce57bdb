"""Measures calls through this package and prints the same calls in pure Rust beside them, on the same tree."""

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

PACKAGE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PACKAGE / "src"))


def measure(calls: int, call: Callable[[int], object]) -> tuple[float, float]:
    """Returns the median time of a call, and the time that one of a thousand exceeds, in microseconds."""
    times = []
    for number in range(calls):
        began = time.perf_counter_ns()
        call(number)
        times.append((time.perf_counter_ns() - began) / 1000)
    return statistics.median(times), sorted(times)[calls * 999 // 1000]


def main() -> None:
    began = time.perf_counter()
    from callstack_core import Stack

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

    def uncached(_: int) -> None:
        stack.clear_cache()
        stack.context(frame)

    # Creating files is slow on some file systems: CALLSTACK_BENCH_FOLDER sets another folder.
    with tempfile.TemporaryDirectory(dir=os.environ.get("CALLSTACK_BENCH_FOLDER")) as name:
        folder = Path(name)
        command = ["cargo", "bench", "--quiet", "--bench", "binding", "--", str(folder)]
        rust = json.loads(subprocess.run(command, cwd=PACKAGE.parents[1], check=True, stdout=subprocess.PIPE).stdout)
        stack = Stack.from_state((folder / "state.json").read_text())
        frame = stack.handles()[-1]
        characters = len(stack.context(frame).xml)
        memory = Stack.in_memory()
        bare = Stack.open(folder / "bare", {"mirror": False})
        mirrored = Stack.open(folder / "mirrored")
        rows = [
            ("context, from the cache", measure(50_000, lambda _: stack.context(frame)), rust["cached"]),
            ("context, not cached", measure(20_000, uncached), rust["cold"]),
            ("the record of a frame", measure(50_000, lambda _: stack.frame(frame)), rust["frame"]),
            ("push in memory", measure(10_000, push(memory)), rust["pushMemory"]),
            ("push on SQLite, no mirror", measure(2_000, push(bare)), rust["pushSqlite"]),
            ("push on SQLite with the mirror", measure(2_000, push(mirrored)), rust["pushMirrored"]),
        ]
        for opened in (stack, memory, bare, mirrored):
            opened.close()
    print(f"63 frames; the context has {characters} characters of XML; loading the package took {loaded * 1000:.0f} ms")
    print(f"{'µs':32} {'CPython ' + platform.python_version():>16} {'99.9 %':>10} {'Rust':>10}")
    for name, (median, high), pure in rows:
        print(f"{name:32} {median:16.1f} {high:10.1f} {pure:10.1f}")


if __name__ == "__main__":
    main()
