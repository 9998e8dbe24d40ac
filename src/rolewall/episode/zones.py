"""The shared zones of one episode: sibling directories that the harness owns.

Everything here walks and opens by descriptor and follows no link, because a
role may have written what lies there. Call only while no role is alive,
except ``snapshot``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rolewall.policies import Policy, is_cache, shorten
from rolewall.sandbox import (
    BlobStore,
    LeftOut,
    Manifest,
    copy_tree,
    directory,
    empty_directory,
    export,
    fresh_repo,
    open_beneath,
    opened,
    remove_beneath,
    reopen,
    storage,
    take,
)

__all__ = ["Zones", "left_lines"]

MOST_NAMED = 100


def left_lines(left: Sequence[LeftOut]) -> tuple[str, ...]:
    """What was left out, a line each, lost contents first; a last line counts what is
    beyond ``MOST_NAMED``, of which a role can make a million."""
    named = sorted(left, key=lambda found: not found.lost)[:MOST_NAMED]
    lines = [f"{shorten(found.name)}: {found.why}" for found in named]
    if len(left) > len(named):
        lines.append(f"and {len(left) - len(named)} more")
    return tuple(lines)


class Zones:
    """The zones below ``root``, which must not exist.

    Attributes:
        owners: zone → owner, for every shared zone that has a directory.
    """

    def __init__(self, root: Path, policy: Policy, store: BlobStore) -> None:
        self._root = root
        self._store = store
        self.owners = {
            zone.name: zone.owner
            for zone in policy.zones
            if not zone.private and _seen(policy, zone.name)
        }
        with storage(root):
            (root / "zones").mkdir(mode=0o700, parents=True)
            for name in self.owners:
                self.path(name).mkdir(mode=0o755)
                self.path(name).chmod(0o755)

    def path(self, zone: str) -> Path:
        return self._root / "zones" / zone

    def sources(self, zones: Iterable[str]) -> dict[str, Path]:
        return {name: self.path(name) for name in zones}

    def stage(self, spec: str, brief: str, workspace: Path | None) -> None:
        """Fill workspace, and spec and brief where any role sees them; the workspace gets a
        fresh one-commit repository."""
        for zone, text in (("spec", spec), ("brief", brief)):
            if zone in self.owners:
                self.write(zone, f"{zone}.md", text.encode())
        if workspace is not None:
            copy_tree(workspace, self.path("workspace"))
        fresh_repo(self.path("workspace"), self._store)

    def take(self, previous: Mapping[str, Manifest] | None = None) -> dict[str, Manifest]:
        """The state of every zone. ``previous`` saves reading what has not changed: it may
        hold a zone only where no role could write that since."""
        known = previous or {}
        return {name: take(self.path(name), self._store, known.get(name)) for name in self.owners}

    def snapshot(self, into: Path, previous: Manifest | None) -> tuple[str, ...]:
        """A private copy of the workspace as it is, in the new directory ``into``;
        what could not be copied, as ``left_lines`` says it.

        May be called while roles are alive; a file that changes meanwhile is
        copied in some state. ``previous`` as for ``take``.
        """
        return left_lines(self.copy(take(self.path("workspace"), self._store, previous), into))

    def copy(self, manifest: Manifest, into: Path) -> list[LeftOut]:
        """Write a state into the new directory ``into``; what could not be copied.

        Caches stay behind: a planted one would run in place of the source that
        everybody reads. The copy's own directory can be used whatever mode a
        role gave the zone's.
        """
        with storage(into):
            into.mkdir(mode=0o755, parents=True)
        left = export(manifest.without(is_cache), self._store, into, git=True)
        with storage(into):
            into.chmod(0o755)
        return left

    def unlock(self) -> None:
        """Make every zone's own directory usable for its owner: a role may have
        closed it, to have the next box fail."""
        for name in self.owners:
            with storage(self.path(name)):
                mode = stat.S_IMODE(self.path(name).lstat().st_mode)
                if mode & 0o700 != 0o700:
                    self.path(name).chmod(mode | 0o700)

    def read(self, zone: str, name: str, most: int) -> bytes | None:
        """A regular file of a zone, None when there is none; one byte more than
        ``most`` tells the caller that it is too large."""
        with directory(self.path(zone)) as at:
            try:
                found = open_beneath(at, name.encode(), os.O_PATH)
            except OSError:
                return None
            with opened(found):
                if not stat.S_ISREG(os.fstat(found).st_mode):
                    return None
                with suppress(OSError), opened(reopen(found, os.O_RDONLY)) as file:
                    return _read(file, most + 1)
        return None

    def write(self, zone: str, name: str, data: bytes) -> None:
        """Put a file of the harness's in place of whatever has this name."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with storage(self.path(zone)), directory(self.path(zone)) as at:
            remove_beneath(at, name.encode())
            with open(os.open(name, flags, 0o644, dir_fd=at), "wb") as file:
                os.fchmod(file.fileno(), 0o644)
                file.write(data)

    def empty(self, zone: str) -> None:
        """Remove what the zone holds: it is new for its next writer."""
        if zone in self.owners:
            empty_directory(self.path(zone))


def _seen(policy: Policy, zone: str) -> bool:
    """Whether any role sees the zone: the others have no directory, so nothing can leak."""
    return any(policy.access[role][zone].value != "hidden" for role in policy.roles)


def _read(file: int, most: int) -> bytes:
    data = b""
    while len(data) < most and (piece := os.read(file, most - len(data))):
        data += piece
    return data
