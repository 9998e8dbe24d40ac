"""Links in the work that lead to what the grader knows.

A workspace may hold a link to ``/grader/expected.json``, planted before that
file existed. The grader, not the work, would follow it: it would compare the
truth with itself. Such links are taken out of the copy that is graded.
"""

from __future__ import annotations

import os
from pathlib import Path

from rolewall.sandbox import walk

__all__ = ["remove_leading_out"]

MOST_LINKS = 40
SYSTEM = {"usr", "bin", "sbin", "lib", "lib64", "etc", "opt"}
DEVICES = (["dev", "null"], ["dev", "zero"], ["dev", "urandom"])
WORKSPACE = "workspace"


def remove_leading_out(work: Path) -> list[str]:
    """Remove every link of ``work`` that leads out of ``/workspace``, unless into
    the system's own directories; return their paths, undecodable bytes escaped.

    No process that can write ``work`` may be alive.
    """
    removed = []
    for node in walk(work):
        if node.kind != "link":
            continue
        path = os.fsdecode(node.path)
        if _leads_out(work, path):
            os.unlink(node.name, dir_fd=node.parent)
            removed.append(path.encode("utf-8", "backslashreplace").decode())
    return removed


def _leads_out(work: Path, path: str) -> bool:
    """Follow ``path`` as the box would, one part at a time."""
    here: list[str] = []
    ahead = [WORKSPACE, *path.split("/")]
    links = 0
    while ahead:
        if here and here[0] != WORKSPACE:
            return not _is_system(here + ahead)
        part = ahead.pop(0)
        if part == "..":
            here = here[:-1]
        elif part not in ("", "."):
            here.append(part)
            target = _target(work, here)
            if target is not None:
                links += 1
                if links > MOST_LINKS:
                    return False  # a loop leads nowhere
                here = [] if target.startswith("/") else here[:-1]
                ahead = target.split("/") + ahead
    return bool(here) and here[0] != WORKSPACE and not _is_system(here)


def _target(work: Path, here: list[str]) -> str | None:
    """Where the entry leads, if it is a link of the workspace. All parts before
    the last are known to be no links."""
    if here[0] != WORKSPACE or len(here) == 1:
        return None
    try:
        return os.readlink(os.path.join(work, *here[1:]))
    except OSError:
        return None


def _is_system(parts: list[str]) -> bool:
    """Whether a path stays in the system. A ``..`` could climb out of it by a
    link of the system's, so none is accepted."""
    if ".." in parts:
        return False
    plain = [part for part in parts if part not in ("", ".")]
    return plain[0] in SYSTEM or plain in DEVICES
