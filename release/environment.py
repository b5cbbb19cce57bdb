"""The tools of a build, and the one environment in which all of them run.

Cargo builds again when a variable changes that it looks at, and bytes of a binary depend on others. So nothing of the
caller's environment counts but the places of its tools.
"""

import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from release.platforms import ROOT, Platform, ReleaseError

TOOLS = ROOT / "target" / "tools" / "release"
TARGET = ROOT / "target" / "release-builds"
ZIG = TOOLS / "bin" / "python-zig"
ZIGBUILD = TOOLS / "bin" / "cargo-zigbuild"

# The profile of Cargo.toml that packages are built with.
PROFILE = "dist"

# Where tools are and how they reach a registry. None of these changes what is built.
KEPT = {
    "CARGO_BUILD_JOBS", "CARGO_HOME", "HOME", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN", "SSL_CERT_DIR", "SSL_CERT_FILE", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "USERPROFILE",
}  # fmt: skip


def base() -> dict[str, str]:
    """Returns the environment of every tool."""
    kept = {name: value for name, value in os.environ.items() if name.upper() in KEPT}
    return {**kept, "PATH": search_path(), "LC_ALL": "C", "TZ": "UTC"}


@cache
def search_path() -> str:
    """Returns the folders of the tools, then those of the system, whatever else the caller has in its PATH."""
    programs = ["cargo", "rustup", "git", "cc", "node", "npm"]
    found = [Path(place).parent for program in programs if (place := shutil.which(program))]
    folders = [TOOLS / "bin", *found, Path("/usr/bin"), Path("/bin")]
    return os.pathsep.join(dict.fromkeys(str(folder) for folder in folders))


def of_cargo(platform: Platform, flags: list[str]) -> dict[str, str]:
    """Returns the environment of cargo for a platform. `flags` go to rustc for each crate."""
    variables = {
        **base(),
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join([*flags, *remapped_paths()]),
        "CARGO_INCREMENTAL": "0",
        "CARGO_TERM_COLOR": "never",
        "CARGO_ZIGBUILD_CACHE_DIR": str(TARGET / "zigbuild"),
        "ZIG_GLOBAL_CACHE_DIR": str(TARGET / "zig"),
        "ZIG_LOCAL_CACHE_DIR": str(TARGET / "zig"),
    }
    variables[f"CFLAGS_{platform.target.replace('-', '_')}"] = " ".join(c_flags(platform))
    if platform.macos:
        variables["MACOSX_DEPLOYMENT_TARGET"] = platform.macos
    return variables


def c_flags(platform: Platform) -> list[str]:
    """Returns the options of the C compiler for SQLite: no debug information, because it has paths.

    For Windows, the compiler writes the name of a temporary file without that information too, if it keeps symbols.
    """
    return ["-s" if platform.is_windows else "-g0"]


def remapped_paths() -> list[str]:
    """Returns the options by which binaries name no folder of this machine."""
    return [f"--remap-path-prefix={place}={name}" for place, name in places().items()]


@cache
def places() -> dict[Path, str]:
    """Returns the folders of this machine that sources come from, and what binaries name instead."""
    package = next(package for package in metadata()["packages"] if package["source"])
    crates = Path(package["manifest_path"]).parent.parent
    standard_library = sysroot() / "lib" / "rustlib" / "src" / "rust"
    return {ROOT: "/callstack", crates: "/crates", standard_library: f"/rustc/{rustc()['commit-hash']}"}


@cache
def metadata() -> dict[str, list[dict[str, str]]]:
    """Returns what cargo knows of all packages in Cargo.lock."""
    found: dict[str, list[dict[str, str]]] = json.loads(output(["cargo", "metadata", "--locked", "--format-version=1"]))
    return found


@cache
def rustc() -> dict[str, str]:
    """Returns the lines of `rustc --version --verbose`: release, commit-hash, host, …"""
    lines = output(["rustc", "--version", "--verbose"]).splitlines()[1:]
    return dict(line.split(": ", 1) for line in lines)


@cache
def sysroot() -> Path:
    """Returns the folder of the Rust toolchain."""
    return Path(output(["rustc", "--print=sysroot"]).strip())


@cache
def version() -> str:
    """Returns the version of the release."""
    return next(package["version"] for package in metadata()["packages"] if package["name"] == "callstack-core")


@cache
def compatible_version() -> str:
    """Returns the part of the version that programs load the shared library by, as include/callstack.abi records it."""
    found = re.search(
        r"^soname: libcallstack\.so\.(\S+)$", (ROOT / "include" / "callstack.abi").read_text(), re.MULTILINE
    )
    if found is None:
        raise ReleaseError("include/callstack.abi has no soname; see RELEASING.md")
    return found[1]


@cache
def commit_time() -> int:
    """Returns the time of the commit, which all files in archives have."""
    return int(output(["git", "log", "-1", "--format=%ct"]))


def output(command: list[str]) -> str:
    """Runs a command in the checkout and returns what it prints."""
    try:
        ran = subprocess.run(command, cwd=ROOT, env=base(), text=True, capture_output=True)
    except FileNotFoundError as error:
        raise ReleaseError(f"{command[0]} is not installed; it is needed to build packages") from error
    if ran.returncode != 0:
        raise ReleaseError(f"`{' '.join(command)}` failed: {ran.stderr.strip()}")
    return ran.stdout
