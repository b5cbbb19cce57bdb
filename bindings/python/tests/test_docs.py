"""The examples of both READMEs and the worker of `examples` run, and pass mypy."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from callstack_core import Stack
from conftest import PACKAGE

README = (PACKAGE / "README.md").read_text(encoding="utf-8")
PROJECT = (PACKAGE.parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README + PROJECT, re.MULTILINE | re.DOTALL)


WORKER = PACKAGE.parents[1] / "examples" / "worker.py"


def test_the_worker_does_a_plan(tmp_path: Path) -> None:
    program = f"import runpy, sys; sys.path.insert(0, {str(PACKAGE / 'src')!r}); sys.argv = sys.argv[1:]\n"
    program += "runpy.run_path(sys.argv[0], run_name='__main__')"
    command = ["sh", "-c", "grep -c Shop; echo it is there"]
    with Stack.open(tmp_path / "stack") as stack:
        plan = stack.plan({"title": "Shop", "parent": None, "successCriteria": "It sells"})
        cart, _ = stack.plan_children(plan, [{"title": "Cart"}, {"title": "Mail", "dependsOn": ["Cart"]}])
        arguments = [sys.executable, "-c", program, str(WORKER), str(tmp_path / "stack"), *command]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        stack.refresh()
        assert not any(stack.work_left().values())
        assert stack.frame(cart)["results"].endswith("\nit is there")


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_example_runs(number: int, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(EXAMPLES[number], encoding="utf-8")
    program = f"import runpy, sys; sys.path.insert(0, {str(PACKAGE / 'src')!r}); sys.path.insert(0, '.')\n"
    program += "runpy.run_module('example', run_name='__main__', alter_sys=True)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0 and done.stdout, done.stderr


def test_the_examples_are_typed(tmp_path: Path) -> None:
    files = [tmp_path / f"example{number}.py" for number in range(len(EXAMPLES))]
    for file, example in zip(files, EXAMPLES, strict=True):
        file.write_text(example, encoding="utf-8")
    files.append(WORKER)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", PACKAGE / "pyproject.toml", *files],
        cwd=PACKAGE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and len(files) >= 7, done.stdout + done.stderr


def test_the_table_of_methods_is_complete() -> None:
    methods = {name for name in vars(Stack) if not name.startswith("_")}
    shown = set(re.findall(r"`(?:Stack\.|stack\.)?(\w+)(?:\(.*?\))?`", README)) | {"open", "in_memory", "context"}
    assert methods - shown - {"tools"} == set()
