"""What a phase changed, as unified diffs, from manifests and the blob store alone.

No git command runs and nothing is written: a run is looked at as it is.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

from rolewall.errors import RecordError, StorageError
from rolewall.policies import unescape
from rolewall.record import Change, EpisodeRecord, PhaseRecord, phase_name
from rolewall.report.model import DiffView
from rolewall.sandbox import BlobStore, Entry, Manifest, load_manifest

__all__ = ["Diffs"]

FILES, LINES = 12, 60  # shown of one phase; of one file
CONTENT, LONGEST = 128 << 10, 2000  # bytes, and lines, of a content that is compared
MANIFEST = 8 << 20  # bytes of a manifest that is read
NO_NEWLINE = "\\ no newline at the end"
HINT = "`rolewall audit` says more"


class Diffs:
    """Renders the changes of one run's episodes."""

    def __init__(self, run: Path) -> None:
        store = run / "blobs.git"
        self._store = BlobStore(store, make=False) if os.path.isdir(store) else None

    def of(
        self, directory: Path, record: EpisodeRecord, phase: PhaseRecord
    ) -> tuple[tuple[DiffView, ...], tuple[str, ...]]:
        """The files that a phase changed, and words on what is not shown.

        Raises:
            RecordError: a manifest is not the one that the record has.
        """
        inner = [c for c in phase.changes if _in_git(c.path)]
        outer = [c for c in phase.changes if not _in_git(c.path)]
        shown = sorted(outer, key=lambda c: (not c.cross_role, c.zone, c.path))[:FILES]
        states = _States(directory, record, phase)
        views = tuple(self._view(states, change) for change in shown)
        left = list(_left_out(phase, len(outer) - len(shown), inner))
        return views, (*left, *states.problems)

    def _view(self, states: _States, change: Change) -> DiffView:
        name = f"/{change.zone}/{change.path}"
        what = f"{change.change} ({', '.join(change.what)})" if change.what else change.change
        if change.change == "modified" and "content" not in change.what:
            return DiffView(name, what, change.cross_role)
        before = states.entry(change, 0) if change.change != "created" else None
        after = states.entry(change, 1) if change.change != "deleted" else None
        lines, words = self._lines(before, after)
        return DiffView(name, what, change.cross_role, lines, words)

    def _lines(
        self, before: Entry | None, after: Entry | None
    ) -> tuple[tuple[tuple[str, str], ...], str]:
        entries = [entry for entry in (before, after) if entry is not None]
        for entry in entries:
            if (words := self._unfit(entry)) is not None:
                return (), words
        if not entries:
            return (), "its manifest is not there to be read"
        try:
            old, new = self._text(before), self._text(after)
        except StorageError as error:
            return (), error.message
        except UnicodeDecodeError:
            sizes = " → ".join(str(entry.size) for entry in entries)
            return (), f"binary, {sizes} bytes"
        if old and new and max(len(old), len(new)) > LONGEST:
            return (), f"{len(old)} → {len(new)} lines: too many to be compared here"
        made = list(_unified(old, new))
        more = len(made) - LINES
        return tuple(made[:LINES]), f"{more} more lines" if more > 0 else ""

    def _unfit(self, entry: Entry) -> str | None:
        """Why an entry's content cannot be compared, in words; None where it can."""
        if entry.kind != "file":
            return "" if entry.kind == "dir" else f"a {entry.kind}"
        if entry.size > CONTENT:
            return f"{entry.size} bytes: too large to be compared here"
        if not entry.oid or self._store is None:
            return entry.note or "its content was not kept"
        return None

    def _text(self, entry: Entry | None) -> list[str]:
        if entry is None:
            return []
        assert self._store is not None
        data = b""
        for piece in self._store.chunks(entry.oid, entry.sha256):
            data += piece
            if len(data) > CONTENT:  # the manifest told of fewer
                raise StorageError("a stored content is damaged")
        if b"\0" in data:
            raise UnicodeDecodeError("utf-8", data[:1], 0, 1, "binary")
        lines = data.decode("utf-8").split("\n")
        return lines[:-1] if lines[-1] == "" else [*lines, NO_NEWLINE]


class _States:
    """The zones before and after a phase, each manifest read once."""

    def __init__(self, directory: Path, record: EpisodeRecord, phase: PhaseRecord) -> None:
        self._directory, self._record, self._phase = directory, record, phase
        self._read: dict[tuple[str, int], Manifest | None] = {}
        self.problems: list[str] = []

    def entry(self, change: Change, side: int) -> Entry | None:
        if (change.zone, side) not in self._read:
            self._read[change.zone, side] = self._load(change.zone, side)
        manifest = self._read[change.zone, side]
        return None if manifest is None else _find(manifest, change.path)

    def _load(self, zone: str, side: int) -> Manifest | None:
        name, digest = self._named(zone, side)
        path = self._directory / "manifests" / f"{name}-{zone}.jsonl"
        try:
            size = path.lstat().st_size
        except OSError:
            size = -1
        if size < 0 or size > MANIFEST:
            self.problems.append(f"{path.name}: {'absent' if size < 0 else 'too large to be read'}")
            return None
        manifest = load_manifest(path)
        if manifest.digest != digest:
            raise RecordError("changed since it was recorded", place=str(path), hint=HINT)
        return manifest

    def _named(self, zone: str, side: int) -> tuple[str, str]:
        """The name a manifest's file begins with, and its recorded digest."""
        if side:
            return self._phase.name, self._phase.manifests.get(zone, "")
        earlier = [p for p in self._record.phases if p.index < self._phase.index]
        for phase in reversed(earlier):
            if zone in phase.manifests:
                return phase_name(phase.index, phase.role), phase.manifests[zone]
        return "start", self._record.digests.get(f"start:{zone}", "")


def _find(manifest: Manifest, name: str) -> Entry | None:
    """By its name as a record has it; ``.`` is the zone itself."""
    try:
        return manifest.by_path.get(unescape("" if name == "." else name))
    except ValueError:
        return None


def _in_git(path: str) -> bool:
    return path == ".git" or path.startswith(".git/")


def _left_out(phase: PhaseRecord, more: int, inner: list[Change]) -> Iterator[str]:
    if inner:
        crossed = sum(c.cross_role for c in inner)
        note = f", {crossed} of them cross-role" if crossed else ""
        yield f"entries changed below .git: {len(inner)}{note}"
    if more > 0:
        yield f"further changes in episode.json: {more}"
    if phase.changes_omitted:
        yield f"further changes in the manifests alone: {phase.changes_omitted}"


def _unified(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    """Lines with their kind, without the two that name the files."""
    if not (old and new):  # all of it, which needs no search
        sign, kind = ("-", "del") if old else ("+", "add")
        yield from ((kind, sign + line) for line in old or new)
        return
    kinds = {"+": "add", "-": "del", "@": "hunk"}
    for number, line in enumerate(difflib.unified_diff(old, new, lineterm="", n=3)):
        if number > 1:
            yield kinds.get(line[:1], "same"), line
