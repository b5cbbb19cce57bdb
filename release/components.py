"""What a binary is made of: the crates that are linked into it and the parts that come with the tools.

From that list come the SBOM of each archive (CycloneDX, without a time or a random number, so that two builds agree)
and LICENSE-THIRD-PARTY, which holds the licences of all parts with their texts.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from release import environment
from release.platforms import ROOT, Platform, ReleaseError

LICENSE_FILES = re.compile(r"(licen[sc]e|copying|copyright|notice|unlicense)", re.IGNORECASE)


@dataclass(frozen=True)
class Component:
    """A part of a binary."""

    name: str
    version: str
    license: str
    texts: tuple[Path, ...] = ()
    sha256: str | None = None
    is_crate: bool = True
    depends_on: list[str] = field(default_factory=list, compare=False)

    @property
    def reference(self) -> str:
        """The package URL, by which other parts refer to it."""
        kind = "cargo" if self.is_crate else "generic"
        return f"pkg:{kind}/{self.name}@{self.version.replace('+', '%2B')}"


@dataclass(frozen=True)
class Product:
    """Something that cargo builds: the crate, and the features it is built with."""

    crate: str
    features: tuple[str, ...]


LIBRARY = Product("callstack-core", ("--features=capi",))
PROGRAM = Product("callstack-cli", ("--no-default-features", "--features=proxy"))


def linked(product: Product, platform: Platform) -> list[Component]:
    """Returns the parts of a product, sorted by name; the product itself is the first.

    Crates that only run while building (build scripts and procedural macros) are no parts.
    """
    tree = environment.output(
        ["cargo", "tree", "--locked", f"--package={product.crate}", *product.features, f"--target={platform.target}",
         "--edges=normal,no-proc-macro", "--prefix=depth", "--format= {p}"]
    )  # fmt: skip
    found: dict[str, Component] = {}
    above: list[Component] = []
    for line in tree.splitlines():
        depth, name, version = line.split()[:3]
        component = crate(name, version.removeprefix("v"))
        component = found.setdefault(component.reference, component)
        del above[int(depth) :]
        if above and component.reference not in above[-1].depends_on:
            above[-1].depends_on.append(component.reference)
        above.append(component)
    root, *crates = found.values()
    parts = [*crates, *from_tools(platform, crates)]
    return [root, *sorted(parts, key=lambda part: (part.name, part.version))]


def crate(name: str, version: str) -> Component:
    """Returns the crate of this name and version, with its licence texts."""
    packages = environment.metadata()["packages"]
    package = next((package for package in packages if (package["name"], package["version"]) == (name, version)), None)
    if package is None:
        raise ReleaseError(f"cargo does not know the crate {name} {version}, although it is linked")
    folder = Path(package["manifest_path"]).parent
    texts = sorted(file for file in folder.iterdir() if file.is_file() and LICENSE_FILES.match(file.name))
    # Before "OR", cargo took a slash.
    license = package["license"].replace("/", " OR ")
    return Component(name, version, license, tuple(texts), checksums().get((name, version)))


@cache
def checksums() -> dict[tuple[str, str], str]:
    """Returns the checksums of the crates in Cargo.lock, by name and version."""
    packages = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    return {(package["name"], package["version"]): package["checksum"] for package in packages if "checksum" in package}


def from_tools(platform: Platform, crates: Iterable[Component]) -> list[Component]:
    """Returns the parts that are not crates: SQLite, the standard library, and what zig links."""
    zig = next((environment.TOOLS / "lib").glob("python*/site-packages/ziglang"))

    def of_zig(name: str, license: str, text: str) -> Component:
        return Component(name, f"zig-{zig_version()}", license, (zig / text,), is_crate=False)

    parts = [Component("rust-std", environment.rustc()["release"], "MIT OR Apache-2.0", is_crate=False)]
    if platform.os != "darwin":
        parts.append(of_zig("compiler-rt", "MIT", "LICENSE"))
        parts.append(of_zig("libunwind", "Apache-2.0 WITH LLVM-exception", "lib/libunwind/LICENSE.TXT"))
    if platform.libc == "musl":
        parts.append(of_zig("musl", "MIT", "lib/libc/musl/COPYRIGHT"))
    if platform.is_windows:
        parts.append(of_zig("mingw-w64", "ZPL-2.1", "lib/libc/mingw/COPYING"))
    for part in crates:
        if part.name == "libsqlite3-sys":
            header = (part.texts[0].parent / "sqlite3" / "sqlite3.h").read_text()
            found = re.search(r'#define SQLITE_VERSION\s+"(.*)"', header)
            assert found is not None, "the header of SQLite names its version"
            parts.append(Component("sqlite", found[1], "blessing", is_crate=False))
            part.depends_on.append(parts[-1].reference)
    return parts


@cache
def zig_version() -> str:
    """Returns the version of zig."""
    return environment.output([str(environment.ZIG), "version"]).strip()


def third_party(parts: list[Component]) -> str:
    """Returns LICENSE-THIRD-PARTY: the parts with their licences, then each text once with the parts that it is for."""
    others = [part for part in parts if not part.name.startswith("callstack-")]
    users: dict[str, list[str]] = {}
    for part in others:
        for text in part.texts:
            users.setdefault(text.read_text().strip(), []).append(f"{part.name} {part.version}")
    rule = "=" * 80
    lines = [
        "This file contains the licences of the parts that are linked into callstack and were written by others.",
        "Parts without a text below are in the public domain (SQLite), or are used under the Apache License 2.0, whose",
        "text is in the file LICENSE-APACHE.",
        "",
        *[f"{part.name} {part.version}: {part.license}" for part in others],
    ]
    for content, names in users.items():
        lines += ["", rule, *dict.fromkeys(names), rule, "", content]
    return "\n".join(lines) + "\n"


def sbom(archive: Path, parts: list[Component]) -> str:
    """Returns the SBOM of an archive as CycloneDX JSON. The first part is the product itself."""
    root, *others = parts
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "tools": {
                "components": [
                    {"type": "application", "name": "rustc", "version": environment.rustc()["release"]},
                    {"type": "application", "name": "zig", "version": zig_version()},
                ]
            },
            "component": {
                "type": "application" if root.name == PROGRAM.crate else "library",
                "bom-ref": root.reference,
                "name": root.name,
                "version": root.version,
                "purl": root.reference,
                "licenses": [{"expression": root.license}],
                "properties": [
                    {"name": "archive", "value": archive.name},
                    {"name": "archive:sha256", "value": hashlib.sha256(archive.read_bytes()).hexdigest()},
                ],
            },
        },
        "components": [described(part) for part in others],
        "dependencies": [{"ref": part.reference, "dependsOn": sorted(part.depends_on)} for part in parts],
    }
    return json.dumps(document, indent=2) + "\n"


def described(part: Component) -> dict[str, object]:
    """Returns a part as the SBOM lists it."""
    entry: dict[str, object] = {
        "type": "library",
        "bom-ref": part.reference,
        "name": part.name,
        "version": part.version,
        "licenses": [{"expression": part.license}],
        "purl": part.reference,
    }
    if part.sha256:
        entry["hashes"] = [{"alg": "SHA-256", "content": part.sha256}]
    return entry
