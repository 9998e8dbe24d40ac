"""What is kept of an experiment, written as it goes on.

::

    DIR/episodes.jsonl   one line an episode, each with the digest of the line before
        summary.json     what ``--json`` prints; its seal is the digest of the last line
        attempts/        the ledger of each box
        transcripts/     of a team's executor
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rolewall.binding.found import Found
from rolewall.binding.scoring import Scored
from rolewall.errors import InputError
from rolewall.policies import Ledger
from rolewall.sandbox import storage, temporary_directory
from rolewall.storage import write_output

__all__ = ["Kept", "keeping"]

LINES, SUMMARY = "episodes.jsonl", "summary.json"


class Kept:
    """Takes what was played, in any order, from any thread, and writes it in the order of the
    plan.

    Attributes:
        out: the directory; None where nothing is kept beyond the experiment.
        attempts, transcripts: directories for these.
        scratch: one that is gone afterwards.
    """

    def __init__(self, scratch: Path, out: Path | None, lines: Ledger | None) -> None:
        self.out = out
        self.scratch = scratch / "zones"
        root = out or scratch
        self.attempts = root / "attempts"
        self.transcripts = root / "transcripts"
        with storage(root):
            self.scratch.mkdir()
            self.attempts.mkdir()
            self.transcripts.mkdir()
        self._lines = lines
        self._lock = threading.Lock()
        self._waiting: dict[int, Sequence[Scored]] = {}
        self._next = 0

    def add(self, number: int, scored: Sequence[Scored]) -> None:
        """What the plan's ``number``-th piece came to, from 0. Raises StorageError."""
        with self._lock:
            self._waiting[number] = scored
            while (ready := self._waiting.pop(self._next, None)) is not None:
                self._next += 1
                for one in ready if self._lines else ():
                    assert self._lines is not None
                    self._lines.append({"type": "note", **one.json()})

    def seal(self, found: Found) -> str | None:
        """Write the summary; the digest of the last line."""
        if self.out is None or self._lines is None:
            return None
        data = json.dumps({**found.json(), "seal": self._lines.head}, indent=1).encode()
        write_output(self.out / SUMMARY, data + b"\n")
        return self._lines.head


@contextmanager
def keeping(out: Path | None) -> Iterator[Kept]:
    """Where an experiment is written down.

    Raises:
        InputError: there is something in ``out``. StorageError: it cannot be written to.
    """
    with ExitStack() as stack:
        scratch = stack.enter_context(temporary_directory())
        if out is not None:
            _new(out)
        yield Kept(scratch, out, stack.enter_context(Ledger(out / LINES)) if out else None)


def _new(out: Path) -> None:
    if os.path.lexists(out) and not out.is_dir():
        raise InputError("not a directory", place=f"-o {out}")
    with storage(out):
        out.mkdir(parents=True, exist_ok=True)
        with os.scandir(out) as entries:
            taken = next(entries, None)
    if taken is not None:
        raise InputError(
            "there is something already",
            place=f"-o {out}",
            got=taken.name,
            expected="a new or empty directory",
        )
