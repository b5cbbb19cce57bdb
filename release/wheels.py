"""Packs the Python package for a platform: python3 -m release.wheels PLATFORM LIBRARY DESTINATION.

A wheel contains the shared library, so nothing is compiled at installation. Its metadata are those of
bindings/python/pyproject.toml.
"""

import base64
import hashlib
import sys
import tomllib
from pathlib import Path

from release import archives, components, contents
from release.archives import Entry
from release.platforms import ROOT, Platform, ReleaseError, chosen

PACKAGE = ROOT / "bindings" / "python"


def pack(platform: Platform, library: Path, destination: Path) -> Path:
    """Writes the wheel of a platform around its shared library, and returns the file."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    stem = f"{project['name'].replace('-', '_')}-{wheel_version(project['version'])}"
    licenses = contents.licenses(components.linked(components.LIBRARY, platform))
    entries = {
        **sources(),
        f"callstack_core/{platform.shared_library}": Entry(library.read_bytes(), is_program=True),
        f"{stem}.dist-info/METADATA": Entry(metadata(project, sorted(licenses)).encode()),
        f"{stem}.dist-info/WHEEL": Entry(tags(platform).encode()),
        **{f"{stem}.dist-info/licenses/{name}": entry for name, entry in licenses.items()},
    }
    record = f"{stem}.dist-info/RECORD"
    lines = [recorded(name, entry.content) for name, entry in sorted(entries.items())]
    entries[record] = Entry("".join([*lines, f"{record},,\n"]).encode())
    wheel = destination / f"{stem}-py3-none-{platform.wheel}.whl"
    archives.save(wheel, archives.zipped(entries))
    return wheel


def sources() -> dict[str, Entry]:
    """Returns the modules, and the mark that they are typed."""
    folder = PACKAGE / "src"
    files = [path for path in folder.rglob("*") if path.suffix == ".py" or path.name == "py.typed"]
    return {path.relative_to(folder).as_posix(): Entry(path.read_bytes()) for path in files}


def wheel_version(version: str) -> str:
    """Returns a version as Python writes it: 0.2.0-rc.1 is 0.2.0rc1."""
    number, _, before = version.partition("-")
    return number + before.replace("alpha", "a").replace("beta", "b").replace(".", "")


def metadata(project: dict[str, object], licenses: list[str]) -> str:
    """Returns the core metadata, with the README as the description."""
    fields: list[tuple[str, object]] = [
        ("Metadata-Version", "2.4"),
        ("Name", project["name"]),
        ("Version", wheel_version(str(project["version"]))),
        ("Summary", project["description"]),
        ("License-Expression", project["license"]),
        *(("License-File", name) for name in licenses),
        ("Keywords", ",".join(texts(project["keywords"]))),
        *(("Classifier", classifier) for classifier in texts(project["classifiers"])),
        ("Requires-Python", project["requires-python"]),
        *(("Requires-Dist", requirement) for requirement in texts(project["dependencies"])),
        ("Description-Content-Type", "text/markdown"),
    ]
    head = "".join(f"{name}: {value}\n" for name, value in fields)
    return f"{head}\n{(PACKAGE / str(project['readme'])).read_text()}"


def texts(values: object) -> list[str]:
    """Returns a list of texts of pyproject.toml."""
    assert isinstance(values, list), values
    return [str(value) for value in values]


def tags(platform: Platform) -> str:
    """Returns the file that says for which systems the wheel is: with any Python 3, because cffi loads the library."""
    systems = "".join(f"Tag: py3-none-{system}\n" for system in platform.wheel.split("."))
    return f"Wheel-Version: 1.0\nGenerator: callstack-core\nRoot-Is-Purelib: false\n{systems}"


def recorded(name: str, content: bytes) -> str:
    """Returns the line of a file in RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(content)}\n"


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python3 -m release.wheels PLATFORM LIBRARY DESTINATION")
    try:
        print(pack(chosen([sys.argv[1]])[0], Path(sys.argv[2]), Path(sys.argv[3])))
    except ReleaseError as error:
        sys.exit(f"release: {error}")
