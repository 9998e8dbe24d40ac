"""The files of an episode, and their digests."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rolewall._files import open_regular

__all__ = ["ENVELOPE", "LOG", "SEAL", "digest_of_file", "episode_digests", "readable_digests"]

SEAL, ENVELOPE, LOG = "seal.json", "seal.dsse.json", "seals.jsonl"


def digest_of_file(path: Path) -> str:
    """SHA-256 of a regular file, through no link. Raises OSError."""
    with open(open_regular(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def episode_digests(directory: Path) -> dict[str, str]:
    """Name → SHA-256 of every regular file of an episode but its record, its seal and
    the seal's signatures. Raises OSError."""
    found: dict[str, str] = {}
    for name in _names(directory):
        if name not in ("episode.json", SEAL, ENVELOPE):
            found[name] = digest_of_file(directory / name)
    return found


def readable_digests(directory: Path) -> Iterator[tuple[str, str]]:
    """As ``episode_digests``, the record included, leaving out what cannot be read."""
    try:
        names = _names(directory)
    except OSError:
        return
    for name in names:
        if name not in (SEAL, ENVELOPE):
            with suppress(OSError):
                yield name, digest_of_file(directory / name)


def _names(directory: Path) -> list[str]:
    """Regular files of an episode's directory and of its folders, which hold no folder."""
    names: list[str] = []
    folders = [""]
    for below in folders:
        with os.scandir(directory / below) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    names.append(f"{below}{entry.name}")
                elif not below and entry.is_dir(follow_symlinks=False):
                    folders.append(f"{entry.name}/")
    return names
