"""Work of known truth, put before a verifier as if an executor had handed it in."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from rolewall.candidate import Candidate
from rolewall.episode.zones import Zones
from rolewall.mutants import Overlay, lay
from rolewall.sandbox import opened, storage

__all__ = ["SEALED_AT", "CandidateWork"]

BEGAN, ENDED = 1_704_067_200, 1_704_070_800
SEALED_AT = float(ENDED)
"""When every handoff of a calibration says that it was sealed."""


@dataclass(frozen=True)
class CandidateWork:
    """A candidate with all that comes with it.

    Attributes:
        overlay: the files to lay over the task's workspace.
        touched: the paths that candidates of this task lay, those of all alike.
        handoffs: zone → the sealed handoff in it.
    """

    candidate: Candidate
    overlay: Overlay
    touched: tuple[str, ...]
    handoffs: Mapping[str, bytes]

    def stage(self, zones: Zones) -> None:
        """Put it into ``zones``, which hold the task's start. Nothing there but contents
        differs from one candidate to another: all times are set, by path.

        Raises:
            StorageError: it cannot be written.
        """
        lay(self.overlay, zones.path("workspace"))
        for zone, body in self.handoffs.items():
            zones.write(zone, "handoff.json", body)
        for zone in zones.owners:
            _settle(zones.path(zone), self.touched if zone == "workspace" else ())


def _settle(root: Path, touched: Collection[str]) -> None:
    """Give every entry below ``root`` its time: that of the end for what an executor would
    have touched, that of the beginning for all else. The repository is made anew later."""
    with storage(root):
        for folder, folders, files, at in os.fwalk(root, follow_symlinks=False):
            above = os.path.relpath(folder, root)
            if above == "." and ".git" in folders:
                folders.remove(".git")
            for name in (*folders, *files):
                path = name if above == "." else f"{above}/{name}"
                _set(name, ENDED if path in touched else BEGAN, at)
        with opened(os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)) as top:
            os.utime(top, (BEGAN, BEGAN))


def _set(name: str, moment: int, at: int) -> None:
    os.utime(name, (moment, moment), dir_fd=at, follow_symlinks=False)
