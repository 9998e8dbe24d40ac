"""What a phase left to be read by a person: its last words, and what was wrong with its handoff."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rolewall._files import open_regular
from rolewall.audit import read_sealed
from rolewall.errors import RecordError
from rolewall.record import PhaseRecord
from rolewall.roles import HANDOFF_ZONES, NOT_WRITTEN
from rolewall.tally import FAILURES

__all__ = ["Aftermath", "problem_lines", "read_aftermath"]

LINES = 5
TAIL = 1 << 20
HINT = "`rolewall audit` says more"


@dataclass(frozen=True)
class Aftermath:
    """``stderr``: the last lines of a phase that failed; ``problems``: the harness's
    notes on its handoff."""

    stderr: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def read_aftermath(directory: Path, phase: PhaseRecord) -> Aftermath:
    """From the directory of the phase's episode. What cannot be read is left out, or
    said among the problems. Raises RecordError where a transcript is not the recorded one."""
    name = phase.name
    stderr: tuple[str, ...] = ()
    if phase.outcome in FAILURES:
        text = _stderr(directory / "transcripts" / name, phase)
        stderr = tuple(text.rstrip().splitlines()[-LINES:])
    problems: tuple[str, ...] = ()
    if phase.handoff:
        problems = tuple(_problems(directory / "handoffs" / f"{name}.json", phase.handoff))
    return Aftermath(stderr, problems)


def problem_lines(phase: PhaseRecord, left: Aftermath, verdict: str | None) -> Iterator[str]:
    """The problems in words, each with whose handoff it is of and in which file.

    Args:
        verdict: of a verifier: one that approves has nobody to give feedback to.
    """
    file = f"{HANDOFF_ZONES.get(phase.role, phase.role)}/handoff.json"
    for problem in left.problems:
        if verdict == "approve" and problem == f"{file}: {NOT_WRITTEN}":
            yield f"no /{file} was written: an approval needs none"
        else:
            placed = problem if problem.startswith(f"{file}:") else f"{file}: {problem}"
            yield f"problem with the {phase.role}'s /{placed}"


def _stderr(transcript: Path, phase: PhaseRecord) -> str:
    """Of a command all that it wrote; of a script what its last step wrote that wrote any."""
    if text := _tail(transcript.with_suffix(".stderr"), phase):
        return text
    for line in reversed(_tail(transcript.with_suffix(".jsonl"), phase).splitlines()):
        try:
            step = json.loads(line)
            text = str(step["stderr"]["text"])
        except (ValueError, LookupError, TypeError, RecursionError):
            continue
        if text.strip():
            return text
    return ""


def _problems(path: Path, recorded: str) -> Iterator[str]:
    try:
        sealed = read_sealed(path)
        if recorded in sealed.digests:
            yield from sealed.handoff.problems
        else:
            yield "the handoff is not the one that the record has"
    except RecordError as error:
        yield f"the handoff cannot be read: {error.message}"


def _tail(path: Path, phase: PhaseRecord) -> str:
    """The end of a regular file that the record has; empty where there is none."""
    recorded = phase.transcript_sha256.get(path.name)
    if recorded is None:
        return ""
    try:
        with open(open_regular(path), "rb") as stream:
            digest, end = hashlib.sha256(), b""
            while block := stream.read(TAIL):
                digest.update(block)
                end = (end + block)[-TAIL:]
    except OSError:
        return ""
    if digest.hexdigest() != recorded:
        raise RecordError("changed since it was recorded", place=str(path), hint=HINT)
    return end.decode("utf-8", "replace")
