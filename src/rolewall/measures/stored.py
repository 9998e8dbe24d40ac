"""What zones held, as the manifests of an episode and the run's store of contents have it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rolewall.sandbox import BlobStore, Entry, load_manifest

__all__ = ["MOST_TEXT", "Stored"]

MOST_TEXT = 1 << 20
"""Bytes of one file that are looked at for what it tells."""
MOST_FILES = 200


class Stored:
    """The zones of one episode, by the names of its manifests. All methods raise RecordError for
    a manifest, and StorageError for a content, that is not what was written."""

    def __init__(self, blobs: Path, manifests: Path) -> None:
        self._blobs = BlobStore(blobs, make=False) if blobs.is_dir() else None
        self._manifests = manifests

    def text(self, name: str, *, only: bytes = b"", but: bytes = b"") -> str:
        """The text of a zone's files, those that are UTF-8 and not too large."""
        found = []
        for entry in self._entries(name)[:MOST_FILES]:
            if entry.path != but and (not only or entry.path == only):
                data = self._get(entry)
                try:
                    found.append((data or b"").decode())
                except UnicodeDecodeError:
                    continue
        return "\n".join(found)

    def raw(self, name: str, path: bytes) -> bytes | None:
        """One file; None where there is none, or it was not kept."""
        return next((self._get(e) for e in self._entries(name) if e.path == path), None)

    def files(self, name: str) -> Iterator[tuple[Entry, bytes | None]]:
        """All of a zone but its directories; None for what was not kept, or is no plain file."""
        path = self._manifests / f"{name}.jsonl"
        for entry in load_manifest(path).entries if path.exists() else ():
            if entry.kind != "dir":
                there = entry.kind == "file" and entry.oid and self._blobs is not None
                yield entry, self._get(entry) if there else None

    def _entries(self, name: str) -> list[Entry]:
        path = self._manifests / f"{name}.jsonl"
        if self._blobs is None or not path.exists():
            return []
        entries = load_manifest(path).entries
        return [e for e in entries if e.oid and e.size <= MOST_TEXT and b".git/" not in e.path]

    def _get(self, entry: Entry) -> bytes | None:
        assert self._blobs is not None
        return self._blobs.get(entry.oid, entry.sha256 or "")
