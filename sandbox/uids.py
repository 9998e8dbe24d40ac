"""Who runs in a box: the uids of its role and of its init.

A root harness leases a pair of uids per box that nobody else uses, so that
limits counted per uid, signals and locks stay inside the box. An ordinary
user can only give a role its own uid.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rolewall.errors import BoxError
from rolewall.sandbox.guard import guarded

__all__ = ["Identity", "lease"]

POOL_DIRECTORY = Path("/run/rolewall/uids")
# Far above what distributions, systemd's dynamic users and subordinate ranges hand out.
FIRST_UID = 2_046_820_352
PAIRS = 4096


@dataclass
class Identity:
    """The users of one box.

    Attributes:
        role_uid, role_gid: what commands in the box run as.
        init_uid, init_gid: what ``rolewall-init`` runs as.
        leased: the pair belongs to this box alone until ``release``.
    """

    role_uid: int
    role_gid: int
    init_uid: int
    init_gid: int
    leased: bool = False
    _lock: int = -1

    @property
    def distinct(self) -> bool:
        """Whether the role runs under another uid than its init."""
        return self.role_uid != self.init_uid

    def release(self) -> None:
        """Give the pair back. Safe to call twice."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def lease(*, own_init_uid: bool) -> Identity:
    """Users for a new box.

    Args:
        own_init_uid: the backend can start init under any uid (it has a
            privileged engine, or the harness is root).

    Raises:
        BoxError: every pair is taken, or the pool cannot be written.
    """
    if os.geteuid() == 0:
        with guarded("lease users for a box"):
            return _lease_pair()
    uid, gid = os.geteuid(), os.getegid()
    if own_init_uid:
        return Identity(uid, gid, FIRST_UID - 1, FIRST_UID - 1)
    return Identity(uid, gid, uid, gid)


def _lease_pair() -> Identity:
    POOL_DIRECTORY.mkdir(mode=0o700, parents=True, exist_ok=True)
    start = os.getpid() % PAIRS
    for step in range(PAIRS):
        index = (start + step) % PAIRS
        role, init = FIRST_UID + 2 * index, FIRST_UID + 2 * index + 1
        lock = _try_lock(POOL_DIRECTORY / str(index))
        if lock is None:
            continue
        identity = Identity(role, role, init, init, leased=True, _lock=lock)
        if _unused(identity):
            return identity
    raise BoxError("no free uid for a role", got=f"{PAIRS} in use", place=str(POOL_DIRECTORY))


def _unused(identity: Identity) -> bool:
    """Whether nothing lives under the pair; else it is given back.

    Asked with the lock held: a holder that is killed in between would leave
    processes that an earlier look did not show.
    """
    try:
        unused = not _uids_alive() & {identity.role_uid, identity.init_uid}
    except BaseException:
        identity.release()
        raise
    if not unused:
        identity.release()
    return unused


def _uids_alive() -> set[int]:
    """Uids of living processes: a killed harness frees its locks a moment
    before the kernel has reaped what ran under them."""
    alive: set[int] = set()
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                with suppress(OSError):
                    alive.add(entry.stat().st_uid)
    return alive


def _try_lock(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
