"""More rights than a role has: set-id files, capabilities, other users."""

from __future__ import annotations

import errno
import os
import stat
import struct
import time
from collections.abc import Callable

from .attempt import Place, Skip, attempt
from .calls import AT_FDCWD, call, or_skip

GROUP = "rights"
NOBODY = 65534
CAPABILITIES_V3 = 0x20080522
PLAIN, SET_UID, SET_GID = 0o755, 0o4755, 0o2755
PROGRAMS = ("su", "passwd", "chsh", "chfn", "gpasswd", "newgrp", "mount", "umount", "sudo")


def mode(place: Place, wanted: int) -> int:
    """The mode that is tried; the twin's lacks the set-id bits alone."""
    return PLAIN if place.allowed else wanted


def free(place: Place) -> str:
    return os.path.join(place.own, "new")


@attempt("setid-open", "open(2) of a new set-user-id file of one's own", twin="own",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    os.open(free(place), os.O_WRONLY | os.O_CREAT, mode(place, SET_UID))


@attempt("setid-tmpfile", "O_TMPFILE with the set-user-id bit", twin="own", kind="privileged")
def _(place: Place) -> None:
    os.open(place.own, os.O_WRONLY | os.O_TMPFILE, mode(place, SET_UID))


@attempt("setid-creat", "creat(2) with the set-user-id bit", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("creat", free(place), mode(place, SET_UID))


@attempt("setid-mknod", "mknod(2) with the set-user-id bit", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("mknod", free(place), stat.S_IFREG | mode(place, SET_UID), 0)


@attempt("setid-mknodat", "mknodat(2) with the set-group-id bit", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("mknodat", AT_FDCWD, free(place), stat.S_IFREG | mode(place, SET_GID), 0)


@attempt("setid-mkdir", "mkdir(2) with the set-group-id bit", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("mkdir", free(place), mode(place, SET_GID))


@attempt("setid-mkdirat", "mkdirat(2) with the set-group-id bit", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("mkdirat", AT_FDCWD, free(place), mode(place, SET_GID))


@attempt("setid-chmod", "chmod(2) of an own file to set-user-id", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("chmod", place.mine(), mode(place, SET_UID))


@attempt("setid-fchmod", "fchmod(2) of an own file to set-user-id", twin="own",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    os.fchmod(os.open(place.mine(), os.O_RDONLY), mode(place, SET_UID))


@attempt("setid-fchmodat", "fchmodat(2) of an own file to set-group-id", twin="own",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    call("fchmodat", AT_FDCWD, place.mine(), mode(place, SET_GID))


@attempt("setid-fchmodat2", "fchmodat2(2) of an own file to set-user-id", twin="own",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    path = place.mine()
    lacks = (errno.ENOSYS,) if place.allowed else ()
    or_skip(lambda: call("fchmodat2", AT_FDCWD, path, mode(place, SET_UID), 0), *lacks)


@attempt("setid-zone", "chmod(2) of a program in the zone to set-user-id", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    os.chmod(place.mine() if place.allowed else place.exec, SET_UID)


@attempt("file-caps", "setxattr(2) of file capabilities on an own file", twin="bare",
         unseen="counted among what the role writes to its own files")  # fmt: skip
def _(place: Place) -> None:
    every = struct.pack("<5I", 0x02000001, 0xFFFFFFFF, 0, 0xFFFFFFFF, 0)
    path = place.mine()
    lacks = (errno.EOPNOTSUPP,) if place.allowed else ()
    or_skip(lambda: call("setxattr", path, "security.capability", every, len(every), 0), *lacks)


@attempt("run-setuid", "run a set-user-id program of the host", twin="bare",
         unseen="recorded as an execution; no_new_privs takes the bit away")  # fmt: skip
def _(place: Place) -> None:
    """It prints into a full pipe, and so waits to be looked at."""
    program = _set_uid_program()
    into = os.pipe()[1]
    os.set_blocking(into, False)
    while _errno_of(lambda: os.write(into, bytes(4096))) == 0:
        pass
    os.set_blocking(into, True)
    child = os.fork()
    if not child:
        if place.allowed:
            os.setresuid(NOBODY, NOBODY, NOBODY)
        os.dup2(into, 1)
        os.dup2(into, 2)
        os.execv(program, [program, "--help"])
    caller = NOBODY if place.allowed else os.getuid()
    if set(_users_of(child, os.path.basename(program))) == {caller}:
        raise OSError(errno.EPERM, "it runs as its caller")


def _set_uid_program() -> str:
    for name in PROGRAMS:
        path = f"/usr/bin/{name}"
        if os.path.exists(path):
            found = os.stat(path)
            if found.st_mode & stat.S_ISUID and found.st_uid in (0, NOBODY):
                return path
    raise Skip("there is no set-user-id program")


def _users_of(child: int, name: str) -> list[int]:
    """Real, effective, saved and file system user of a child, once it is the program."""
    for _ in range(1000):
        with open(f"/proc/{child}/status") as file:
            fields = {line.partition(":")[0]: line.partition(":")[2].strip() for line in file}
        if fields["Name"] == name:
            return [int(word) for word in fields["Uid"].split()]
        time.sleep(0.01)
    raise OSError(errno.ESRCH, "it did not start")


def _errno_of(function: Callable[[], object]) -> int:
    try:
        function()
    except OSError as error:
        return error.errno or 255
    return 0


@attempt("setuid-root", "setresuid(2) to root", twin="bare",
         unseen="the kernel refuses without the capability")  # fmt: skip
def _(place: Place) -> None:
    call("setresuid", 0, 0, 0)


@attempt("setgid-root", "setresgid(2) to root's group", twin="bare",
         unseen="the kernel refuses without the capability")  # fmt: skip
def _(place: Place) -> None:
    call("setresgid", 0, 0, 0)


@attempt("setgroups-root", "setgroups(2) to root's group", twin="bare",
         unseen="the kernel refuses without the capability")  # fmt: skip
def _(place: Place) -> None:
    call("setgroups", 1, struct.pack("<I", 0))


@attempt("capset", "capset(2) of every capability", twin="bare",
         unseen="the kernel refuses without the capability")  # fmt: skip
def _(place: Place) -> None:
    """The twin asks for what it may have: a root in a container has not all."""
    wanted = _permitted() if place.allowed else 0xFFFFFFFF
    who = struct.pack("<Ii", CAPABILITIES_V3, 0)
    call("capset", who, struct.pack("<6I", wanted, wanted, 0, 0, 0, 0))


def _permitted() -> int:
    with open("/proc/self/status") as file:
        (line,) = (line for line in file if line.startswith("CapPrm"))
    return int(line.split()[1], 16) & 0xFFFFFFFF
