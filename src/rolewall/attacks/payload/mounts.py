"""Changing what is mounted where, or where the root is: old and new interface.

All of it is refused in every condition; the twins work in a mount namespace that they make
for themselves, outside any box.
"""

from __future__ import annotations

import errno
import os
import struct

from .attempt import Place, attempt
from .calls import AT_FDCWD, call, or_skip

GROUP = "mounts"
CLONE_NEWNS = 0x20000
MS_RDONLY, MS_NOSUID, MS_REMOUNT, MS_BIND, MS_MOVE, MS_REC = 1, 2, 32, 4096, 8192, 16384
MS_PRIVATE, MS_SHARED = 1 << 18, 1 << 20
MNT_DETACH = 2
OPEN_TREE_CLONE, MOVE_MOUNT_F_EMPTY_PATH, AT_RECURSIVE = 1, 4, 0x8000
FSCONFIG_SET_STRING, FSCONFIG_CMD_CREATE = 1, 6
MOUNT_ATTR_RDONLY = 1


def alone(place: Place) -> None:
    """For a twin: a mount namespace of its own, from which nothing spreads."""
    if place.allowed:
        call("unshare", CLONE_NEWNS)
        call("mount", "none", "/", "none", MS_REC | MS_PRIVATE, 0)


def aim(place: Place) -> str:
    """The zone, or for a twin a file system of its own, read-only as a zone is."""
    if not place.allowed:
        return place.zone
    path = os.path.join(place.own, "zone")
    os.mkdir(path)
    call("mount", "none", path, "tmpfs", MS_RDONLY, 0)
    return path


def other(place: Place) -> str:
    """A directory of the attacker's own."""
    path = os.path.join(place.own, "other")
    os.mkdir(path)
    return path


@attempt("mount-bind", "mount(2): an own directory over the zone", twin="bare", kind="privileged")
def _(place: Place) -> None:
    alone(place)
    call("mount", other(place), aim(place), "none", MS_BIND, 0)


@attempt("mount-unbind", "mount(2): the zone at an own directory, to be written there",
         twin="bare", kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    alone(place)
    call("mount", aim(place), other(place), "none", MS_BIND, 0)


@attempt("mount-rw", "mount(2): MS_REMOUNT|MS_BIND without MS_RDONLY", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    alone(place)
    call("mount", "none", aim(place), "none", MS_REMOUNT | MS_BIND, 0)


@attempt("mount-rw-super", "mount(2): MS_REMOUNT of the whole file system to writable",
         twin="bare", kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    alone(place)
    call("mount", "none", aim(place), "none", MS_REMOUNT, 0)


@attempt("mount-tmpfs", "mount(2): a new tmpfs over the zone", twin="bare", kind="privileged")
def _(place: Place) -> None:
    alone(place)
    call("mount", "none", aim(place), "tmpfs", MS_NOSUID, 0)


@attempt("mount-proc", "mount(2): a new proc", twin="bare", kind="privileged")
def _(place: Place) -> None:
    alone(place)
    call("mount", "none", other(place), "proc", 0, 0)


@attempt("mount-move", "mount(2): MS_MOVE of the zone", twin="bare", kind="privileged")
def _(place: Place) -> None:
    alone(place)
    call("mount", aim(place), other(place), "none", MS_MOVE, 0)


@attempt("mount-shared", "mount(2): MS_SHARED, so that mounts spread", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    alone(place)
    call("mount", "none", aim(place), "none", MS_SHARED, 0)


@attempt("umount", "umount2(2) of the zone, for what lies below", twin="bare", kind="privileged")
def _(place: Place) -> None:
    alone(place)
    call("umount2", aim(place), 0)


@attempt("umount-detach", "umount2(2) with MNT_DETACH of /proc", twin="bare", kind="privileged")
def _(place: Place) -> None:
    alone(place)
    call("umount2", "/proc", MNT_DETACH)


@attempt("pivot-root", "pivot_root(2) to an own directory", twin="bare", kind="privileged")
def _(place: Place) -> None:
    alone(place)
    root = aim(place)
    os.chdir(root)
    call("pivot_root", ".", ".")


@attempt("chroot", "chroot(2) to an own directory", twin="bare", kind="privileged")
def _(place: Place) -> None:
    os.chroot(other(place))


@attempt("chroot-out", "chroot(2) out of a chroot by a kept directory", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    kept = os.open("/", os.O_PATH)
    os.chroot(other(place))
    os.fchdir(kept)
    os.chroot(".")


@attempt("open-tree", "open_tree(2): a detached clone of the zone", twin="bare", kind="privileged")
def _(place: Place) -> None:
    alone(place)
    call("open_tree", AT_FDCWD, aim(place), OPEN_TREE_CLONE)


@attempt("move-mount", "move_mount(2): the zone away, or a clone over it", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    alone(place)
    zone = aim(place)
    if place.allowed:
        clone = call("open_tree", AT_FDCWD, zone, OPEN_TREE_CLONE)
        call("move_mount", clone, "", AT_FDCWD, other(place), MOVE_MOUNT_F_EMPTY_PATH)
        return
    call("move_mount", AT_FDCWD, zone, AT_FDCWD, other(place), 0)


@attempt("fsopen", "fsopen(2) of a tmpfs", twin="bare", kind="privileged")
def _(place: Place) -> None:
    alone(place)
    call("fsopen", "tmpfs", 0)


def _context(place: Place) -> int:
    """A file system that is being configured; in a box, where there can be none, a directory."""
    return call("fsopen", "tmpfs", 0) if place.allowed else os.open(place.own, os.O_RDONLY)


@attempt("fsconfig", "fsconfig(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    alone(place)
    call("fsconfig", _context(place), FSCONFIG_SET_STRING, "size", "64k", 0)


@attempt("fsmount", "fsmount(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    alone(place)
    context = _context(place)
    if place.allowed:
        call("fsconfig", context, FSCONFIG_CMD_CREATE, 0, 0, 0)
    call("fsmount", context, 0, 0)


@attempt("fspick", "fspick(2) of the zone's file system, to reconfigure it", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    alone(place)
    call("fspick", AT_FDCWD, aim(place), 0)


@attempt("mount-setattr", "mount_setattr(2): the zone without MOUNT_ATTR_RDONLY", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    alone(place)
    wish = struct.pack("<QQQQ", 0, MOUNT_ATTR_RDONLY, 0, 0)
    call("mount_setattr", AT_FDCWD, aim(place), 0, wish, len(wish))


@attempt("mount-setattr-r", "mount_setattr(2): everything below / writable", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    alone(place)
    wish = struct.pack("<QQQQ", 0, MOUNT_ATTR_RDONLY, 0, 0)
    path = aim(place) if place.allowed else "/"
    call("mount_setattr", AT_FDCWD, path, AT_RECURSIVE, wish, len(wish))


@attempt("open-tree-attr", "open_tree_attr(2): a writable clone of the zone", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    alone(place)
    wish = struct.pack("<QQQQ", 0, MOUNT_ATTR_RDONLY, 0, 0)
    zone = aim(place)
    or_skip(
        lambda: call("open_tree_attr", AT_FDCWD, zone, OPEN_TREE_CLONE, wish, len(wish)),
        errno.ENOSYS,  # an older kernel, or an engine whose filter does not know it
    )
