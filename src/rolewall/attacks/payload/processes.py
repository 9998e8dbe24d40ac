"""Init: its memory, its descriptors, its life. Every box has it as process 1.

A twin does the same to a child of its own, in the same box and as the same user.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
import socket
import struct
import time

from .attempt import Place, attempt
from .calls import call

GROUP = "processes"
INIT = 1
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
SI_QUEUE = -1
F_SETSIG = 10
WORD = 8
KEPT = "the arguments do not say who is meant; the kernel keeps init from such signals"


def whom(place: Place) -> int:
    """Init, or a child that waits until its group is killed."""
    if not place.allowed:
        return INIT
    child = os.fork()
    if not child:
        signal.pause()
    return child


def told(signum: int) -> bytes:
    """What a signal says of its sender."""
    return struct.pack("<iiiIii104x", signum, 0, SI_QUEUE, 0, os.getpid(), os.geteuid())


@attempt("kill-init", "kill(2) of init with SIGKILL", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("kill", whom(place), signal.SIGKILL)


@attempt("term-init", "kill(2) of init with SIGTERM", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("kill", whom(place), signal.SIGTERM)


@attempt("tkill-init", "tkill(2) of init", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("tkill", whom(place), signal.SIGSTOP)


@attempt("tgkill-init", "tgkill(2) of init", twin="own", kind="privileged")
def _(place: Place) -> None:
    who = whom(place)
    call("tgkill", who, who, signal.SIGSTOP)


@attempt("sigqueue-init", "rt_sigqueueinfo(2) to init", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("rt_sigqueueinfo", whom(place), signal.SIGCHLD, told(signal.SIGCHLD))


@attempt("tgsigqueue-init", "rt_tgsigqueueinfo(2) to init", twin="own", kind="privileged")
def _(place: Place) -> None:
    who = whom(place)
    call("rt_tgsigqueueinfo", who, who, signal.SIGCHLD, told(signal.SIGCHLD))


@attempt("pidfd-init", "pidfd_open(2) of init", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("pidfd_open", whom(place), 0)


@attempt("pidfd-kill-init", "pidfd_send_signal(2) by a descriptor of /proc/1", twin="own",
         unseen=KEPT)  # fmt: skip
def _(place: Place) -> None:
    who = whom(place)
    call("pidfd_send_signal", os.open(f"/proc/{who}", os.O_DIRECTORY), signal.SIGKILL, 0, 0)
    _must_be(place, who, "ZX")


@attempt("pidfd-stop-init", "pidfd_send_signal(2) of SIGSTOP by a descriptor of /proc/1",
         twin="own",
         unseen=KEPT)  # fmt: skip
def _(place: Place) -> None:
    who = whom(place)
    call("pidfd_send_signal", os.open(f"/proc/{who}", os.O_DIRECTORY), signal.SIGSTOP, 0, 0)
    _must_be(place, who, "tT")


@attempt("sigio-init", "fcntl F_SETOWN and F_SETSIG: the kernel itself sends SIGKILL", twin="own",
         unseen=KEPT)  # fmt: skip
def _(place: Place) -> None:
    who = whom(place)
    ours, theirs = socket.socketpair()
    fcntl.fcntl(ours, fcntl.F_SETOWN, who)
    fcntl.fcntl(ours, F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    theirs.send(b"1")
    _must_be(place, who, "ZX")


def _must_be(place: Place, who: int, states: str) -> None:
    """A signal that was taken must have had its effect: init is kept from some."""
    for _ in range(1000 if place.allowed else 50):
        with open(f"/proc/{who}/stat") as file:
            if file.read().rpartition(") ")[2][0] in states:
                return
        time.sleep(0.01)
    raise OSError(errno.EPERM, "it lives on")


@attempt("ptrace-attach", "ptrace(2) PTRACE_ATTACH to init", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("ptrace", PTRACE_ATTACH, whom(place), 0, 0)


@attempt("ptrace-seize", "ptrace(2) PTRACE_SEIZE of init", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("ptrace", PTRACE_SEIZE, whom(place), 0, 0)


@attempt("ptrace-high", "ptrace(2) whose request is PTRACE_TRACEME in the lower 32 bits",
         twin="own", unseen="the kernel looks at the whole word, and knows it not")  # fmt: skip
def _(place: Place) -> None:
    """What looks like a harmless request to a filter must not be another one."""
    high = 0 if place.allowed else 1 << 32
    call("ptrace", high, INIT, 0, 0)


def vectors(address: int, memory: ctypes.Array[ctypes.c_char]) -> tuple[bytes, bytes]:
    ours = struct.pack("<QQ", ctypes.addressof(memory), WORD)
    return ours, struct.pack("<QQ", address, WORD)


@attempt("vm-read-init", "process_vm_readv(2) of init", twin="own", kind="privileged")
def _(place: Place) -> None:
    memory = ctypes.create_string_buffer(WORD)
    ours, theirs = vectors(ctypes.addressof(memory), memory)
    call("process_vm_readv", whom(place), ours, 1, theirs, 1, 0)


@attempt("vm-write-init", "process_vm_writev(2) into init", twin="bare", kind="privileged")
def _(place: Place) -> None:
    memory = ctypes.create_string_buffer(WORD)
    ours, theirs = vectors(ctypes.addressof(memory), memory)
    call("process_vm_writev", whom(place), ours, 1, theirs, 1, 0)


def _proc(place: Place, name: str, flags: int) -> int:
    return os.open(f"/proc/{whom(place)}/{name}", flags)


@attempt("init-mem-write", "open /proc/1/mem for writing", twin="own", kind="outside")
def _(place: Place) -> None:
    _proc(place, "mem", os.O_RDWR)


@attempt("init-mem-read", "open /proc/1/mem for reading", twin="own", unseen="opens to read")
def _(place: Place) -> None:
    _proc(place, "mem", os.O_RDONLY)


@attempt("init-environ", "read /proc/1/environ", twin="own", unseen="opens to read")
def _(place: Place) -> None:
    os.read(_proc(place, "environ", os.O_RDONLY), 1)


@attempt("init-maps", "read /proc/1/maps, for its addresses", twin="own", unseen="opens to read")
def _(place: Place) -> None:
    os.read(_proc(place, "maps", os.O_RDONLY), 1)


@attempt("init-fds", "list /proc/1/fd, for the control socket", twin="own", unseen="opens to read")
def _(place: Place) -> None:
    os.listdir(f"/proc/{whom(place)}/fd")


@attempt("init-fd-3", "open /proc/1/fd/3, the control socket, for writing", twin="own",
         kind="outside")  # fmt: skip
def _(place: Place) -> None:
    kept = os.open(os.devnull, os.O_RDWR)
    _proc(place, f"fd/{kept if place.allowed else 3}", os.O_WRONLY)


@attempt("init-oom", "open /proc/1/oom_score_adj, so that init dies first", twin="own",
         kind="outside")  # fmt: skip
def _(place: Place) -> None:
    os.write(_proc(place, "oom_score_adj", os.O_WRONLY), b"1000")


@attempt("init-comm", "write /proc/1/comm", twin="own", kind="outside")
def _(place: Place) -> None:
    who = os.getpid() if place.allowed else INIT
    os.write(os.open(f"/proc/{who}/comm", os.O_WRONLY), b"other")


@attempt("init-exe", "open the program of init for writing", twin="own")
def _(place: Place) -> None:
    """By its own path: /proc/1/exe is a link that only its owner may follow."""
    path = place.mine("program") if place.allowed else "/rolewall/init"
    os.open(path, os.O_WRONLY)


@attempt("init-task-mem", "open /proc/1/task/1/mem for writing", twin="own")
def _(place: Place) -> None:
    who = whom(place)
    os.open(f"/proc/{who}/task/{who}/mem", os.O_RDWR)


@attempt("init-kcmp", "kcmp(2): does init share open files with me", twin="bare",
         unseen="reads only; the kernel refuses who may not trace")  # fmt: skip
def _(place: Place) -> None:
    call("kcmp", os.getpid(), whom(place), 2, 0, 0)


@attempt("init-robust", "get_robust_list(2): an address in init", twin="own",
         unseen="reads only; the kernel refuses who may not trace")  # fmt: skip
def _(place: Place) -> None:
    memory = ctypes.create_string_buffer(2 * WORD)
    at = ctypes.addressof(memory)
    call("get_robust_list", whom(place), at, at + WORD)


@attempt("pidfd-getfd", "pidfd_getfd(2): a descriptor of another process", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    call("pidfd_getfd", os.pidfd_open(os.getpid()), 2, 0)
