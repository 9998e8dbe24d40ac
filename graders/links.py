"""Links in the work that lead to what the grader knows.

A workspace may hold a link to ``/grader/expected.json``, planted before that
file existed. The grader, not the work, would follow it: it would compare the
truth with itself. Such links are taken out of the copy that is graded.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rolewall.sandbox import directory, open_beneath, opened, storage, walk

__all__ = ["remove_leading_out"]

MOST_LINKS = 40
MOST_STEPS = 5_000_000  # of all links together: a million links of forty hops would take days
SYSTEM = {b"usr", b"bin", b"sbin", b"lib", b"lib64", b"etc", b"opt"}
DEVICES = ([b"dev", b"null"], [b"dev", b"zero"], [b"dev", b"urandom"])
WORKSPACE = b"workspace"
WORKSPACE_PATH = "/workspace"


def remove_leading_out(work: Path, also: str = WORKSPACE_PATH) -> list[bytes]:
    """Remove every link of ``work`` that leads out of ``/workspace``, unless into
    the system's own directories; return their paths. ``also`` is another path of
    ``/workspace``.

    Where it would take too long to tell, the rest of the links go too. No process
    that can write ``work`` may be alive.
    """
    removed = []
    with directory(work) as root, storage(work):
        tracer = _Tracer(root, os.fsencode(also))
        for node in walk(root, unopened=lambda _path, _status: True):
            if node.kind == "link" and tracer.leads_out(node.path):
                os.unlink(node.name, dir_fd=node.parent)
                removed.append(node.path)
    return removed


class _Tracer:
    """Follows links as the box would, one part at a time."""

    def __init__(self, root: int, also: bytes) -> None:
        self._root = root
        self._also = also.strip(b"/").split(b"/")
        self._steps = MOST_STEPS

    def leads_out(self, path: bytes) -> bool:
        """``path`` is a link, and what is above it are directories."""
        here = [WORKSPACE, *path.split(b"/")[:-1]]
        ahead = [path.rpartition(b"/")[2]]
        links = 0
        while ahead:
            if here and here[0] != WORKSPACE:
                return not _is_system([*here, *reversed(ahead)])
            part = ahead.pop()
            if part == b"..":
                here = here[:-1]
            elif part not in (b"", b"."):
                here.append(part)
                target = self._target(here)
                if target is None:
                    continue
                links += 1
                if links > MOST_LINKS:
                    return False  # a loop leads nowhere
                parts = target.split(b"/")
                if target.startswith(b"/"):
                    here, parts = [], self._by_one_name(parts)
                else:
                    here = here[:-1]
                ahead += reversed(parts)
            if self._steps <= 0:
                return True
        return bool(here) and here[0] != WORKSPACE and not _is_system(here)

    def _by_one_name(self, parts: list[bytes]) -> list[bytes]:
        """The parts of an absolute path; the work's are below ``/workspace``."""
        plain = [part for part in parts if part not in (b"", b".")]
        ends = len(self._also)
        return [WORKSPACE, *plain[ends:]] if plain[:ends] == self._also else parts

    def _target(self, here: Sequence[bytes]) -> bytes | None:
        """Where the entry leads, if it is a link of the workspace. All parts before
        the last are known to be no links."""
        # An open of a long path resolves each of its parts.
        self._steps -= 1 + len(here) // 8
        if here[0] != WORKSPACE or len(here) == 1:
            return None
        try:
            with opened(open_beneath(self._root, b"/".join(here[1:]), os.O_PATH)) as entry:
                return os.readlink(b"", dir_fd=entry)
        except OSError:
            return None


def _is_system(parts: Sequence[bytes]) -> bool:
    """Whether a path stays in the system. A ``..`` could climb out of it by a
    link of the system's, so none is accepted."""
    if b".." in parts:
        return False
    plain = [part for part in parts if part not in (b"", b".")]
    return plain[0] in SYSTEM or plain in DEVICES
