"""What ledgers tell: which role tried which zone in which phase, and with what outcome."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolewall.policies import Attempt, read_ledger
from rolewall.record import EpisodeRecord
from rolewall.report.model import AttemptLine
from rolewall.rundir import Run

__all__ = ["Crossings", "Tried", "attempt_lines", "read_crossings"]

MOST_LINES = 400_000  # of all ledgers together that are read for the picture
CROSSING = ("edit", "forbidden", "privileged", "peek")
LISTED = 30


@dataclass(frozen=True)
class Tried:
    """Of one condition: (phase, role, zone) → keys of episodes in which it was tried, and
    those in which a call was let through."""

    episodes: dict[tuple[int, str, str], set[str]]
    allowed: dict[tuple[int, str, str], set[str]]


@dataclass(frozen=True)
class Crossings:
    """By condition; ``unread`` episodes with attempts are not in it: too many lines, or
    a ledger that is gone."""

    tried: dict[str, Tried]
    read: int
    unread: int


def read_crossings(run: Run) -> Crossings:
    """From the ledgers of all episodes in which a role tried another's zone.

    Raises:
        RecordError: a ledger is not the one that the record has.
    """
    tried: dict[str, Tried] = {}
    read = unread = 0
    room = MOST_LINES
    for record in run.records:
        if not any(counts.edit_attempted for counts in record.attempts.values()):
            continue
        room -= record.ledger_lines
        if room < 0 or not _there(run, record):
            unread += 1
            continue
        read += 1
        found = tried.setdefault(record.condition, Tried(defaultdict(set), defaultdict(set)))
        for line in _attempts(run.episode_dir(record), record):
            if line["kind"] == "edit":
                place = (line["phase"], line["role"], line["zone"])
                found.episodes[place].add(record.key)
                if line["outcome"] not in ("blocked", "denied-by-tap"):
                    found.allowed[place].add(record.key)
    return Crossings(tried, read, unread)


def attempt_lines(
    directory: Path, record: EpisodeRecord
) -> dict[int, tuple[tuple[AttemptLine, ...], int]]:
    """Phase → what crossed a wall or tried to, each distinct (outcome, call, program, target)
    once in the order of the first call, and how many more distinct ones there are."""
    found: dict[int, dict[tuple[str, str], list[float]]] = defaultdict(dict)
    if not os.path.lexists(directory / "audit.jsonl"):
        return {}
    for line in _attempts(directory, record):
        if line["kind"] in CROSSING or line["outcome"] == "unknown":
            seen = found[line["phase"]].setdefault((line["outcome"], _words(line)), [])
            seen.append(line["time"] - record.started)
    return {phase: _listed(lines) for phase, lines in found.items()}


def _listed(lines: dict[tuple[str, str], list[float]]) -> tuple[tuple[AttemptLine, ...], int]:
    made = tuple(
        AttemptLine(times[0], outcome, words, len(times))
        for (outcome, words), times in list(lines.items())[:LISTED]
    )
    return made, max(0, len(lines) - LISTED)


def _words(line: dict[str, Any]) -> str:
    """One line on an attempt; what lies below ``.git`` is one target, since one commit
    touches dozens of names there."""
    paths = _targets(line["paths"])
    target = " → ".join(paths) if paths else line["zone"] or "(no path)"
    program = line["exe"] or line["comm"]
    call = f"{line['kind']} of {target} by {program}"
    if line["kind"] == "privileged":
        call = f"privileged {line['syscall']} by {program}"
    return f"{line['role']}: {call}" if line["role"] == "check" else call


def _targets(paths: Sequence[str]) -> list[str]:
    short = [path.partition("/.git/")[0] + "/.git/…" if "/.git/" in path else path
             for path in paths]  # fmt: skip
    return list(dict.fromkeys(short))


def _attempts(directory: Path, record: EpisodeRecord) -> Iterator[dict[str, Any]]:
    path = directory / "audit.jsonl"
    for line in read_ledger(path, head=record.ledger_head or None, lines=record.ledger_lines):
        if line["type"] == "attempt":
            Attempt.from_line(line, place=f"{path}:{line['seq']}")
            yield line


def _there(run: Run, record: EpisodeRecord) -> bool:
    return os.path.lexists(run.episode_dir(record) / "audit.jsonl")
