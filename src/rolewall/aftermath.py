"""What a phase left to be read by a person: its last words, and what was wrong with its handoff."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rolewall.errors import RecordError
from rolewall.record import PhaseRecord
from rolewall.seals import read_sealed
from rolewall.tally import FAILURES

__all__ = ["Aftermath", "read_aftermath"]

LINES = 5
TAIL = 1 << 20


@dataclass(frozen=True)
class Aftermath:
    """``stderr``: the last lines of a phase that failed; ``problems``: the harness's
    notes on its handoff."""

    stderr: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def read_aftermath(directory: Path, phase: PhaseRecord) -> Aftermath:
    """From the directory of the phase's episode. What cannot be read is left out, or
    said among the problems."""
    name = f"{phase.index:02}-{phase.role}"
    stderr: tuple[str, ...] = ()
    if phase.outcome in FAILURES:
        text = _stderr(directory / "transcripts" / name)
        stderr = tuple(text.rstrip().splitlines()[-LINES:])
    problems: tuple[str, ...] = ()
    if phase.handoff:
        problems = tuple(_problems(directory / "handoffs" / f"{name}.json"))
    return Aftermath(stderr, problems)


def _stderr(transcript: Path) -> str:
    """Of a command all that it wrote; of a script what its last step wrote that wrote any."""
    if text := _tail(transcript.with_suffix(".stderr")):
        return text
    for line in reversed(_tail(transcript.with_suffix(".jsonl")).splitlines()):
        try:
            step = json.loads(line)
            text = str(step["stderr"]["text"])
        except (ValueError, LookupError, TypeError, RecursionError):
            continue
        if text.strip():
            return text
    return ""


def _problems(path: Path) -> Iterator[str]:
    try:
        yield from read_sealed(path).handoff.problems
    except RecordError as error:
        yield f"the handoff cannot be read: {error.message}"


def _tail(path: Path) -> str:
    """The end of a regular file; empty where there is none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(file, "rb") as stream:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            return ""
        stream.seek(max(0, found.st_size - TAIL))
        return stream.read(TAIL).decode("utf-8", "replace")
