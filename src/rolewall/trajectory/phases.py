"""One trajectory for each phase of an episode, from what its transcript holds.

First comes what the agent's own program printed, if its preset can read it, with what that
lacks from the exchanges; then the gateway's record of exchanges; then the commands that the
harness ran.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from rolewall._beneath import Root
from rolewall.errors import RecordError
from rolewall.record import EpisodeRecord, PhaseRecord
from rolewall.roles import (
    EXCHANGES,
    PRESETS,
    THEN,
    Printed,
    ToolCall,
    ToolResult,
    Trajectory,
    TrajectoryStep,
)
from rolewall.trajectory.clean import Cleaner
from rolewall.trajectory.commands import from_commands
from rolewall.trajectory.exchanges import from_exchanges
from rolewall.trajectory.filling import filled

__all__ = ["PhaseTrajectory", "cleaned", "read_trajectories"]

FILE_CAP = 512 << 20


@dataclass(frozen=True)
class PhaseTrajectory:
    """What one role did in one phase, cleaned."""

    phase: PhaseRecord
    trajectory: Trajectory


def read_trajectories(directory: Path, record: EpisodeRecord) -> Iterator[PhaseTrajectory]:
    """The trajectories of an episode, phase by phase.

    Raises:
        RecordError: a transcript is not there, or is not what the record says it was.
    """
    cleaner = Cleaner(row.nonce for row in record.verdicts)
    for phase in record.phases:
        with Root(directory, RecordError) as root:
            found = _Files(root, phase).trajectory()
        yield PhaseTrajectory(phase, cleaned(found, cleaner))


class _Files:
    """The transcript's files of one phase; each is held to its digest when it is read."""

    def __init__(self, root: Root, phase: PhaseRecord) -> None:
        self._root = root
        self._phase = phase

    def trajectory(self) -> Trajectory:
        lines = [line for line in self._lines() if "tool" in line]
        preset = next((line for line in lines if line["tool"] in PRESETS), None)
        agent = str(preset["tool"]) if preset else ""
        own = self._printed(preset, lines) if preset else None
        found = from_exchanges(self._bytes(EXCHANGES), agent) if self._has(EXCHANGES) else None
        if own and own.steps:
            return filled(own, found, self._phase.role) if found else own
        if not (found and found.steps):
            found = from_commands(lines)
        return replace(found, problems=(*(own.problems if own else ()), *found.problems))

    def _printed(self, line: Mapping[str, Any], lines: list[dict[str, Any]]) -> Trajectory:
        out, err = self._bytes("stdout"), self._bytes("stderr")
        then = next((other for other in lines if other["tool"] == THEN), None)
        printed = Printed(
            _piece(out, line.get("stdout")),
            _piece(err, line.get("stderr")),
            _piece(out, then.get("stdout")) if then else b"",
        )
        found = PRESETS[cast(Any, line["tool"])].parse(printed)
        cut = [name for name in ("stdout", "stderr") if _cut(line.get(name))]
        more = [f"its {name} was cut when it was recorded" for name in cut]
        return replace(found, problems=(*found.problems, *more))

    def _lines(self) -> Iterator[dict[str, Any]]:
        if not self._has("jsonl"):
            return
        for number, line in enumerate(self._bytes("jsonl").splitlines(), 1):
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                place = f"{self._root.place(self._name('jsonl'))}:{number}"
                raise RecordError("not a line of a transcript", place=place) from None
            if isinstance(found, dict):
                yield found

    def _name(self, suffix: str) -> str:
        return f"{self._phase.name}.{suffix}"

    def _has(self, suffix: str) -> bool:
        return self._name(suffix) in self._phase.transcript_sha256

    def _bytes(self, suffix: str) -> bytes:
        name = self._name(suffix)
        path = f"transcripts/{name}"
        data = self._root.read(path, FILE_CAP)
        digest = hashlib.sha256(data).hexdigest()
        if digest != self._phase.transcript_sha256.get(name):
            raise RecordError(
                "altered since it was recorded", place=self._root.place(path), got=digest,
                expected=self._phase.transcript_sha256.get(name, "no such file"),
                hint="`rolewall audit` says more",
            )  # fmt: skip
        return data


def _piece(data: bytes, stream: object) -> bytes:
    """What of a phase's output one command wrote."""
    if not isinstance(stream, dict):
        return b""
    begins, size = stream.get("file_offset"), stream.get("bytes")
    if not isinstance(begins, int) or not isinstance(size, int) or min(begins, size) < 0:
        return b""
    return data[begins : begins + size]


def _cut(stream: object) -> bool:
    return isinstance(stream, dict) and bool(stream.get("file_truncated"))


def cleaned(found: Trajectory, cleaner: Cleaner) -> Trajectory:
    """The same without nonces, and without what no UTF-8 or JSON can hold."""
    return replace(
        found,
        agent=cleaner.text(found.agent),
        version=cleaner.text(found.version),
        steps=tuple(_step(step, cleaner) for step in found.steps),
        problems=tuple(cleaner.text(problem) for problem in found.problems),
    )


def _step(step: TrajectoryStep, cleaner: Cleaner) -> TrajectoryStep:
    return replace(
        step,
        text=cleaner.text(step.text),
        reasoning=cleaner.text(step.reasoning),
        model=cleaner.text(step.model) if step.model else None,
        calls=tuple(
            ToolCall(cleaner.text(c.id), cleaner.text(c.name), cleaner.value(c.arguments))
            for c in step.calls
        ),
        results=tuple(
            ToolResult(cleaner.text(r.id), cleaner.text(r.text), r.failed) for r in step.results
        ),
    )
