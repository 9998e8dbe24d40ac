"""Namespaces: new ones, in which a role would have every capability, and those of others."""

from __future__ import annotations

import os
import signal
import struct

from .attempt import Place, attempt
from .calls import call

GROUP = "namespaces"
SIGCHLD = 17
CLONE_FS, CLONE_FILES = 0x200, 0x400
CLONE_NEWTIME, CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS = 0x80, 1 << 17, 1 << 25, 1 << 26
CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 1 << 27, 1 << 28, 1 << 29, 1 << 30
NS_GET_USERNS, NS_GET_PARENT = 0xB701, 0xB702


def _clone(flags: int) -> None:
    """clone(2) of a process that ends at once."""
    child = call("clone", flags | SIGCHLD, 0, 0, 0, 0)
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


@attempt("clone-user", "clone(2) with CLONE_NEWUSER", twin="bare", kind="privileged")
def _(place: Place) -> None:
    _clone(CLONE_NEWUSER)


@attempt("clone-user-ns", "clone(2) with CLONE_NEWUSER|CLONE_NEWNS", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    _clone(CLONE_NEWUSER | CLONE_NEWNS)


@attempt("clone-high-bits", "clone(2) with bits above the lower 32 set as well", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    """The kernel looks at the lower half alone; a filter that compares the whole is passed."""
    _clone(CLONE_NEWUSER | 1 << 40)


@attempt("clone-pid", "clone(2) with CLONE_NEWPID", twin="bare", kind="privileged")
def _(place: Place) -> None:
    _clone(CLONE_NEWPID)


@attempt("clone-net", "clone(2) with CLONE_NEWNET", twin="bare", kind="privileged")
def _(place: Place) -> None:
    _clone(CLONE_NEWNET)


@attempt("clone3-user", "clone3(2) with CLONE_NEWUSER", twin="bare",
         unseen="answered ENOSYS by the filter, unseen: its flags lie in memory")  # fmt: skip
def _(place: Place) -> None:
    wish = struct.pack("<8Q", CLONE_NEWUSER, 0, 0, 0, SIGCHLD, 0, 0, 0)
    child = call("clone3", wish, len(wish))
    if not child:
        os._exit(0)


@attempt("unshare-user", "unshare(2) with CLONE_NEWUSER", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call("unshare", CLONE_NEWUSER)


@attempt("unshare-mount", "unshare(2) with CLONE_NEWUSER|CLONE_NEWNS", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    call("unshare", CLONE_NEWUSER | CLONE_NEWNS)


@attempt("unshare-net", "unshare(2) with CLONE_NEWUSER|CLONE_NEWNET", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    call("unshare", CLONE_NEWUSER | CLONE_NEWNET)


@attempt("unshare-ipc", "unshare(2) with CLONE_NEWIPC", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call("unshare", CLONE_NEWIPC)


@attempt("unshare-uts", "unshare(2) with CLONE_NEWUTS", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call("unshare", CLONE_NEWUTS)


@attempt("unshare-cgroup", "unshare(2) with CLONE_NEWCGROUP", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call("unshare", CLONE_NEWCGROUP)


@attempt("unshare-time", "unshare(2) with CLONE_NEWTIME", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call("unshare", CLONE_NEWTIME)


@attempt("unshare-fs", "unshare(2) with CLONE_FS|CLONE_FILES, to make paths ambiguous",
         twin="bare", kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    call("unshare", CLONE_FS | CLONE_FILES)


def _namespace(place: Place, name: str) -> int:
    return os.open(f"/proc/self/ns/{name}", os.O_RDONLY)


@attempt("setns-mount", "setns(2) to a mount namespace", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call("setns", _namespace(place, "mnt"), CLONE_NEWNS)


@attempt("setns-net", "setns(2) to a network namespace", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call("setns", _namespace(place, "net"), CLONE_NEWNET)


@attempt("setns-any", "setns(2) to an IPC namespace, without saying its type", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    call("setns", _namespace(place, "ipc"), 0)


@attempt("setns-pidfd", "setns(2) to all namespaces of a process", twin="bare", kind="privileged")
def _(place: Place) -> None:
    call("setns", os.pidfd_open(os.getpid()), CLONE_NEWNET | CLONE_NEWIPC)


@attempt("ns-of-init", "open the mount namespace of init", twin="own",
         unseen="opens to read")  # fmt: skip
def _(place: Place) -> None:
    who = os.getpid() if place.allowed else 1
    os.open(f"/proc/{who}/ns/mnt", os.O_RDONLY)


def _child(flags: int) -> int:
    """A process in new namespaces, which waits until it is killed with its group."""
    ready, done = os.pipe()
    child = os.fork()
    if not child:
        call("unshare", flags)
        os.write(done, b"1")
        signal.pause()
    os.read(ready, 1)
    return child


@attempt("ns-parent", "ioctl NS_GET_PARENT, for the host's process ids", twin="bare",
         unseen="opens to read; the kernel shows nothing outside one's own namespace")  # fmt: skip
def _(place: Place) -> None:
    path = f"/proc/{_child(CLONE_NEWUSER)}/ns/user" if place.allowed else "/proc/self/ns/pid"
    call("ioctl", os.open(path, os.O_RDONLY), NS_GET_PARENT, 0)


@attempt("ns-owner", "ioctl NS_GET_USERNS, for the users that own one's namespaces", twin="bare",
         unseen="opens to read; the kernel shows nothing outside one's own namespace")  # fmt: skip
def _(place: Place) -> None:
    who = _child(CLONE_NEWUSER) if place.allowed else os.getpid()
    call("ioctl", os.open(f"/proc/{who}/ns/user", os.O_RDONLY), NS_GET_USERNS, 0)


@attempt("uid-map", "write /proc/self/uid_map, to be root", twin="bare",
         unseen="counted among what the role writes to its own processes")  # fmt: skip
def _(place: Place) -> None:
    if place.allowed:
        call("unshare", CLONE_NEWUSER)
    with open("/proc/self/uid_map", "w") as file:
        file.write(f"0 {os.geteuid() if not place.allowed else 0} 1\n")
