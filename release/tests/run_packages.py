"""Unpacks the archives in target/packages and uses what is in them, for each platform that can run here.

A platform runs natively, under qemu (arm64), with musl's own loader, or under Wine; scripts/install-emulators installs
these. `make test-packages` runs this file after `make packages`. Prints what was run and what was not, and why.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from release import environment
from release.__main__ import PACKAGES
from release.contents import archive_name
from release.environment import ZIG
from release.platforms import ROOT, Platform, ReleaseError, host, platforms

# How many frames are acknowledged before the process is killed.
FRAMES = 25
WINE = ROOT / "target" / "wine"
# What Windows 10 has and Debian's Wine lacks: a library with one function.
RANDOM = ROOT / "tests" / "platforms" / "bcryptprimitives.c"


@dataclass(frozen=True)
class Runner:
    """How programs of a platform run on this machine."""

    by: str
    command: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    # Programs are linked with the static library, because the platform's own loader is missing.
    static: bool = False


def runner(platform: Platform) -> Runner | str:
    """Returns how the platform's programs run here, or why they do not."""
    here = host()
    qemu = shutil.which("qemu-aarch64")
    if platform == here:
        return Runner("natively")
    if sys.platform != "linux" or here.cpu != "x64":
        return "emulators are used on Linux on x86-64 alone"
    if platform.os == "darwin":
        return "nothing runs programs for macOS here"
    if platform.cpu == "arm64":
        if not qemu:
            return "qemu-aarch64 is not installed"
        if platform.libc == "musl":
            return Runner("under qemu, linked statically", [qemu], static=True)
        return Runner("under qemu", [qemu, "-L", "/usr/aarch64-linux-gnu"])
    if platform.libc == "musl":
        loader = Path("/lib/ld-musl-x86_64.so.1")
        return Runner("with musl's loader") if loader.exists() else f"{loader} is not installed"
    wine = shutil.which("wine")
    if not wine:
        return "Wine is not installed"
    return Runner("under Wine", [wine], {"WINEPREFIX": str(WINE), "WINEDEBUG": "-all", "WINEARCH": "win64"})


def check_platform(platform: Platform, how: Runner, folder: Path) -> list[str]:
    """Uses the archives of a platform, and returns what worked."""
    if platform.is_windows:
        prepare_wine(how)
    done = []
    library = PACKAGES / archive_name("libcallstack", platform)
    if library.exists():
        done.append(check_library(platform, how, unpacked(library, folder), folder))
    program = PACKAGES / archive_name("callstack", platform)
    if program.exists():
        done.append(check_program(how, unpacked(program, folder) / platform.program, folder))
    return done


def check_library(platform: Platform, how: Runner, library: Path, folder: Path) -> str:
    """Builds the C program, kills it while it writes, and looks for the last frame that was acknowledged."""
    # zig takes `-lcallstack` for the static library if both are there.
    static = [str(library / "lib" / "libcallstack.a"), *asked(library, "--static", "--libs-only-l")]
    if how.static:
        static.append("-static")
        shared = static
    elif platform.is_windows:
        shared = [str(library / "lib" / "libcallstack.dll.a")]
        # Windows looks for libraries beside the program.
        shutil.copy(library / "bin" / "callstack.dll", folder)
    else:
        shared = [*asked(library, "--libs"), f"-Wl,-rpath,{library / 'lib'}"]
    writer = compiled(platform, library, folder / "write", shared)
    reader = compiled(platform, library, folder / "check", static)
    stack = folder / "stack of C"
    writing = subprocess.Popen(
        [*how.command, str(writer), "write", str(stack)], env=variables(how), stdout=subprocess.PIPE, text=True
    )
    assert writing.stdout is not None
    handles: list[str] = []
    while len(handles) < FRAMES and (line := writing.stdout.readline()):
        handles.append(line.strip())
    writing.kill()
    rest = writing.stdout.read().splitlines()
    writing.wait()
    if len(handles) < FRAMES:
        raise ReleaseError(f"the C program stopped by itself after {len(handles)} frames")
    # The last line can be cut by the kill.
    last = [*handles, *rest[:-1]][-1]
    run([*how.command, str(reader), "check", str(stack), last], variables(how))
    linking = "static library" if how.static else "shared library, then static library"
    return f"C ({linking}): open, {last} pushed, killed, opened, context, pop"


def compiled(platform: Platform, library: Path, program: Path, linked: list[str]) -> Path:
    """Compiles the C program with the header and the options of the archive, and returns the program."""
    program = program.with_suffix(".exe") if platform.is_windows else program
    source = ROOT / "release" / "tests" / "survive.c"
    target = platform.zig_target.replace("-unknown", "").replace("-pc-windows", "-windows")
    # Without -O2 zig links checks of its own, which need functions that Debian's musl does not have.
    options = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-target", target, *asked(library, "--cflags")]
    run([str(ZIG), "cc", *options, str(source), *linked, "-o", str(program)], environment.base())
    return program


def asked(library: Path, *questions: str) -> list[str]:
    """Returns what the archive's file for pkg-config answers; with --libs-only-l, the other libraries alone."""
    env = {**environment.base(), "PKG_CONFIG_LIBDIR": str(library / "lib" / "pkgconfig")}
    options = run(["pkg-config", *questions, "callstack"], env).split()
    return [option for option in options if "--libs-only-l" not in questions or option != "-lcallstack"]


def check_program(how: Runner, program: Path, folder: Path) -> str:
    """Runs the program: a stack is begun, frames are pushed and finished, and the stack is examined."""
    stack = ["--stack", str(folder / "stack of the program")]
    version = run([*how.command, str(program), "--version"], variables(how))
    if version.split()[1] != environment.version():
        raise ReleaseError(f"the program says that its version is {version}")
    for command in (["push", "--new", "First"], ["push", "Second"], ["pop", "--results", "Done"], ["doctor"]):
        run([*how.command, str(program), *stack, *command], variables(how))
    context = run([*how.command, str(program), *stack, "context", "f1"], variables(how))
    if "Done" not in context:
        raise ReleaseError(f"the context of the root lacks the results of its child: {context}")
    return "program: version, push, pop, doctor, context"


def prepare_wine(how: Runner) -> None:
    """Makes the prefix of Wine, with the library that it lacks."""
    WINE.mkdir(parents=True, exist_ok=True)
    system = WINE / "drive_c" / "windows" / "system32"
    if not system.exists():
        run([*how.command, "wineboot", "--init"], variables(how))
    library = system / "bcryptprimitives.dll"
    if not library.exists():
        target = ["-target", "x86_64-windows-gnu"]
        run([str(ZIG), "cc", *target, "-shared", str(RANDOM), "-ladvapi32", "-o", str(library)], environment.base())


def variables(how: Runner) -> dict[str, str]:
    """Returns the environment of programs."""
    return {**environment.base(), **how.variables}


def unpacked(archive: Path, folder: Path) -> Path:
    """Unpacks an archive and returns its folder. No file may name a folder of the machine that built it."""
    if archive.suffix == ".zip":
        zipfile.ZipFile(archive).extractall(folder)
    else:
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    content = folder / archive.name.removesuffix(".zip").removesuffix(".tar.gz")
    for file in content.rglob("*"):
        if file.is_file() and any(str(place).encode() in file.read_bytes() for place in environment.places()):
            raise ReleaseError(f"{archive.name}: {file.relative_to(content)} names a folder of this machine")
    return content


def run(command: list[str], env: dict[str, str]) -> str:
    """Runs a program that must succeed, and returns what it prints."""
    ran = subprocess.run(command, env=env, text=True, capture_output=True, timeout=300)
    if ran.returncode != 0:
        raise ReleaseError(f"`{' '.join(command)}` failed with {ran.returncode}: {ran.stderr.strip()}")
    return ran.stdout


def main() -> int:
    """Checks all platforms, and returns the number of failures."""
    passed = failed = skipped = 0
    for platform in platforms():
        how = runner(platform)
        names = [archive_name(product, platform) for product in ("libcallstack", "callstack")]
        if not any((PACKAGES / name).exists() for name in names):
            how = f"target/packages has no archives; try: make packages PLATFORMS={platform.name}"
        if isinstance(how, str):
            print(f"skipped: {platform.name}: {how}", flush=True)
            skipped += 1
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                for what in check_platform(platform, how, Path(os.path.realpath(folder))):
                    print(f"ok: {platform.name} {how.by}: {what}", flush=True)
                    passed += 1
            except (ReleaseError, subprocess.TimeoutExpired) as error:
                print(f"FAILED: {platform.name} {how.by}: {error}", flush=True)
                failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
