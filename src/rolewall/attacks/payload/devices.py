"""The host's devices and the kernel's settings: opened for writing, and no more than opened."""

from __future__ import annotations

import errno
import os
import stat

from .attempt import Place, Skip, attempt

GROUP = "devices"


def _device(place: Place, *paths: str) -> None:
    """Open a device of the host, which is no more than opened."""
    why = OSError(errno.ENOENT, "there is none")
    for path in paths:
        try:
            os.close(os.open(path, os.O_RDWR))
            return
        except OSError as error:
            why = error
    if place.allowed:
        raise Skip(f"{paths[0]} cannot be opened here: {os.strerror(why.errno or 0)}")
    raise why


@attempt("dev-mem", "open /dev/mem", twin="bare", kind="outside")
def _(place: Place) -> None:
    _device(place, "/dev/mem", "/dev/kmem", "/dev/port")


@attempt("dev-kmsg", "open /dev/kmsg", twin="bare", kind="outside")
def _(place: Place) -> None:
    _device(place, "/dev/kmsg")


@attempt("dev-fuse", "open /dev/fuse", twin="bare", kind="outside")
def _(place: Place) -> None:
    _device(place, "/dev/fuse")


@attempt("dev-tun", "open /dev/net/tun", twin="bare", kind="outside")
def _(place: Place) -> None:
    _device(place, "/dev/net/tun")


@attempt("dev-loop-ctl", "open /dev/loop-control", twin="bare", kind="outside")
def _(place: Place) -> None:
    _device(place, "/dev/loop-control")


@attempt("dev-loop", "open a loop device", twin="bare", kind="outside")
def _(place: Place) -> None:
    _device(place, *(f"/dev/loop{n}" for n in range(8)))


@attempt("dev-kvm", "open /dev/kvm", twin="bare", kind="outside")
def _(place: Place) -> None:
    _device(place, "/dev/kvm", "/dev/vhost-net", "/dev/vhost-vsock")


@attempt("dev-disk", "open a disk for writing", twin="own", kind="outside")
def _(place: Place) -> None:
    """No twin for a real disk, not even to open it."""
    if place.allowed:
        os.open(place.mine(), os.O_RDWR)
        return
    _device(place, *(f"/dev/{name}" for name in ("sda", "vda", "nvme0n1", "xvda", "mmcblk0")))


def _node(place: Place, kind: int, major: int, minor: int) -> None:
    path = os.path.join(place.own, "node") if place.allowed else place.new
    os.mknod(path, kind | 0o666, os.makedev(major, minor))


@attempt("mknod-char", "mknod(2) of the device of /dev/mem", twin="bare", kind="edit")
def _(place: Place) -> None:
    _node(place, stat.S_IFCHR, 1, 1)


@attempt("mknod-block", "mknod(2) of the device of a disk", twin="bare", kind="edit")
def _(place: Place) -> None:
    _node(place, stat.S_IFBLK, 8, 0)


def _setting(place: Place, *paths: str) -> None:
    """Open a setting of the kernel for writing, which is no more than opened."""
    why = OSError(errno.ENOENT, "there is none")
    for path in paths:
        try:
            os.close(os.open(path, os.O_WRONLY))
            return
        except OSError as error:
            why = error
    if place.allowed:
        raise Skip(f"{paths[0]} cannot be written here: {os.strerror(why.errno or 0)}")
    raise why


@attempt("core-pattern", "open /proc/sys/kernel/core_pattern for writing", twin="bare",
         kind="outside")  # fmt: skip
def _(place: Place) -> None:
    _setting(place, "/proc/sys/kernel/core_pattern")


@attempt("modprobe-path", "open /proc/sys/kernel/modprobe for writing", twin="bare",
         kind="outside")  # fmt: skip
def _(place: Place) -> None:
    _setting(place, "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hotplug")


@attempt("sys-ctl", "open a setting below /proc/sys/vm for writing", twin="bare", kind="outside")
def _(place: Place) -> None:
    _setting(place, "/proc/sys/vm/drop_caches")


@attempt("sysrq", "open /proc/sysrq-trigger for writing", twin="bare", kind="outside")
def _(place: Place) -> None:
    _setting(place, "/proc/sysrq-trigger")


@attempt("sys-uevent", "open /sys/kernel/uevent_helper for writing", twin="bare", kind="outside")
def _(place: Place) -> None:
    _setting(place, "/sys/kernel/uevent_helper", "/sys/kernel/profiling")


@attempt("sys-power", "open /sys/power/state for writing", twin="bare", kind="outside")
def _(place: Place) -> None:
    _setting(place, "/sys/power/state", "/sys/power/pm_async")


CGROUPS = ("/sys/fs/cgroup", *(f"/sys/fs/cgroup/{name}" for name in ("pids", "memory", "unified")))


@attempt("cgroup-procs", "open cgroup.procs, to leave one's control group", twin="bare",
         kind="outside")  # fmt: skip
def _(place: Place) -> None:
    _setting(place, *(f"{top}/cgroup.procs" for top in CGROUPS))


@attempt("cgroup-limits", "open the limits of one's own control group for writing", twin="bare",
         kind="outside")  # fmt: skip
def _(place: Place) -> None:
    names = ("pids.max", "memory.max", "memory.limit_in_bytes", "memory.swappiness")
    _setting(place, *(f"{top}/{name}" for top in CGROUPS for name in names))


@attempt("cgroup-release", "open release_agent, which the host runs", twin="bare", kind="outside")
def _(place: Place) -> None:
    _setting(place, *(f"{top}/release_agent" for top in CGROUPS))


@attempt("oom-protect", "lower one's own /proc/self/oom_score_adj, so that others die first",
         twin="own",
         unseen="counted among what the role writes to its own processes")  # fmt: skip
def _(place: Place) -> None:
    os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"999" if place.allowed else b"-999")
