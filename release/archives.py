"""Writes the archives of a release. The same files give the same bytes, whenever and by whomever they are packed."""

import gzip
import io
import tarfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from release import environment


@dataclass(frozen=True)
class Entry:
    """A file of an archive, or a link to another one of the same folder."""

    content: bytes = b""
    is_program: bool = False
    link: str | None = None

    @property
    def mode(self) -> int:
        """The permissions: programs and shared libraries can be run."""
        return 0o755 if self.is_program or self.link else 0o644


def write(archive: Path, entries: dict[str, Entry]) -> None:
    """Writes a .zip or .tar.gz file with these entries in one folder, which has the archive's name."""
    if archive.suffix == ".zip":
        content = zipped({f"{archive.stem}/{name}": entry for name, entry in entries.items()})
    else:
        folder = archive.name.removesuffix(".tar.gz")
        content = gzip.compress(tarred(folder, entries), compresslevel=9, mtime=0)
    save(archive, content)


def save(file: Path, content: bytes) -> None:
    """Writes a file whole or not at all: a part of it would get a sum like any other file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}")
    try:
        part.write_bytes(content)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def tarred(folder: str, entries: dict[str, Entry]) -> bytes:
    """Returns a tar file: sorted, owned by nobody in particular, with the time of the commit."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, entry in sorted(entries.items()):
            info = tarfile.TarInfo(f"{folder}/{name}")
            info.mtime = environment.commit_time()
            info.mode = entry.mode
            if entry.link:
                info.type = tarfile.SYMTYPE
                info.linkname = entry.link
            info.size = len(entry.content)
            tar.addfile(info, io.BytesIO(entry.content))
    return buffer.getvalue()


def zipped(entries: dict[str, Entry]) -> bytes:
    """Returns a zip file: sorted, with the time of the commit and the permissions of Unix."""
    buffer = io.BytesIO()
    date = time.gmtime(environment.commit_time())[:6]
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, entry in sorted(entries.items()):
            info = zipfile.ZipInfo(name, date)
            info.create_system = 3
            info.external_attr = (0o100000 | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, entry.content)
    return buffer.getvalue()
