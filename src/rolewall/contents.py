"""Contents that manifests name, held against ``blobs.git``, each once in an audit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rolewall.errors import RecordError, StorageError
from rolewall.sandbox import BlobStore, load_manifest

__all__ = ["Contents"]


class Contents:
    """The contents of one run. Attributes: verified: how many were found and right."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.verified = 0
        self._seen: set[tuple[str, str]] = set()
        # Opening makes what is absent, and an audit leaves a run as it is.
        whole = all(os.path.exists(path / name) for name in ("objects", "HEAD"))
        self._store = BlobStore(path) if whole else None

    def check(self, manifest: Path) -> Iterator[tuple[str, str]]:
        """(place, words) for each content of a manifest that is absent or another."""
        try:
            entries = load_manifest(manifest).entries
        except RecordError as error:
            yield error.place or str(manifest), error.message
            return
        for entry in entries:
            if entry.oid and (entry.oid, entry.sha256) not in self._seen:
                self._seen.add((entry.oid, entry.sha256))
                if words := self._wrong(entry.oid, entry.sha256):
                    yield f"{self.path}: {entry.oid}", f"{words}: {manifest.name}: {entry.name}"
                else:
                    self.verified += 1

    def _wrong(self, oid: str, sha256: str) -> str:
        if self._store is None:
            return "the store is gone, or cannot be read"
        try:
            for _ in self._store.chunks(oid, sha256):
                pass
        except StorageError as error:
            return error.message
        return ""
