"""The wheel of this machine, installed into an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

from callstack_core import _library
from conftest import ROOT

USE = """
import pathlib, sys
import callstack_core
from callstack_core import Stack, _library

assert pathlib.Path(sys.prefix) in _library.find().parents, _library.find()
with Stack.open("stack") as stack:
    shop = stack.push({"title": "Build a shop"})
    stack.pop(shop, {"status": "completed", "results": "The shop is open"})
with Stack.open("stack") as stack:
    print(stack.frame(shop)["results"])
"""

TYPED = """
from callstack_core import Stack

with Stack.in_memory() as stack:
    reveal_type(stack.push({"title": "Typed"}))
    stack.push({"titel": "Typo"})
"""


def output(*command: str | Path, folder: Path, status: int = 0) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in {"CALLSTACK_LIBRARY", "PYTHONPATH"}}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_an_installed_wheel_has_its_library_and_its_types(tmp_path: Path) -> None:
    host = output(sys.executable, "-c", "from release.platforms import host; print(host().name)", folder=ROOT).strip()
    wheel = output(sys.executable, "-m", "release.wheels", host, _library.find(), tmp_path / "wheels", folder=ROOT)
    venv.create(tmp_path / "python", with_pip=True)
    python = next(
        path for name in ("bin/python", "Scripts/python.exe") if (path := tmp_path / "python" / name).exists()
    )
    output(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel.strip(), folder=tmp_path)
    assert output(python, "-c", USE, folder=tmp_path) == "The shop is open\n"
    (tmp_path / "typed.py").write_text(TYPED)
    found = output(
        sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "typed.py", folder=tmp_path, status=1
    )
    assert 'Revealed type is "str"' in found and 'Extra key "titel"' in found, found
    assert "Found 1 error" in found or "Found 2 errors" in found, found
