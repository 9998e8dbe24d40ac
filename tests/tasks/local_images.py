"""Images made here from programs of this machine, since tests ask no registry."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["PROGRAMS", "needed_by", "root_archive"]

PROGRAMS = ("sh", "bash", "cat", "grep", "env", "ls", "mkdir", "rm", "ln", "id")
_LIBRARY = re.compile(r"(/\S+) \(0x")


def needed_by(programs: Iterable[str]) -> dict[str, bytes]:
    """Programs, by name or path, and the libraries that they need, by path without its first
    slash; a program that is named is at ``usr/bin``."""
    found = {}
    for program in programs:
        path = Path(shutil.which(program) or program)
        name = str(path).lstrip("/") if "/" in program else f"usr/bin/{program}"
        found[name] = path.read_bytes()
        said = subprocess.run(
            ["ldd", path], capture_output=True, text=True, timeout=30, check=False
        ).stdout
        found |= {library.lstrip("/"): Path(library).read_bytes()
                  for library in _LIBRARY.findall(said)}  # fmt: skip
    return found


def root_archive(
    files: Mapping[str, str | bytes],
    programs: Iterable[str] = PROGRAMS,
    links: Mapping[str, str] | None = None,
    empty: Iterable[str] = (),
) -> bytes:
    """A root file system with ``programs``; paths of it have no first slash."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("etc", "home", "tmp", "usr/bin", *empty):
            _add(archive, name, tarfile.DIRTYPE, b"")
        for name in ("bin", "lib"):
            _add(archive, name, tarfile.SYMTYPE, b"", f"usr/{name}")
        for name, data in needed_by(programs).items():
            inside = re.sub(r"\A(bin|lib)/", r"usr/\1/", name)
            _add(archive, inside, tarfile.REGTYPE, data)
        for name, text in files.items():
            _add(archive, name, tarfile.REGTYPE, text.encode() if isinstance(text, str) else text)
        for name, target in (links or {}).items():
            _add(archive, name, tarfile.SYMTYPE, b"", target)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, kind: bytes, data: bytes, target: str = "") -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.size, entry.linkname = kind, 0o755, len(data), target
    archive.addfile(entry, io.BytesIO(data))
