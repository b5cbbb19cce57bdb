"""Finds and loads the native library."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any

from callstack_core._native import ffi
from callstack_core.errors import LibraryError

ABI = 1
"""The version of the C interface that this package needs (`CALLSTACK_ABI`)."""

_FILES = {"linux": "libcallstack.so", "darwin": "libcallstack.dylib", "win32": "callstack.dll"}
"""The name of the library by operating system."""

_HERE = Path(__file__).resolve().parent


def find() -> Path:
    """Returns the file of the library.

    Looks at the environment variable `CALLSTACK_LIBRARY`, then in this package, then in the source tree. If
    `CALLSTACK_LIBRARY` is set, only that file counts: another library than the named one would be a surprise.
    """
    chosen = os.environ.get("CALLSTACK_LIBRARY")
    if chosen:
        places = [("the environment variable CALLSTACK_LIBRARY", Path(chosen))]
    else:
        name = _FILES.get(sys.platform, _FILES["linux"])
        source = _HERE.parents[3] / "target/native" / name if len(_HERE.parents) > 3 else _HERE / name
        places = [("this package", _HERE / name), ("the source tree (`make native` builds it)", source)]
    for _, path in places:
        if path.is_file():
            # The system would look for a name without a folder in other places.
            return path.absolute()
    looked = [f"{what}: {path}" for what, path in places]
    here = {"platform": sys.platform, "arch": platform.machine()}
    raise LibraryError(
        f"the native library of callstack-core was not found for {here['platform']}-{here['arch']}; looked at "
        f"{'; '.join(looked)}. Install the wheel of this platform, or set CALLSTACK_LIBRARY to the library's file",
        here | {"looked": looked},
    )


def text_at(pointer: Any) -> str:
    """Returns the text that ends with NUL."""
    text: Any = ffi.string(pointer)
    return text.decode()


@cache
def load() -> Any:
    """Returns the library, whose attributes are the functions of the C header.

    The first call finds and loads it.
    """
    path = find()
    try:
        # The library stays until the process ends: at the end of the interpreter, other threads can still be
        # in it.
        library: Any = ffi.dlopen(str(path), ffi.RTLD_NOW | getattr(ffi, "RTLD_NODELETE", 0))
        abi = library.callstack_abi()
    except (OSError, AttributeError, ffi.error) as error:
        message = f"the native library of callstack-core cannot be loaded from {path}: {error}"
        raise LibraryError(message, {"path": str(path), "reason": str(error)}) from error
    if abi != ABI:
        version = text_at(library.callstack_version())
        raise LibraryError(
            f"the library {path} (version {version}) has interface {abi}, but this package needs {ABI}; "
            "install both in the same version",
            {"path": str(path), "abi": abi, "needed": ABI},
        )
    return library


def has(function: str) -> bool:
    """Whether the library has a function that not every build of it has."""
    try:
        getattr(load(), function)
    except (AttributeError, ffi.error):
        return False
    return True
