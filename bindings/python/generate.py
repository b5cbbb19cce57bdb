"""Writes `_native.py`, the declarations of the C headers as cffi reads them without a parser: run `python generate.py`.

The tests compare the file with the headers.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent
HEADER = HERE.parents[1] / "include/callstack.h"
POSTGRES_HEADER = HERE.parents[1] / "postgres/include/callstack_postgres.h"
NATIVE = HERE / "src/callstack_core/_native.py"


def declarations() -> str:
    """The C headers without comments and lines for the preprocessor."""
    texts = (header.read_text(encoding="utf-8") for header in (HEADER, POSTGRES_HEADER))
    # The helpers at the end of the header are for C.
    headers = "".join(text.split("#ifndef CALLSTACK_NONE")[0] for text in texts)
    header = re.sub(r"/\*.*?\*/", "", headers, flags=re.DOTALL)
    header = re.sub(r"#ifdef __cplusplus.*?#endif[^\n]*", "", header, flags=re.DOTALL)
    return "\n".join(line for line in header.splitlines() if line and not line.startswith("#"))


def write(path: Path) -> None:
    """Writes the module. It needs no compiler: the library is loaded when it is used."""
    builder = FFI()
    builder.cdef(declarations())
    builder.set_source("callstack_core._native", None)
    builder.emit_python_code(str(path))


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else NATIVE)
