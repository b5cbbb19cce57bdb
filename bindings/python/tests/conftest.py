"""What several tests use."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from callstack_core import Stack

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]


@pytest.fixture
def stack() -> Iterator[Stack]:
    """A stack in memory, with a root of the session ses_1."""
    with Stack.in_memory({"history": True}) as stack:
        stack.push({"title": "Build a shop", "sessionID": "ses_1"})
        yield stack


@pytest.fixture
def run_python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program in another interpreter, in the test's folder. It fails the test if the program fails."""

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        head = f"import sys; sys.path.insert(0, {str(PACKAGE / 'src')!r})\nfrom callstack_core import Stack\n"
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", head + program, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run
