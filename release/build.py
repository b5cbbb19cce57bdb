"""Builds the libraries and the program of a platform with cargo-zigbuild: zig links, and compiles SQLite."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from release import environment
from release.environment import TARGET, ZIG, ZIGBUILD
from release.platforms import ROOT, Platform, ReleaseError


@dataclass(frozen=True)
class Library:
    """The files of the C library as cargo built them."""

    shared: Path
    static: Path
    # On Windows, programs are linked with it instead of the shared library.
    imports: Path | None = None


def library(platform: Platform) -> Library:
    """Builds the shared and the static library."""
    # On musl, Rust links statically by default, and such a library cannot be loaded.
    flags = ["-C", "target-feature=-crt-static"] if platform.libc == "musl" else []
    cargo(platform, "callstack-native", [], flags)
    folder = built(platform)
    shared = folder / platform.shared_library
    if not platform.is_windows:
        return Library(shared, folder / "libcallstack.a")
    clear_time(shared)
    return Library(shared, folder / "libcallstack.a", import_library(folder))


def clear_time(binary: Path) -> None:
    """Sets the time in the header of a binary for Windows to zero. The linker writes there when it ran."""
    content = bytearray(binary.read_bytes())
    header = int.from_bytes(content[0x3C:0x40], "little")
    if content[header : header + 4] != b"PE\0\0":
        raise ReleaseError(f"{binary.name} is no binary for Windows")
    content[header + 8 : header + 12] = bytes(4)
    binary.write_bytes(content)


def import_library(folder: Path) -> Path:
    """Writes the import library of callstack.dll: the functions of the header, without the time of the build."""
    header = (ROOT / "include" / "callstack.h").read_text()
    functions = sorted(set(re.findall(r"^(?! ?[/*]).*?\b(callstack_\w+)\(", header, re.MULTILINE)))
    definitions = folder / "callstack.def"
    definitions.write_text("\n".join(["LIBRARY callstack.dll", "EXPORTS", *functions]) + "\n")
    imports = folder / "libcallstack.dll.a"
    environment.output([str(ZIG), "dlltool", "-m", "i386:x86-64", "-d", str(definitions), "-l", str(imports)])
    return imports


def install_target(platform: Platform) -> None:
    """Makes sure that the standard library of a platform is installed; asks rustup for it if it is not."""
    if (environment.sysroot() / "lib" / "rustlib" / platform.target / "lib").is_dir():
        return
    try:
        environment.output(["rustup", "target", "add", platform.target])
    except ReleaseError as error:
        reason = str(error).splitlines()[-1]
        raise ReleaseError(f"its Rust target is not installed and cannot be fetched: {reason}") from error


def program(platform: Platform) -> Path:
    """Builds the program without its own agent."""
    cargo(platform, "callstack-cli", ["--no-default-features", "--features=proxy"], [])
    program = built(platform) / platform.program
    if platform.is_windows:
        clear_time(program)
    return program


def built(platform: Platform) -> Path:
    """Returns the folder of what cargo built."""
    return TARGET / platform.target / environment.PROFILE


def cargo(platform: Platform, package: str, features: list[str], flags: list[str]) -> None:
    """Builds a package with cargo-zigbuild. `flags` go to rustc for each crate."""
    log = TARGET / "logs" / f"{platform.name}-{package}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [
        str(ZIGBUILD), "build", f"--profile={environment.PROFILE}", "--locked", f"--target={platform.zig_target}",
        f"--target-dir={TARGET}", "-p", package, *features,
    ]  # fmt: skip
    with log.open("w") as file:
        ran = subprocess.run(
            command, cwd=ROOT, env=environment.of_cargo(platform, flags), stdout=file, stderr=subprocess.STDOUT
        )
    if ran.returncode != 0:
        errors = [line for line in log.read_text().splitlines() if line.startswith("error")]
        raise ReleaseError(f"{errors[0] if errors else 'cargo failed'}; see {log.relative_to(ROOT)}")
