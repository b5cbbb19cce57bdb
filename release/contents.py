"""What the archives of a platform contain: the program's with its completions and man pages, and the C library's."""

import re
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path

from release import archives, components, environment
from release.archives import Entry
from release.build import Library
from release.components import Component
from release.platforms import ROOT, Platform, ReleaseError

COMPLETIONS = {"bash": "callstack.bash", "fish": "callstack.fish", "zsh": "_callstack"}

# What a program needs beside the static library: options of the linker. GCC has the unwinder of panics in libgcc_eh,
# and zig takes that name for its own. scripts/install-library has those of Linux too, and a test compares them.
NEEDED_BY_STATIC = {
    "linux": "-lpthread -lm -ldl -lgcc_eh",
    "darwin": "-lSystem -lc -lm",
    "win32": "-lkernel32 -lntdll -luserenv -lws2_32 -ldbghelp -lgcc_eh",
}


def archive_name(product: str, platform: Platform) -> str:
    """Returns the file name of an archive."""
    suffix = "zip" if platform.is_windows else "tar.gz"
    return f"{product}-{environment.version()}-{platform.name}.{suffix}"


def licenses(parts: list[Component]) -> dict[str, Entry]:
    """Returns our licences and those of the parts."""
    own = {name: Entry((ROOT / name).read_bytes()) for name in ("LICENSE-APACHE", "LICENSE-MIT")}
    return {**own, "LICENSE-THIRD-PARTY": Entry(components.third_party(parts).encode())}


def program_archive(platform: Platform, program: Path, manual: dict[str, Entry], folder: Path) -> Path:
    """Packs the program of a platform."""
    parts = components.linked(components.PROGRAM, platform)
    entries = {platform.program: Entry(program.read_bytes(), is_program=True), **manual, **licenses(parts)}
    return packed(archive_name("callstack", platform), entries, parts, folder)


def manual(program: Path) -> dict[str, Entry]:
    """Returns the completions and the man pages, which a program that runs on this machine writes."""

    def ask(*values: str) -> bytes:
        ran = subprocess.run([str(program), *values], env=environment.base(), capture_output=True)
        if ran.returncode != 0:
            raise ReleaseError(f"`callstack {' '.join(values)}` failed: {ran.stderr.decode().strip()}")
        return ran.stdout

    entries = {f"completions/{name}": Entry(ask("completions", shell)) for shell, name in COMPLETIONS.items()}
    with tempfile.TemporaryDirectory() as folder:
        ask("man", folder)
        for page in sorted(Path(folder).iterdir()):
            entries[f"man/man1/{page.name}"] = Entry(page.read_bytes())
    return entries


def library_archive(platform: Platform, library: Library, folder: Path) -> Path:
    """Packs the C library of a platform."""
    parts = components.linked(components.LIBRARY, platform)
    entries = {
        "include/callstack.h": Entry((ROOT / "include" / "callstack.h").read_bytes()),
        "lib/libcallstack.a": Entry(library.static.read_bytes()),
        "lib/pkgconfig/callstack.pc": Entry(package_config(platform).encode()),
        **shared_library(platform, library),
        **licenses(parts),
    }
    return packed(archive_name("libcallstack", platform), entries, parts, folder)


def shared_library(platform: Platform, library: Library) -> dict[str, Entry]:
    """Returns the shared library: with its version on Unix, and the links by which programs and linkers look for it."""
    content = Entry(library.shared.read_bytes(), is_program=True)
    version = environment.version()
    compatible = environment.compatible_version()
    if library.imports:
        return {"bin/callstack.dll": content, "lib/libcallstack.dll.a": Entry(library.imports.read_bytes())}
    names = [platform.versioned_library(version), platform.versioned_library(compatible), platform.shared_library]
    links = {f"lib/{link}": Entry(link=to) for to, link in pairwise(names)}
    return {f"lib/{names[0]}": content, **links}


def package_config(platform: Platform) -> str:
    """Returns the file for pkg-config, which finds the folder by its own place, wherever the archive is unpacked."""
    found = re.search(r'^description = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert found is not None, "Cargo.toml has a description"
    return f"""prefix=${{pcfiledir}}/../..
libdir=${{prefix}}/lib
includedir=${{prefix}}/include

Name: callstack
Description: {found[1]}
Version: {environment.version()}
Libs: -L${{libdir}} -lcallstack
Libs.private: {NEEDED_BY_STATIC[platform.os]}
Cflags: -I${{includedir}}
"""


def packed(name: str, entries: dict[str, Entry], parts: list[Component], folder: Path) -> Path:
    """Writes an archive and its SBOM, and returns the archive."""
    archive = folder / name
    archives.write(archive, entries)
    stem = name.removesuffix(".zip").removesuffix(".tar.gz")
    archives.save(folder / f"{stem}.cdx.json", components.sbom(archive, parts).encode())
    return archive
