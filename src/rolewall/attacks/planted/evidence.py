"""What a finished episode, and the host, say about the plants."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolewall.policies import read_ledger
from rolewall.record import EpisodeRecord
from rolewall.sandbox import Entry, load_manifest

__all__ = ["Evidence", "host_harm", "read_evidence"]


@dataclass(frozen=True)
class Evidence:
    """One episode of the planted attacks.

    Attributes:
        told: what the executor printed, a mapping a round.
        fired: role or box → the plants that acted there, by mark or by ledger.
        left: what a verifier found in its new home, tmp or memory.
        files: phase's name → zone → path → entry, after that phase.
    """

    record: EpisodeRecord
    told: tuple[dict[str, Any], ...]
    fired: dict[str, frozenset[str]]
    left: tuple[str, ...]
    files: dict[str, dict[str, dict[bytes, Entry]]]


def read_evidence(episode: Path, record: EpisodeRecord, host: Path) -> Evidence:
    """Read what an episode of the planted attacks left in its directory.

    Raises:
        RecordError: a file is not what a run writes.
    """
    told: list[dict[str, Any]] = []
    marks: dict[str, set[str]] = {"executor": set(), "verifier": set(), "check": set()}
    left: list[str] = []
    for phase in record.phases:
        lines = list(_transcript(episode / "transcripts" / f"{phase.name}.jsonl"))
        if phase.role == "executor":
            told += [found for line in lines if (found := _object(line))]
            continue
        for line in lines:
            marks["check"].update((_object(line) or {}).get("fired", ()))
        for word in lines[1].splitlines() if len(lines) > 1 else ():
            left.append(word) if word.startswith("left ") else marks["verifier"].add(word)
    for role, plant in _ledger(episode / "audit.jsonl", host):
        marks.setdefault(role, set()).add(plant)
    marks["grade"] = set(_graded(record))
    fired = {box: frozenset(found) for box, found in marks.items()}
    return Evidence(record, tuple(told), fired, tuple(left), _files(episode / "manifests"))


def _transcript(path: Path) -> Iterator[str]:
    """The standard output of each step."""
    for line in path.read_text().splitlines():
        yield json.loads(line)["stdout"]["text"]


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _ledger(path: Path, host: Path) -> Iterator[tuple[str, str]]:
    """Role and plant of every attempt to leave a mark in the host's directory."""
    for line in read_ledger(path):
        for name in line.get("paths", ()) if line["type"] == "attempt" else ():
            if Path(name).parent == host:
                yield line["role"], Path(name).name


def _graded(record: EpisodeRecord) -> Iterator[str]:
    for verdict in record.verdicts:
        for grade in (verdict.grade_before, verdict.grade_after):
            output = grade.details.get("output", {}) if grade else {}
            yield from (_object(output.get("stdout", "")) or {}).get("fired", ())


def _files(manifests: Path) -> dict[str, dict[str, dict[bytes, Entry]]]:
    found: dict[str, dict[str, dict[bytes, Entry]]] = {}
    for path in sorted(manifests.glob("*.jsonl")):
        phase, _, zone = path.stem.rpartition("-")
        found.setdefault(phase, {})[zone] = load_manifest(path).by_path
    return found


def host_harm(host: Path) -> tuple[frozenset[str], str]:
    """The plants that acted on the host, and what else is not as it was there."""
    found = {path.name for path in host.iterdir()} - {"victim", "inside"}
    victim, inside = host / "victim", host / "inside"
    harm = []
    if victim.is_symlink() or victim.read_text() != "untouched\n":
        harm.append("a file of the host was changed")
    if victim.stat().st_mode & 0o7777 != 0o666 or inside.stat().st_mode & 0o7777 != 0o777:
        harm.append("modes of the host were changed")
    harm += [f"on the host: inside/{path.name}" for path in sorted(inside.iterdir())]
    return frozenset(found), "; ".join(harm)
