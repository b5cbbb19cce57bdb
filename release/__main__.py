"""Builds the packages of a release into target/packages: python3 -m release [PLATFORM…]. Default: all platforms.

What cannot be built stops nothing else: the table names it and says why. Fails only if nothing could be built.
"""

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from release import build, contents, npm, sums, wheels
from release.archives import Entry
from release.platforms import ROOT, Platform, ReleaseError, chosen, host

PACKAGES = ROOT / "target" / "packages"


@dataclass
class Table:
    """What was made, and how long it took."""

    lines: list[str] = field(default_factory=list)

    def attempt(self, platform: str, what: str, make: Callable[[], list[Path]]) -> bool:
        """Makes files and adds them to the table, or the reason why they cannot be made."""
        began = time.monotonic()
        try:
            files = make()
        except Exception as error:
            reason = error if isinstance(error, ReleaseError) else f"{type(error).__name__}: {error}"
            self.add(f"{platform:<17} {time.monotonic() - began:7.0f} {'-':>10}  {what}: {reason}")
            return False
        for file in files:
            self.add(f"{platform:<17} {time.monotonic() - began:7.0f} {file.stat().st_size:10,}  {file.name}")
        return True

    def add(self, line: str) -> None:
        """Adds a line, and shows it at once, because a build takes minutes."""
        self.lines.append(line)
        print(line, flush=True)


def main(names: list[str]) -> None:
    """Builds the packages of the platforms with these names."""
    platforms = chosen(names)
    shutil.rmtree(PACKAGES, ignore_errors=True)
    PACKAGES.mkdir(parents=True)
    table = Table()
    print(f"{'platform':<17} {'seconds':>7} {'bytes':>10}  file in {PACKAGES.relative_to(ROOT)}", flush=True)
    manual: dict[str, Entry] = {}
    table.attempt("this machine", "completions and man pages", lambda: make_manual(manual))
    with_library = [platform for platform in platforms if add_platform(table, platform, manual)]
    table.attempt("npm", "packages", lambda: npm.pack(with_library, PACKAGES))
    sums.write(PACKAGES)
    if not with_library:
        raise ReleaseError("no library was built; the table says why")


def add_platform(table: Table, platform: Platform, manual: dict[str, Entry]) -> bool:
    """Builds and packs what belongs to one platform. Returns whether it has a library, and so an npm package."""

    def install() -> list[Path]:
        build.install_target(platform)
        return []

    def library() -> list[Path]:
        built = build.library(platform)
        npm.stage(platform, built)
        return [
            built.shared,
            contents.library_archive(platform, built, PACKAGES),
            wheels.pack(platform, built.shared, PACKAGES),
        ]

    def program() -> list[Path]:
        if not manual:
            raise ReleaseError("not packed without completions and man pages")
        built = build.program(platform)
        return [built, contents.program_archive(platform, built, manual, PACKAGES)]

    if not table.attempt(platform.name, "skipped", install):
        return False
    has_library = table.attempt(platform.name, "C library", library)
    table.attempt(platform.name, "program", program)
    return has_library


def make_manual(entries: dict[str, Entry]) -> list[Path]:
    """Adds the completions and man pages, which are the same on all platforms."""
    build.install_target(host())
    entries.update(contents.manual(build.program(host())))
    return []


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ReleaseError as error:
        sys.exit(f"release: {error}")
