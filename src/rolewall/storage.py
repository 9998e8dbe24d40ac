"""Reading and writing single files of a run directory."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from rolewall._files import open_regular
from rolewall.errors import RecordError, StorageError

__all__ = ["canonical_json", "is_partial", "read_capped", "write_atomic", "write_output"]

PARTIAL = ".partial-"


def canonical_json(value: object) -> bytes:
    """Compact JSON with sorted keys: equal values give equal bytes."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode("utf-8", "surrogatepass")


def write_atomic(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` so that a reader, or a crash, sees all or nothing.

    Raises StorageError with the place when the disk is full or refuses.
    """
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=PARTIAL, dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        os.replace(temporary, path)
        temporary = None
        _sync_directory(path.parent)
    except OSError as error:
        raise StorageError(f"cannot write: {error.strerror}", place=str(path)) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def write_output(path: Path, data: bytes) -> None:
    """``write_atomic`` of what a user asked for at ``path``, with the directories above it.

    Raises StorageError with the place.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot write: {error.strerror}", place=str(path)) from error
    write_atomic(path, data)


def is_partial(path: Path) -> bool:
    """Whether ``path`` is what ``write_atomic`` leaves when it is killed."""
    return path.name.startswith(PARTIAL)


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_capped(path: Path, cap: int) -> bytes:
    """The bytes of a regular file, through no link. Raises RecordError."""
    try:
        with open(open_regular(path), "rb") as file:
            data = file.read(cap + 1)
    except OSError as error:
        raise RecordError(f"cannot read: {error.strerror}", place=str(path)) from error
    if len(data) > cap:
        raise RecordError("too large", place=str(path), expected=f"at most {cap} bytes")
    return data
