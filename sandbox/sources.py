"""May these directories be the zones of one box?

A wall between two zones is none if both lead to the same file: a writable zone
inside a read-only one, one directory under two names, a hard link in each. And
it is none against what is no file: a read-only mount stops neither connecting
to a socket nor writing to a FIFO or device, and through the id-map these are
the role's own. Checked here, before a box is made, on the directories as they
are; what a role makes in its own zones itself leads to nobody.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rolewall._beneath import Entry, Root, shown
from rolewall.errors import InputError

__all__ = ["check_directories", "check_sources"]

_Identity = tuple[int, int]
_MOST = 1_000_000
_PLAIN = frozenset({"file", "directory", "link"})
_OCTAL = re.compile(rb"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class _Source:
    name: str
    path: Path
    identity: _Identity


def check_sources(sources: Mapping[str, Path], *, most: int = _MOST) -> None:
    """Refuse directories that cannot be kept apart as zones.

    Args:
        sources: zone name → directory. Parents of a directory may be links, it itself may not.
        most: how many files a zone may hold; beyond it nothing can be said, so it is refused.

    Raises:
        InputError: one is ``/``, no directory or a link; two are equal, contain one another or
            share a directory or a hard-linked file, in which case both are named; a mount, a
            socket, a FIFO or a device lies in one.
    """
    check_directories({f"zone {zone}": path for zone, path in sources.items()}, most=most)


def check_directories(sources: Mapping[str, Path], *, most: int = _MOST) -> None:
    """As ``check_sources``, for directories whose names in messages are ``sources``' keys."""
    found = [_source(name, path) for name, path in sources.items()]
    mounts = _mount_points()
    for source in found:
        _check_mounts(source, mounts)
    for index, one in enumerate(found):
        for other in found[index + 1 :]:
            _check_pair(one, other)
    _check_contents(found, most)


def _source(place: str, path: Path) -> _Source:
    try:
        named = os.stat(os.path.normpath(path), follow_symlinks=False)
        real = Path(os.path.realpath(path, strict=True))
        root = os.stat("/")
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not a path"
        raise InputError(
            f"cannot be used: {reason}", place=place, got=shown(path), expected="a directory"
        ) from None
    if not stat.S_ISDIR(named.st_mode):
        got = "a link" if stat.S_ISLNK(named.st_mode) else "something else"
        message = f"{shown(path)} is not a directory"
        raise InputError(message, place=place, got=got, expected="a directory itself")
    identity = (named.st_dev, named.st_ino)
    if identity == (root.st_dev, root.st_ino):
        raise InputError("the whole file system cannot be a zone", place=place, got=shown(path))
    return _Source(place, real, identity)


def _check_pair(one: _Source, other: _Source) -> None:
    if one.identity == other.identity:
        raise _refused(one, other, "are the same directory")
    for inner, outer in ((one, other), (other, one)):
        if outer.identity in _ancestors(inner):
            raise _refused(outer, inner, f"contain one another: {shown(inner.path)} is inside")


def _ancestors(source: _Source) -> set[_Identity]:
    found: set[_Identity] = set()
    for parent in source.path.parents:
        try:
            at = os.stat(parent)
        except OSError as problem:
            raise _unreadable(source, parent, problem) from None
        found.add((at.st_dev, at.st_ino))
    return found


def _check_mounts(source: _Source, mounts: list[Path]) -> None:
    for mount in mounts:
        if mount != source.path and mount.is_relative_to(source.path):
            raise InputError(
                "a mount lies below the directory; it would escape the zone's access",
                place=source.name,
                got=shown(mount),
                expected="a directory with no mount below",
            )


def _check_contents(sources: list[_Source], most: int) -> None:
    """Walks each zone for what a name cannot show: hard links, a zone's top bound inside, and
    ways out of the box."""
    tops = {source.identity: source for source in sources}
    linked: dict[_Identity, tuple[_Source, str]] = {}
    for source in sources:
        with Root(source.path) as root:
            for entry in root.walk(most=most):
                if entry.kind not in _PLAIN:
                    raise _way_out(source, entry)
                if entry.kind == "directory":
                    other = tops.get(entry.identity)
                    if other is not None and other is not source:
                        raise _refused(source, other, f"share the directory {shown(entry.path)}")
                elif entry.stat.st_nlink > 1:
                    first, path = linked.setdefault(entry.identity, (source, entry.path))
                    if first is not source:
                        raise _refused(
                            first, source, f"share a file: {shown(path)} and {shown(entry.path)}"
                        )


def _mount_points() -> list[Path]:
    with open("/proc/self/mountinfo", "rb") as file:
        fields = [line.split(b" ") for line in file]
    return [Path(os.fsdecode(_OCTAL.sub(_octal, field[4]))) for field in fields]


def _octal(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 8)])


def _refused(one: _Source, other: _Source, how: str) -> InputError:
    names = [one.name, other.name]
    if all(name.startswith("zone ") for name in names):
        names = [f"zones {names[0][5:]}", names[1][5:]]
    return InputError(
        f"{' and '.join(names)} {how}",
        place=", ".join(names),
        expected="separate directories",
        hint="copy one of them to a place of its own",
    )


def _way_out(source: _Source, entry: Entry) -> InputError:
    return InputError(
        f"a {entry.kind} in a zone leads out of its box, whatever the zone's access",
        place=source.name,
        got=shown(entry.path),
        expected="files, directories and links",
        hint="move it elsewhere, or give a copy without it",
    )


def _unreadable(source: _Source, path: Path, problem: OSError) -> InputError:
    return InputError(f"{shown(path)} cannot be read: {problem.strerror}", place=source.name)
