"""Packs the npm packages: a platform package for each library, and the packages in TypeScript."""

import shutil
from pathlib import Path

from release import components, environment
from release.build import Library
from release.environment import TARGET
from release.platforms import ROOT, Platform

STAGED = TARGET / "npm"


def stage(platform: Platform, library: Library) -> None:
    """Puts what a platform package contains beside the other ones."""
    folder = STAGED / platform.name
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(library.shared, folder / platform.shared_library)
    (folder / "LICENSE-THIRD-PARTY").write_text(components.third_party(components.linked(components.LIBRARY, platform)))


def pack(platforms: list[Platform], destination: Path) -> list[Path]:
    """Packs the platform packages that are staged, and all others; returns the files."""
    before = set(destination.iterdir())
    staged = [f"{platform.name}={STAGED / platform.name}" for platform in platforms]
    environment.output(
        ["node", str(ROOT / "bindings" / "scripts" / "pack.mjs"), str(destination), "--platforms", *staged]
    )
    return sorted(set(destination.iterdir()) - before)
