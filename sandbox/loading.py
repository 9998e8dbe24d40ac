"""Does an image load what lies in a role's zone, unasked?

In an image made for work at ``/workspace`` a program may load code from there whatever it is
told to do: an editable install names the work in a ``.pth``, the linker's list a directory of
it. Beside a verdict that is the executor's code. What an image holds is looked through for
names of zones, without running anything. It is a look at images as they are commonly made: one
whose author hides such a name, as in two halves, is not found out.
"""

from __future__ import annotations

import os
import posixpath
import re
import tarfile
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from rolewall.sandbox.host import host_binds
from rolewall.sandbox.names import escape
from rolewall.sandbox.workdir import WORKSPACE

__all__ = ["LOOK", "loaded_by_archive", "loaded_by_host"]

LOOK = 1  # another number whenever what follows finds something else
MOST_BYTES = 64 << 30
MOST_ENTRIES = 4_000_000
_CHUNK = 1 << 20
_SHOWN = 120  # characters of a path
# Files by which interpreters, linkers and shells are told what to load before anything else.
_LOADER = re.compile(
    r"(?:.*\.(?:_?pth|egg-link)|__editable__.*|(?:site|user)customize\.p[ly]|pyvenv\.cfg|"
    r"ld\.so\.(?:conf.*|preload)|\.?(?:bash_)?profile|.*bashrc|\.bash_(?:login|env)|"
    r"\.?z(?:shenv|shrc|profile|login)|environment|\.?npmrc|\.?gitconfig|pip\.conf|"
    r"openssl\.cnf|php\.ini)\Z"
)
_LOADER_PLACES = ("etc/profile.d/", "etc/ld.so.conf.d/", "etc/environment.d/")
_HOST_PLACES = ("lib/python3*", "lib/python3*/*-packages", "local/lib/python3*",
                "local/lib/python3*/*-packages", "etc", "local/etc")  # fmt: skip
# What stands before a path that is no part of a longer one; it may be a flag's
# (-L/workspace/lib), or have more slashes than it needs (file:///workspace).
_BEFORE = (
    rb"(?<![A-Za-z0-9_.~})*\]%+@/-])|(?<=[^A-Za-z0-9_.-]-[A-Za-z])|(?<=[\s\"'=:,;\0]/)|(?<=://)"
)
_AFTER = rb"(?![A-Za-z0-9_-])(?!\.[A-Za-z0-9_])"


def loaded_by_archive(archive: tarfile.TarFile, zones: Collection[str]) -> str:
    """Why programs of a root file system may load what lies in a zone; empty where nothing
    of it says so.

    Args:
        archive: the file system, read once from its beginning to its end.
        zones: names of the zones that others write.

    Raises:
        tarfile.TarError: it cannot be read.
        OSError: likewise.
    """
    look = _Look(zones)
    entries = size = 0
    while (member := archive.next()) is not None:
        archive.members = []  # type: ignore[attr-defined]  # it keeps each, for random access
        entries, size = entries + 1, size + member.size
        if entries > MOST_ENTRIES or size > MOST_BYTES:
            return "an image that is too large to be looked through"
        if found := look.member(archive, member):
            return found
    if archive.fileobj is None or archive.fileobj.tell() <= archive.offset:
        raise tarfile.ReadError("it has no end")  # what comes after may have been cut off
    return ""


@cache
def loaded_by_host(zones: frozenset[str]) -> str:
    """The same of the image ``host``: of its loader files alone."""
    look = _Look(zones)
    for place in _host_loaders():
        try:
            data = place.read_bytes() if place.is_file() else b""
        except OSError:
            continue  # what only root can read, no role's program can load
        if name := look.named(data, loader=True):
            return _names(name, str(place))
    return ""


def _host_loaders() -> Iterator[Path]:
    """Files of the host that its boxes have and load from; what is laid over is left out."""
    over = {bind.target for bind in host_binds() if str(bind.source) != bind.target}
    roots = {Path(bind.target) for bind in host_binds() if bind.target not in over}
    for root in sorted(roots):
        if root.is_file():
            yield root
            continue
        for pattern in ("", *_HOST_PLACES):
            for folder in sorted(root.glob(pattern)) if pattern else [root]:
                if folder.is_dir() and str(folder) not in over:
                    yield from (e for e in sorted(folder.iterdir()) if _is_loader(str(e)[1:]))


def _is_loader(path: str) -> bool:
    return bool(_LOADER.match(posixpath.basename(path))) or path.startswith(_LOADER_PLACES)


def _names(zone: str, path: str) -> str:
    return f"an image that names {zone} in {_plain(path)}, and may load the work into any program"


def _plain(path: str) -> str:
    return escape(os.fsencode(path))[:_SHOWN]


class _Look:
    """What is looked for."""

    def __init__(self, zones: Collection[str]) -> None:
        self._zones = sorted({*zones, WORKSPACE.strip("/")})
        named = b"|".join(re.escape(zone.encode()) for zone in self._zones)
        work = re.escape(WORKSPACE.strip("/").encode())
        self._work = _path_of(work)
        self._any = _path_of(named)
        self._above = re.compile(rb"(?:\.\./)+(?:" + named + rb")(?![A-Za-z0-9_.-])")

    def member(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> str:
        path = "/" + posixpath.normpath(member.name).lstrip("/")
        if _within(path, WORKSPACE):
            return (
                f"an image that has something of its own at {WORKSPACE}, and may load the work into"
                " any program"
            )
        if member.issym() and (zone := self._led_to(path, member.linkname)):
            return (
                f"an image that has a link to {zone} at {_plain(path)}, and may load the work into"
                " any program"
            )
        if member.isfile() and member.size and (name := self._in_file(archive, member, path[1:])):
            return _names(name, path)
        return ""

    def _led_to(self, path: str, target: str) -> str:
        """The zone that a link leads to, or may: what lies on its way may be links too."""
        whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        whole = "/" + whole.lstrip("/")
        if re.match(r"/proc/[^/]+/(?:cwd|root|task/.*)(?:/|\Z)", whole):
            return "the directory that a program starts in"
        # Upwards again, by what may be a link.
        turned = re.findall(r"(?:\A|/)(?!\.{1,2}/)[^/]+/(?:.*/)?\.\./+([^/]+)", target)
        for zone in self._zones:
            if _within(whole, f"/{zone}") or zone in turned:
                return f"/{zone}"
        return ""

    def _in_file(self, archive: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> str:
        source = archive.extractfile(member)
        loader, kept, read = _is_loader(path), b"", 0
        while source and (piece := source.read(_CHUNK)):
            read += len(piece)
            if name := self.named(kept + piece, loader=loader):
                return name
            kept = piece[-64:]
        if read != member.size:
            raise tarfile.ReadError("a file ends early")
        return ""

    def named(self, data: bytes, *, loader: bool) -> str:
        """The path of a zone that stands in ``data``; of a loader file of any zone, also as
        one that leads upwards."""
        if loader and (found := self._any.search(data) or self._above.search(data)):
            return "/" + found[0].decode("utf-8", "replace").strip("/").rpartition("/")[2]
        # Most files hold nothing of the kind, which is found fastest so.
        if b"/workspace" in data and self._work.search(data):
            return WORKSPACE
        return ""


def _path_of(names: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?:" + _BEFORE + rb")/(?:" + names + rb")(?:" + _AFTER + rb")")


def _within(path: str, above: str) -> bool:
    return path == above or path.startswith(above + "/")
