"""The examples of both READMEs and the programs of `examples` run, and pass mypy."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from callstack_core import Stack
from conftest import PACKAGE
from test_fold import REQUEST

README = (PACKAGE / "README.md").read_text(encoding="utf-8")
PROJECT = (PACKAGE.parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README + PROJECT, re.MULTILINE | re.DOTALL)
PROGRAMS = PACKAGE.parents[1] / "examples"


def run_program(name: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a program of `examples` with the package of this source tree."""
    program = f"import runpy, sys; sys.path.insert(0, {str(PACKAGE / 'src')!r}); sys.argv = sys.argv[1:]\n"
    program += "runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", program, str(PROGRAMS / name / f"{name}.py"), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)


def test_the_worker_does_a_plan(tmp_path: Path) -> None:
    command = ["sh", "-c", "grep -c Shop; echo it is there"]
    with Stack.open(tmp_path / "stack") as stack:
        plan = stack.plan({"title": "Shop", "parent": None, "successCriteria": "It sells"})
        cart, _ = stack.plan_children(plan, [{"title": "Cart"}, {"title": "Mail", "dependsOn": ["Cart"]}])
        done = run_program("worker", str(tmp_path / "stack"), *command)
        assert done.returncode == 0, done.stderr
        stack.refresh()
        assert not any(stack.work_left().values())
        assert stack.frame(cart)["results"].endswith("\nit is there")


def test_the_agent_keeps_what_it_has_counted() -> None:
    done = run_program("agent")
    assert done.stdout.endswith("\ncompleted: The sum is 42.\n"), done


def test_the_host_folds_the_frame_that_has_ended() -> None:
    done = run_program("host")
    assert "[x] f2 Count the orders" in done.stdout, done
    requests = [(int(sent), int(all_)) for sent, all_ in re.findall(r"(\d+) of (\d+) bytes of messages", done.stdout)]
    (before, _), (after, whole) = requests[-2:]
    assert after < before and after < whole, requests


def test_the_program_folds_a_request_and_names_an_unknown_wire() -> None:
    done = run_program("fold", "chat", stdin=REQUEST)
    assert len(json.loads(done.stdout)["messages"]) == 3 and "f1 (completed): 3 items" in done.stderr, done
    refused = run_program("fold", "morse", stdin=REQUEST)
    assert (refused.returncode, refused.stdout) == (1, "") and "morse" in refused.stderr, refused


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
    programs = sorted(PROGRAMS.glob("*/*.py"))
    assert len(programs) >= 4
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", PACKAGE / "pyproject.toml", *files, *programs],
        cwd=PACKAGE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and len(files) >= 6, done.stdout + done.stderr


def test_the_table_of_methods_names_methods() -> None:
    table = README[README.index("| purpose | methods ") :].split("\n\n", 1)[0]
    rows = [row.split("|")[2] for row in table.splitlines()[2:]]
    shown = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(shown) > 50, shown
    assert [name for name in sorted(shown) if not hasattr(Stack, name)] == []
