"""The package against the C header."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import generate
import pytest

from callstack_core import _library, _native, errors, host, stack, types
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
    sources = "".join(path.read_text(encoding="utf-8") for path in (PACKAGE / "src/callstack_core").glob("*.py"))
    used = {name for name in functions if f"callstack_{name}" in sources.replace('("', '("callstack_')}
    # `named_tools` includes `tools`; the name of an error is its code.
    assert functions - used <= {"tools", "error_code"} and len(functions) > 60


def test_every_kind_of_event_is_declared() -> None:
    kinds = re.search(r"- `\"kind\"`: only events of this kind: (.*?);", HEADER, re.DOTALL)
    assert kinds is not None
    assert set(re.findall(r"`(\w+)`", kinds[1])) == set(types.EventKind.__args__)  # type: ignore[attr-defined]


@pytest.mark.parametrize("module", [stack, host])
def test_every_public_method_is_documented(module: object) -> None:
    for _, kind in inspect.getmembers(module, inspect.isclass):
        for name, method in vars(kind).items():
            if not name.startswith("_") and callable(method):
                assert inspect.getdoc(method), f"{kind.__name__}.{name}"
