"""Mount zones into a running box, id-mapped, from a root harness.

The sources are opened here and handed over as descriptors, so a path that is
swapped afterwards changes nothing. Owners on disk stay as they are: the box
sees the source's owner as its role, and nobody else's id changes.
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack

from rolewall.errors import BoxError, InputError
from rolewall.sandbox.guard import guarded
from rolewall.sandbox.init import init_path
from rolewall.sandbox.protocol import BoxSpec, ZoneMount
from rolewall.sandbox.uids import Identity
from rolewall.sandbox.workdir import further_places

__all__ = ["MOST_ZONES", "attach_zones", "check_count"]

MOST_ZONES = 64
"""As many as init mounts (``ZONES_MAX`` in ``init/attach.c``), a second place of one included."""

_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES)


def check_count(spec: BoxSpec) -> None:
    """Hold that a box can have so many zones: the same on every backend and for every user,
    though not all of them mount by init.

    Raises:
        InputError: it has more.
    """
    zones = len(spec.mounts) + len(further_places(spec))
    if zones > MOST_ZONES:
        raise InputError(
            "more zones than a box can have",
            place=f"the box of {spec.label}",
            got=str(zones),
            expected=f"at most {MOST_ZONES}",
        )


def attach_zones(
    pid: int,
    identity: Identity,
    mounts: Sequence[ZoneMount],
    further: Sequence[tuple[ZoneMount, str]] = (),
) -> None:
    """Attach each mount at ``/zone`` in the box of process ``pid``, and those of ``further``
    at another place as well.

    Raises:
        InputError: a source is no directory.
        BoxError: the kernel refused, for example because the file system
            cannot be id-mapped, or did not come to an end.
    """
    if not mounts:
        return
    with guarded("mount the zones of a box"), ExitStack() as stack:
        entries = []
        for mount, target in (*((mount, f"/{mount.zone}") for mount in mounts), *further):
            descriptor = _open(mount)
            stack.callback(os.close, descriptor)
            entries.append((descriptor, target, mount.writable))
        _run(pid, identity, entries)


def _open(mount: ZoneMount) -> int:
    try:
        return os.open(mount.source, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in _ABSENT:
            raise  # the machine's doing, not that of whoever named the directory
        raise InputError(
            f"zone {mount.zone} cannot be opened: {error.strerror}", place=str(mount.source)
        ) from error


def _run(pid: int, identity: Identity, entries: Sequence[tuple[int, str, bool]]) -> None:
    command = [str(init_path()), "attach", "--pid", str(pid)]
    command += ["--own", f"{identity.role_uid}:{identity.role_gid}"]
    command += [f"{fd}:{at}:{'rw' if writable else 'ro'}" for fd, at, writable in entries]
    # Opened here: a run that fails may leave what it has opened for DEVNULL.
    with open(os.devnull, "r+b") as nothing:
        result = subprocess.run(
            command,
            pass_fds=[fd for fd, _, _ in entries],
            stdin=nothing,
            stdout=nothing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
            check=False,
        )
    if result.returncode != 0:
        said = result.stderr.strip()
        raise BoxError(
            f"zones could not be mounted: {said or result.returncode}",
            hint="keep zones on ext4, xfs, btrfs, or tmpfs (kernel 6.3 or newer)",
        ) from _reason(said)


def _reason(said: str) -> OSError | None:
    """What the system told the program, by the name of the error that its words end in: whether
    the machine ran out of something is asked of it, as where the harness meets that itself."""
    number = getattr(errno, said.rpartition(": ")[2], None)
    return OSError(number, os.strerror(number)) if isinstance(number, int) else None
