"""Contents that manifests name, held against ``blobs.git``, each once in an audit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rolewall.audit.store import StoreFiles
from rolewall.errors import RecordError, StorageError
from rolewall.sandbox import BlobStore

__all__ = ["Contents", "manifest_entries"]

LINE_CAP = 1 << 20
OID, SHA256 = re.compile("[0-9a-f]{40}"), re.compile("sha256:([0-9a-f]{64})")


def manifest_entries(path: Path) -> Iterator[dict[str, Any]]:
    """The entries of a manifest whose digest was verified, one at a time.

    Raises:
        RecordError: it was sealed so, and is none.
    """
    with open(path, "rb") as lines:
        lines.readline(LINE_CAP)
        for number, line in enumerate(iter(lambda: lines.readline(LINE_CAP), b""), 2):
            yield _entry(line, f"{path}:{number}")


def _entry(line: bytes, place: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        raise RecordError("not a line of a manifest", place=place) from None
    known = isinstance(entry, dict) and all(
        isinstance(entry.get(key, ""), str) for key in ("path", "kind", "oid", "digest")
    )
    if not known or (entry.get("oid") and not OID.fullmatch(entry["oid"])):
        raise RecordError("not a line of a manifest", place=place)
    return {"path": "", "kind": "", "oid": "", "digest": "", **entry}


class Contents:
    """The contents of one run. A manifest is read line by line and no content is held whole.

    Attributes:
        verified: how many contents were found and right.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.verified = 0
        self.files = StoreFiles(path)
        self._seen: set[bytes] = set()
        # An audit leaves a run as it is.
        self._store = BlobStore(path, make=False) if self.files.readable else None

    def check(self, manifest: Path) -> Iterator[tuple[str, str]]:
        """(place, words) for each content of a manifest that is absent or another.
        The manifest's own digest must have been verified."""
        try:
            for entry in manifest_entries(manifest):
                if entry["oid"]:
                    found = SHA256.fullmatch(entry["digest"])
                    named = f"{manifest.name}: {entry['path']}"
                    yield from self._once(entry["oid"], found[1] if found else "", named)
        except RecordError as error:
            yield error.place or str(manifest), error.message

    def _once(self, oid: str, sha256: str, named: str) -> Iterator[tuple[str, str]]:
        mark = bytes.fromhex(oid + sha256)
        if mark in self._seen:
            return
        self._seen.add(mark)
        if words := self._wrong(oid, sha256):
            yield f"{self.path}: {oid}", f"{words}: {named}"
        else:
            self.verified += 1

    def _wrong(self, oid: str, sha256: str) -> str:
        known = self.files.loose.get(bytes.fromhex(oid))
        if known is not None and sha256:
            return "" if known.hex() == sha256 else "a stored content is another"
        try:
            for _ in self._chunks(oid, sha256):
                pass
        except StorageError as error:
            return error.message
        return ""

    def _chunks(self, oid: str, sha256: str) -> Iterator[bytes]:
        if self._store is None:
            raise StorageError("the store is gone, or cannot be read")
        return self._store.chunks(oid, sha256)

    def first(self, oid: str, most: int) -> bytes:
        """The first bytes of a kept content. Raises StorageError."""
        data = b""
        for piece in self._chunks(oid, ""):
            data += piece[: most - len(data)]
            if len(data) >= most:
                break
        return data
