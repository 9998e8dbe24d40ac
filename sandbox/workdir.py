"""A further place of the workspace in a box, for images that expect the work elsewhere.

The zone ``workspace`` is at ``/workspace`` in every box. An image may have been made for
work at another place, such as ``/app``; there the same directory is mounted once more.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rolewall.errors import InputError

if TYPE_CHECKING:
    from rolewall.sandbox.protocol import BoxSpec, ZoneMount

__all__ = ["WORKSPACE", "check_workdir", "further_places"]

WORKSPACE = "/workspace"
_PLAIN = re.compile(r"(?:/[A-Za-z0-9._+@-]{1,64}){1,16}\Z")
# What the harness, the kernel or the image's own programs have there.
_TAKEN = ("/dev", "/etc", "/proc", "/rolewall", "/sys")
_SYSTEM = re.compile(r"/(?:bin|boot|lib[^/]*|run|sbin|usr|var)(?:/|\Z)")
_NOT_SYSTEM = re.compile(r"/(?:usr/src|var/www|var/task|var/app)(?:/|\Z)")


def check_workdir(path: str, zones: tuple[str, ...], place: str) -> None:
    """Refuse a place that the workspace cannot have as well.

    Args:
        zones: the names of all zones, hidden and private ones too.
        place: what names it, for the message.

    Raises:
        InputError: no plain absolute path, a part of the system, or a place that lies in a
            zone or around one: a role could plant a link where the mount goes.
    """
    if not _PLAIN.match(path) or {".", ".."} & set(path.split("/")):
        raise InputError(
            "not a directory that work can be in", place=place, got=path, expected="such as /app"
        )
    if path == WORKSPACE:
        return
    here = PurePosixPath(path)
    for taken in (*_TAKEN, WORKSPACE, *(f"/{zone}" for zone in zones)):
        if here.is_relative_to(taken) or PurePosixPath(taken).is_relative_to(here):
            raise InputError(
                f"the work cannot be at {path}: {taken} is the box's own",
                place=place,
                got=path,
                expected="a directory of the image apart from zones and system, such as /app",
            )
    if _SYSTEM.match(path) and not _NOT_SYSTEM.match(path):
        raise InputError(
            f"the work cannot be at {path}: a part of the system",
            place=place,
            got=path,
            expected="such as /app",
        )


def further_places(spec: BoxSpec) -> list[tuple[ZoneMount, str]]:
    """The mount of the workspace and its further place in a box of ``spec``; none or one.

    Raises:
        InputError: as ``check_workdir`` says.
    """
    if spec.workdir == WORKSPACE:
        return []
    zones = (*(mount.zone for mount in spec.mounts), *spec.absent, *spec.private)
    check_workdir(spec.workdir, zones, f"the work directory of the box of {spec.label}")
    return [(mount, spec.workdir) for mount in spec.mounts if f"/{mount.zone}" == WORKSPACE]
