"""What only the administrator of a machine may do."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
from collections.abc import Callable

from .attempt import Place, attempt
from .calls import LIBC, call, or_skip
from .numbers import number

GROUP = "admin"
CLONE_NEWUTS, CLONE_NEWPID = 1 << 26, 1 << 29
RB_AUTOBOOT = 0x01234567
MAGIC = (0xFEE1DEAD, 672274793)
ADJ_SETOFFSET = 0x0100
Q_SYNC = 0x800001 << 8


@attempt("bpf-map", "bpf(2): a map", twin="bare", kind="privileged")
def _(place: Place) -> None:
    wish = struct.pack("<IIII48x", 2, 4, 4, 1)
    call("bpf", 0, wish, len(wish))


@attempt("perf-event", "perf_event_open(2) of every process on a processor", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    wish = struct.pack("<IIQ104x", 1, 120, 0)  # a software clock
    call("perf_event_open", wish, -1, 0, -1, 0)


@attempt("userfaultfd", "userfaultfd(2), to hold the kernel in the middle of a copy", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    call("userfaultfd", 0)


@attempt("kexec-load", "kexec_load(2) of nothing", twin="bare", kind="privileged")
def _(place: Place) -> None:
    _or_lacking(place, lambda: call("kexec_load", 0, 0, 0, 0))


@attempt("kexec-file-load", "kexec_file_load(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    """With a descriptor that is none: who may load a kernel is told so (EBADF)."""
    _or_lacking(place, lambda: call("kexec_file_load", -1, -1, 0, 0, 4), beyond=errno.EBADF)


@attempt("init-module", "init_module(2) of what is no module", twin="bare", kind="privileged")
def _(place: Place) -> None:
    data = b"\x7fELF" + bytes(60)
    _or_lacking(place, lambda: call("init_module", data, 64, ""), beyond=errno.ENOEXEC)


@attempt("finit-module", "finit_module(2) of what is no module", twin="bare", kind="privileged")
def _(place: Place) -> None:
    file = os.open(place.mine(), os.O_RDONLY)
    _or_lacking(place, lambda: call("finit_module", file, "", 0), beyond=errno.ENOEXEC)


@attempt("delete-module", "delete_module(2) of a module that is not there", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    _or_lacking(place, lambda: call("delete_module", "none-such", 0), beyond=errno.ENOENT)


@attempt("swapon", "swapon(2) of an own file", twin="bare", kind="privileged")
def _(place: Place) -> None:
    """Without a swap header: who may do it is told that (EINVAL)."""
    path = place.mine()
    _or_lacking(place, lambda: call("swapon", path, 0), beyond=errno.EINVAL)


@attempt("swapoff", "swapoff(2) of an own file", twin="bare", kind="privileged")
def _(place: Place) -> None:
    path = place.mine()
    _or_lacking(place, lambda: call("swapoff", path), beyond=errno.EINVAL)


def _or_lacking(place: Place, function: Callable[[], int], beyond: int = 0) -> None:
    """A twin is told by ``beyond`` that only its senseless arguments kept it from success."""
    if not place.allowed:
        function()
        return
    try:
        or_skip(function, errno.ENOSYS)
    except OSError as error:
        if error.errno != beyond:
            raise


@attempt("reboot", "reboot(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    """The twin restarts a process id namespace of its own: the kernel ends its init."""
    if not place.allowed:
        call("reboot", *MAGIC, RB_AUTOBOOT, 0)
        return
    call("unshare", CLONE_NEWPID)
    init = os.fork()
    if not init:
        if os.getpid() == 1 and not os.fork():
            if (os.getpid(), os.getppid()) == (2, 1):
                call("reboot", *MAGIC, RB_AUTOBOOT, 0)
            os._exit(0)
        signal.pause()
    _, status = os.waitpid(init, 0)
    if not os.WIFSIGNALED(status):
        raise OSError(errno.EPERM, "the namespace lives on")


@attempt("syslog", "syslog(2): read the kernel's log, which tells of the host", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    buffer = ctypes.create_string_buffer(4096)
    call("syslog", 3, buffer, 4096)


@attempt("sethostname", "sethostname(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    if place.allowed:
        call("unshare", CLONE_NEWUTS)
    call("sethostname", "other", 5)


@attempt("setdomainname", "setdomainname(2)", twin="bare", kind="privileged")
def _(place: Place) -> None:
    if place.allowed:
        call("unshare", CLONE_NEWUTS)
    call("setdomainname", "other", 5)


@attempt("settimeofday", "settimeofday(2) of the time zone, to what it is", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    zone = ctypes.create_string_buffer(8)
    LIBC.syscall(ctypes.c_long(number("gettimeofday")), None, zone)
    call("settimeofday", 0, zone)


@attempt("clock-adjtime", "clock_adjtime(2): set the clock off by nothing", twin="bare",
         unseen="the kernel refuses without the capability")  # fmt: skip
def _(place: Place) -> None:
    call("clock_adjtime", 0, struct.pack("<I204x", ADJ_SETOFFSET))


@attempt("acct", "acct(2): no process accounting", twin="bare", kind="privileged")
def _(place: Place) -> None:
    _in_pid_namespace(place, lambda: call("acct", 0))


@attempt("ns-last-pid", "write /proc/sys/kernel/ns_last_pid, to choose the next process id",
         twin="bare", kind="outside")  # fmt: skip
def _(place: Place) -> None:
    """Everybody may open it, on some systems; only the write asks for the capability."""

    def write() -> None:
        os.write(os.open("/proc/sys/kernel/ns_last_pid", os.O_WRONLY), b"9000")

    _in_pid_namespace(place, write)


def _in_pid_namespace(place: Place, do: Callable[[], object]) -> None:
    """What comes of ``do``; for a twin in a process id namespace of its own."""
    if not place.allowed:
        do()
        return
    call("unshare", CLONE_NEWPID)
    child = os.fork()
    if not child:
        os._exit(_errno_of(do))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))


def _errno_of(do: Callable[[], object]) -> int:
    try:
        do()
    except OSError as error:
        return error.errno or 255
    return 0


@attempt("quotactl", "quotactl(2) Q_SYNC", twin="bare", kind="privileged")
def _(place: Place) -> None:
    _or_lacking(place, lambda: call("quotactl", Q_SYNC, 0, 0, 0))


@attempt("iopl", "iopl(2): all ports of the machine", twin="bare", kind="privileged")
def _(place: Place) -> None:
    _or_lacking(place, lambda: call("iopl", 3))


@attempt("ioperm", "ioperm(2): one port of the machine", twin="bare", kind="privileged")
def _(place: Place) -> None:
    _or_lacking(place, lambda: call("ioperm", 0x80, 1, 1))
