"""What changed between two manifests of one zone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rolewall.sandbox.manifest import Entry, Manifest
from rolewall.sandbox.names import escape, order

__all__ = ["Difference", "aspects", "diff"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One entry that is not as it was.

    Attributes:
        path: relative to the zone, ``b""`` for the zone's own directory.
        change: what became of the entry.
        what: of a modified one, any of ``content mode owner mtime type target
            xattrs links``; ``links`` is the number of names of a file.
        derived: a directory whose time changed along with an entry in it that
            is itself reported.
    """

    path: bytes
    change: Literal["created", "deleted", "modified"]
    what: tuple[str, ...] = ()
    derived: bool = False

    @property
    def name(self) -> str:
        return escape(self.path) or "."


def diff(before: Manifest, after: Manifest) -> list[Difference]:
    """All differences, in the order of the paths.

    A content that was not read on either side counts as changed unless the
    file is the same one with the same times.
    """
    found = list(_changes(before, after))
    moved = {_parent(d.path) for d, _ in found if d.path and _touches_parent(d)}
    return [
        Difference(d.path, d.change, d.what, derived=True)
        if d.what == ("mtime",) and is_dir and d.path in moved
        else d
        for d, is_dir in found
    ]


def _changes(before: Manifest, after: Manifest) -> Iterator[tuple[Difference, bool]]:
    """In order, each with whether it is about a directory."""
    old, new = iter(before.entries), iter(after.entries)
    was, now = next(old, None), next(new, None)
    while was is not None or now is not None:
        if was is not None and now is not None and was.path == now.path:
            if was is not now and (what := aspects(was, now)):
                yield Difference(now.path, "modified", what), now.kind == "dir"
            was, now = next(old, None), next(new, None)
        elif now is None or (was is not None and order(was.path) < order(now.path)):
            assert was is not None
            yield Difference(was.path, "deleted"), was.kind == "dir"
            was = next(old, None)
        else:
            yield Difference(now.path, "created"), now.kind == "dir"
            now = next(new, None)


def _touches_parent(d: Difference) -> bool:
    """Replacing an entry by rename changes the directory just as creating one does."""
    return d.change != "modified" or bool({"content", "type", "target"} & set(d.what))


def _parent(path: bytes) -> bytes:
    return path.rpartition(b"/")[0]


def aspects(a: Entry, b: Entry) -> tuple[str, ...]:
    """In what two entries differ, apart from their paths: words of ``Difference.what``."""
    pairs = {
        "type": (a.kind, a.rdev) != (b.kind, b.rdev),
        "content": a.kind == b.kind == "file" and _content_differs(a, b),
        "target": a.kind == b.kind == "link" and a.target != b.target,
        "mode": a.mode != b.mode,
        "owner": (a.uid, a.gid) != (b.uid, b.gid),
        "mtime": a.mtime_ns != b.mtime_ns,
        "xattrs": a.xattrs != b.xattrs,
        "links": a.nlink != b.nlink or a.first != b.first,
    }
    return tuple(what for what, differs in pairs.items() if differs)


def _content_differs(a: Entry, b: Entry) -> bool:
    if a.size != b.size:
        return True
    if a.digest and b.digest:
        return a.digest != b.digest
    if a.stamp is None or b.stamp is None:
        return a.mtime_ns != b.mtime_ns
    return (a.stamp.ino, a.stamp.ctime_ns) != (b.stamp.ino, b.stamp.ctime_ns)
