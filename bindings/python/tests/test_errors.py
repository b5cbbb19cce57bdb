"""Errors: classes, codes, messages and details."""

from __future__ import annotations

import copy
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from callstack_core import CallstackError, Stack, _handle, errors
from callstack_core._library import find


def test_an_error_has_a_class_a_code_a_message_and_details(stack: Stack) -> None:
    with pytest.raises(errors.UnknownFrameError) as raised:
        stack.activate("f9")
    error = raised.value
    assert error.code == "unknown_frame" and error.details["reference"] == "f9" and "f9" in str(error)
    assert isinstance(error, CallstackError) and not isinstance(error, errors.StorageError)


@pytest.mark.parametrize("code", ["busy", "code_of_a_later_version"])
def test_errors_are_copied_whole(code: str) -> None:
    error = errors.error_of(code, "took too long", {"waited": 12})
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(same) is type(error)
        assert (same.code, str(same), same.details) == (code, "took too long", {"waited": 12})


def test_the_base_of_an_error_is_the_class_that_its_number_in_the_header_has() -> None:
    header = (Path(__file__).parents[3] / "include" / "callstack.h").read_text()
    numbers = {name.lower(): int(number) for name, number in re.findall(r"#define CALLSTACK_ERROR_(\w+) (\d+)", header)}
    assert len(numbers) > 40
    bases: list[type[CallstackError] | None] = [None, errors.RefusedError, errors.UsageError, errors.PassingError]
    bases += [errors.StorageError, errors.DamagedError, errors.BrokenError]
    for code, number in numbers.items():
        error, base = errors.error_of(code, "", {}), bases[number // 100]
        assert error.code == code and type(error) is not CallstackError, code
        assert [kind for kind in bases if kind and isinstance(error, kind)] == ([base] if base else []), code


def test_storage_errors_have_a_class_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(errors.StorageError) as raised:
        Stack.open(tmp_path / "file")
    assert raised.value.code in {"io", "damaged"}
    (tmp_path / "stack.db").write_text("not a database, but long enough to look like a file of some other program" * 9)
    with pytest.raises(errors.DamagedError):
        Stack.open(tmp_path)
    with pytest.raises(errors.EmptyError):
        Stack.open("")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_path_that_is_not_utf8_is_refused(stack: Stack, tmp_path: Path) -> None:
    history = stack.export_history()
    for path in (os.fsencode(tmp_path) + b"/real\xe8", f"{tmp_path}/real\udce8"):
        with pytest.raises(errors.Utf8Error):
            Stack.open(path)  # type: ignore[arg-type]
        with pytest.raises(errors.Utf8Error):
            Stack.rebuild(path, history)  # type: ignore[arg-type]
        with pytest.raises(errors.Utf8Error):
            stack.export_files(path)  # type: ignore[arg-type]
        with pytest.raises(errors.Utf8Error):
            stack.set_log_path("f1", path)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_closed_stack_says_so(stack: Stack) -> None:
    stack.close()
    stack.close()
    for call in (stack.info, lambda: stack.push({"title": "Cart"}), lambda: stack.context("f1"), stack.refresh):
        with pytest.raises(errors.ClosedError, match="open it again"):
            call()


def test_a_missing_library_is_named_with_all_places(
    run_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    program = """
import os
from callstack_core.errors import LibraryError
for path, words in (("missing.so", "CALLSTACK_LIBRARY: missing.so"), (__import__("sys").argv[1], "cannot be loaded")):
    os.environ["CALLSTACK_LIBRARY"] = path
    try:
        Stack.in_memory()
    except LibraryError as error:
        assert words in str(error), error
        assert error.code == "library" and error.details
    else:
        raise AssertionError("loaded")
del os.environ["CALLSTACK_LIBRARY"]
Stack.in_memory().close()
"""
    (tmp_path / "text.so").write_text("not a library")
    run_python(program, str(tmp_path / "text.so"))


def test_a_library_is_the_named_file_and_not_another_one_of_that_name(
    run_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """The system's loader looks for a name without a slash in its own folders."""
    shutil.copy(find(), tmp_path / "mine.so")
    program = """
import os
os.environ["CALLSTACK_LIBRARY"] = "mine.so"
Stack.in_memory().close()
assert "/mine.so" in open("/proc/self/maps").read()
"""
    run_python(program if sys.platform == "linux" else program.replace("assert", "# "))


def test_a_library_without_a_function_says_which() -> None:
    with pytest.raises(errors.LibraryError, match="has no function callstack_of_tomorrow; install a newer one"):
        _handle.text("callstack_of_tomorrow")
