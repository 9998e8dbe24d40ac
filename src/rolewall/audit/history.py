"""What later roles were shown of earlier ones, held against the transcripts it was made of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from rolewall.audit.contents import manifest_entries
from rolewall.episode import HISTORY, shown_transcript
from rolewall.errors import RecordError, StorageError
from rolewall.record import EpisodeRecord, PhaseRecord

__all__ = ["check_history"]


def check_history(
    directory: Path, record: EpisodeRecord, sound: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """(manifest, words) for each phase whose ``/history`` was not what the transcripts make.

    From the first phase on that changed it, where no wall is, it was what that one made
    of it: the manifests say so, and nothing is held.

    Args:
        sound: manifests, by name, that were verified.
    """
    wanted: dict[str, str] = {}
    nonces: list[str] = []
    for phase in record.phases:
        if HISTORY not in phase.manifests or _changed(phase):
            return
        name = f"{phase.name}-{HISTORY}.jsonl"
        if name in sound and _shown(directory / "manifests" / name) != wanted:
            yield name, "what was shown of earlier phases is not what their transcripts make"
        nonces += [row.nonce for row in record.verdicts if row.phase == phase.index]
        try:
            made = dict(shown_transcript(directory / "transcripts" / phase.name, nonces))
        except StorageError:
            return  # found where transcripts are checked
        wanted |= {name: hashlib.sha256(data).hexdigest() for name, data in made.items()}


def _changed(phase: PhaseRecord) -> bool:
    return phase.changes_omitted > 0 or any(c.zone == HISTORY for c in phase.changes)


def _shown(manifest: Path) -> dict[str, str]:
    """Name → SHA-256 of all that a manifest has, but for the zone itself."""
    try:
        return {
            entry["path"]: entry["digest"].removeprefix("sha256:")
            for entry in manifest_entries(manifest)
            if entry["path"]
        }
    except RecordError:
        return {}
