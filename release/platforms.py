"""The platforms of a release, as platforms.json lists them."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from platform import libc_ver, machine

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).resolve().parent / "platforms.json"


class ReleaseError(Exception):
    """A part of a release cannot be made. The message names the part and says what to do."""


@dataclass(frozen=True)
class Platform:
    """A system that a release has packages for."""

    name: str
    target: str
    system: str
    os: str
    cpu: str
    wheel: str
    libc: str | None = None
    glibc: str | None = None
    macos: str | None = None

    @property
    def zig_target(self) -> str:
        """The Rust target as cargo-zigbuild takes it: with the oldest glibc that the binaries work with."""
        return f"{self.target}.{self.glibc}" if self.glibc else self.target

    @property
    def is_windows(self) -> bool:
        """Whether the platform is Windows, where programs and archives have other names."""
        return self.os == "win32"

    @property
    def program(self) -> str:
        """The file name of the program."""
        return "callstack.exe" if self.is_windows else "callstack"

    @property
    def shared_library(self) -> str:
        """The file name of the shared library in the packages."""
        return {"linux": "libcallstack.so", "darwin": "libcallstack.dylib", "win32": "callstack.dll"}[self.os]

    def versioned_library(self, version: str) -> str:
        """The file name of the shared library with a version, as Unix has it."""
        stem, suffix = self.shared_library.split(".", 1)
        return f"{stem}.{version}.{suffix}" if self.os == "darwin" else f"{stem}.{suffix}.{version}"


def platforms() -> list[Platform]:
    """Returns all platforms, in the order of the list."""
    entries = json.loads(LIST.read_text())["platforms"]
    return [
        Platform(
            name=entry["name"],
            target=entry["target"],
            system=entry["system"],
            os=entry["npm"]["os"],
            cpu=entry["npm"]["cpu"],
            wheel=entry["wheel"],
            libc=entry["npm"].get("libc"),
            glibc=entry.get("glibc"),
            macos=entry.get("macos"),
        )
        for entry in entries
    ]


def host() -> Platform:
    """Returns the platform of this machine."""
    os = {"linux": "linux", "darwin": "darwin", "win32": "win32"}.get(sys.platform)
    cpu = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(machine().lower())
    libc = ("glibc" if libc_ver()[0] == "glibc" else "musl") if os == "linux" else None
    for platform in platforms():
        if (platform.os, platform.cpu, platform.libc) == (os, cpu, libc):
            return platform
    raise ReleaseError(f"there are no packages for this machine: {sys.platform} on {machine()}")


def chosen(names: list[str]) -> list[Platform]:
    """Returns the platforms with these names; all without names."""
    known = {platform.name: platform for platform in platforms()}
    for name in names:
        if name not in known:
            raise ReleaseError(f"there is no platform {name}; the platforms are {', '.join(known)}")
    return [known[name] for name in names] if names else list(known.values())
