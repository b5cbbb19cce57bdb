"""The package against the C header."""

from __future__ import annotations

import inspect
import re
import typing
from pathlib import Path

import generate
import pytest

from callstack_core import Stack, _library, _native, errors, host, stack, types
from conftest import PACKAGE

HEADER = generate.HEADER.read_text(encoding="utf-8")


def test_the_declarations_are_those_of_the_header(tmp_path: Path) -> None:
    generate.write(tmp_path / "_native.py")
    written = Path(_native.__file__).read_text(encoding="utf-8")
    assert (tmp_path / "_native.py").read_text(encoding="utf-8") == written, "run bindings/python/generate.py"
    assert f"#define CALLSTACK_ABI {_library.ABI}\n" in HEADER


def test_every_error_code_has_a_class() -> None:
    codes = {name.lower() for name in re.findall(r"#define CALLSTACK_ERROR_(\w+) ", HEADER)}
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if "code" in vars(kind)]
    classes: dict[str, type] = {vars(kind)["code"]: kind for kind in kinds}
    assert codes | {"closed", "forked", "library", "unknown"} == set(classes)
    for code in codes:
        name = "".join(part.capitalize() for part in code.split("_")) + "Error"
        assert classes[code].__name__ == name
        assert type(errors.error_of(code, "message", {})).__name__ == name


def test_every_function_of_the_header_is_used() -> None:
    functions = set(re.findall(r"^\S.*?\bcallstack_(\w+)\(", HEADER, re.MULTILINE))
    files = set((PACKAGE / "src/callstack_core").glob("*.py")) - {Path(_native.__file__)}
    sources = "".join(path.read_text(encoding="utf-8") for path in files)
    used = set(re.findall(r"""["'.]callstack_(\w+)""", sources))
    # The methods name their function without its prefix.
    used |= set(re.findall(r"""\._(?:run|text|record|flag|time|made)\("(\w+)\"""", sources))
    # The name of an error is its code. `callstack_view` is a helper for C, in the header itself.
    assert functions - used == {"error_code", "view"} and len(functions) > 60


def test_every_kind_of_event_is_declared() -> None:
    with Stack.in_memory({"history": True}) as opened, pytest.raises(errors.SettingError) as raised:
        opened.history({"kind": "none"})  # type: ignore[arg-type]
    kinds = set(re.findall(r"\w+", raised.value.details["expected"])) - {"or"}
    declared = re.findall(r"\bStackEvent\w+", str(types.StackEvent))
    hints = [typing.get_type_hints(getattr(types, name))["kind"] for name in declared]
    assert {word for hint in hints for word in typing.get_args(hint)} == kinds and len(kinds) > 30


@pytest.mark.parametrize("module", [stack, host])
def test_every_public_method_is_documented(module: object) -> None:
    for _, kind in inspect.getmembers(module, inspect.isclass):
        for name, method in inspect.getmembers(kind, callable):
            if not name.startswith("_"):
                assert inspect.getdoc(method), f"{kind.__name__}.{name}"
