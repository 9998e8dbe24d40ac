"""Whether the disk has room: a role that meets a full one has not failed, the machine has."""

from __future__ import annotations

import os
from pathlib import Path

from rolewall.errors import StorageError

__all__ = ["check_room"]

LEAST_BYTES = 1 << 20
LEAST_FILES = 64


def check_room(place: Path) -> None:
    """See that an ordinary user could still write at ``place``.

    Raises:
        StorageError: next to nothing is free there.
    """
    try:
        found = os.statvfs(place)
    except OSError as error:
        raise StorageError(f"cannot be read: {error.strerror}", place=str(place)) from error
    free = found.f_bavail * found.f_frsize
    # A file system that counts neither says 0 of 0.
    if (found.f_blocks and free < LEAST_BYTES) or (found.f_files and found.f_favail < LEAST_FILES):
        raise StorageError(
            "no space left on device, or next to none",
            place=str(place),
            got=f"{free} bytes and {found.f_favail} files free",
            expected=f"at least {LEAST_BYTES} and {LEAST_FILES}",
            hint="free space on that file system",
        )
