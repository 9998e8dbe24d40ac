"""Verdict rows held against the verdict files that were kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rolewall.audit.contents import Contents, manifest_entries
from rolewall.episode import verdict_in
from rolewall.errors import RecordError, StorageError
from rolewall.record import EpisodeRecord, PhaseRecord, VerdictRecord
from rolewall.roles import MAX_VERDICT

__all__ = ["check_verdicts"]


def check_verdicts(
    directory: Path, record: EpisodeRecord, contents: Contents, sound: frozenset[str]
) -> Iterator[str]:
    """Where a verdict row is not what the kept verdict file makes it.

    Args:
        sound: manifests, by name, that were verified.
    """
    phases = {phase.index: phase for phase in record.phases}
    for row in record.verdicts:
        phase = phases.get(row.phase)
        name = f"{phase.name}-verdict.jsonl" if phase else ""
        if phase is not None and name in sound:
            yield from _row(directory / "manifests" / name, row, phase, contents)


def _row(
    manifest: Path, row: VerdictRecord, phase: PhaseRecord, contents: Contents
) -> Iterator[str]:
    if not row.nonce:
        yield f"the verdict of phase {row.phase} has no nonce to read its file by"
        return
    try:
        entry = _entry(manifest)
        if entry is not None and not entry["oid"]:
            return  # not kept, and the manifest says why
        data = contents.first(entry["oid"], MAX_VERDICT + 1) if entry else None
    except (RecordError, StorageError):
        return  # found where contents are checked
    found = verdict_in(data, row.nonce, phase.outcome, phase.usage)
    for what, has, makes in (
        ("verdict", row.verdict, found.verdict),
        ("why", row.why, found.why),
        ("checks", row.checks, tuple(check.model_dump(mode="json") for check in found.checks)),
        ("claims", tuple(claim.get("command") for claim in row.claims), found.commands),
    ):
        if has != makes:
            yield f"{what} of phase {row.phase} is not what the kept verdict.json makes it"


def _entry(manifest: Path) -> dict[str, Any] | None:
    """The verdict's file in a manifest; None where there was none to read."""
    for entry in manifest_entries(manifest):
        if entry["path"] == "verdict.json":
            return entry if entry["kind"] == "file" else None
    return None
