"""Changing a file by a call that was not the one that a filter looked at, or by a program
without a name."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys
import threading
from collections.abc import Callable

from .attempt import Place, Skip, attempt
from .calls import AT_EMPTY_PATH, LIBC, call
from .numbers import number

GROUP = "tracing"
PTRACE_TRACEME, PTRACE_CONT, PTRACE_SYSCALL, PTRACE_SETOPTIONS = 0, 7, 24, 0x4200
PTRACE_PEEKUSER, PTRACE_POKEUSER = 3, 6
PTRACE_O_TRACESYSGOOD, PTRACE_O_TRACESECCOMP = 1, 0x80
PTRACE_EVENT_SECCOMP = 7
# Offsets in the x86-64 struct user: the call's number, its first two arguments.
ORIG_RAX, RDI, RSI = 120, 112, 104
GETPID, TRUNCATE = 39, 76
SET_FILTER, NEW_LISTENER = 1, 8
RET_ALLOW, RET_TRACE = 0x7FFF0000, 0x7FF00000
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
PR_SET_NAME, PR_SET_NO_NEW_PRIVS = 15, 38


def filtered(program: list[tuple[int, int, int, int]], flags: int = 0) -> int:
    """Put a filter on this process."""
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in program))
    what = struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(code))
    LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return call("seccomp", SET_FILTER, flags, what)


def ptrace(request: int, who: int, address: int, data: int) -> int:
    return call("ptrace", request, who, address, data)


@attempt("seccomp-allow", "truncate(2) behind an own filter that allows everything", twin="zone")
def _(place: Place) -> None:
    filtered([(RETURN, 0, 0, RET_ALLOW)])
    os.truncate(place.file, 0)


@attempt("seccomp-second", "seccomp(2): a second listener, to answer one's own calls",
         twin="bare",
         unseen="is a filter of the caller's own; the kernel allows one listener")  # fmt: skip
def _(place: Place) -> None:
    filtered([(RETURN, 0, 0, RET_ALLOW)], NEW_LISTENER)


@attempt("seccomp-trace", "SECCOMP_RET_TRACE: an own tracer makes getpid(2) a truncate(2)",
         twin="zone")  # fmt: skip
def _(place: Place) -> None:
    trace = [(LOAD, 0, 0, 0), (JUMP_EQUAL, 0, 1, GETPID), (RETURN, 0, 0, RET_TRACE)]
    path = ctypes.create_string_buffer(os.fsencode(place.file))
    child = _traced(lambda: filtered([*trace, (RETURN, 0, 0, RET_ALLOW)]))
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESECCOMP)
    ptrace(PTRACE_CONT, child, 0, 0)
    _, status = os.waitpid(child, 0)
    if status >> 8 != signal.SIGTRAP | PTRACE_EVENT_SECCOMP << 8:
        _as_it_ended(status)
    _swap(child, path)
    ptrace(PTRACE_CONT, child, 0, 0)
    _as_it_ended(os.waitpid(child, 0)[1])


@attempt("ptrace-swap", "PTRACE_SYSCALL: an own tracer makes getpid(2) a truncate(2)",
         twin="zone")  # fmt: skip
def _(place: Place) -> None:
    path = ctypes.create_string_buffer(os.fsencode(place.file))
    child = _traced(lambda: 0)
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD)
    swapped = False
    while True:
        ptrace(PTRACE_SYSCALL, child, 0, 0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            return _as_it_ended(status)
        if not swapped and _peek(child, ORIG_RAX) == GETPID:
            swapped = True
            _swap(child, path)


def _traced(prepare: Callable[[], int]) -> int:
    """A stopped child of ours, traced, which then calls getpid(2) and ends with its errno."""
    if os.uname().machine != "x86_64":
        raise Skip("registers are told for x86-64 alone")
    child = os.fork()
    if not child:
        code = 255
        try:
            ptrace(PTRACE_TRACEME, 0, 0, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            prepare()
            call("getpid")
            code = 0
        except OSError as error:
            code = error.errno or 255
        finally:
            os._exit(code)
    os.waitpid(child, 0)
    return child


def _swap(child: int, path: ctypes.Array[ctypes.c_char]) -> None:
    for register, value in ((ORIG_RAX, TRUNCATE), (RDI, ctypes.addressof(path)), (RSI, 0)):
        ptrace(PTRACE_POKEUSER, child, register, value)


def _peek(child: int, register: int) -> int:
    word = ctypes.c_long()
    ptrace(PTRACE_PEEKUSER, child, register, ctypes.addressof(word))
    return word.value


def _as_it_ended(status: int) -> None:
    code = os.waitstatus_to_exitcode(status)
    if code:
        raise OSError(code, os.strerror(code))


NAMELESS = """
import ctypes, os, sys
ctypes.CDLL(None).prctl({set_name}, {name!r}, 0, 0, 0)
try:
    os.truncate({path!r}, 0)
except OSError as error:
    os._exit(error.errno)
"""


def _nameless(place: Place, by: str) -> None:
    """Run Python from memory, whose file has no name in any directory."""
    with open("/proc/self/comm") as file:
        name = file.read().strip().encode()
    code = NAMELESS.format(set_name=PR_SET_NAME, name=name, path=place.file)
    memory = os.memfd_create("nameless", 0)
    with open(sys.executable, "rb") as file:
        os.sendfile(memory, file.fileno(), 0, os.fstat(file.fileno()).st_size)
    child = os.fork()
    if not child:
        argv = [sys.executable, "-I", "-S", "-c", code]
        if by == "path":
            os.execve(f"/proc/self/fd/{memory}", argv, os.environ)
        words = (ctypes.c_char_p * (len(argv) + 1))(*map(os.fsencode, argv))
        here = (ctypes.c_char_p * 1)()
        call("execveat", memory, b"\0", words, here, AT_EMPTY_PATH)
    _as_it_ended(os.waitpid(child, 0)[1])


@attempt("memfd-execveat", "truncate(2) by a program in memory, run by execveat(2)", twin="zone")
def _(place: Place) -> None:
    _nameless(place, "descriptor")


@attempt("memfd-path", "truncate(2) by a program in memory, run by /proc/self/fd", twin="zone")
def _(place: Place) -> None:
    _nameless(place, "path")


@attempt("thread", "truncate(2) by a thread, while the first one has ended", twin="zone")
def _(place: Place) -> None:
    """What a process is is looked up by its first thread, which is a zombie here."""
    child = os.fork()
    if not child:
        _leaderless(place.file)
    _as_it_ended(os.waitpid(child, 0)[1])


def _leaderless(path: str) -> None:
    def late() -> None:
        code = 0
        try:
            os.truncate(path, 0)
        except OSError as error:
            code = error.errno or 255
        os._exit(code)

    threading.Timer(0.2, late).start()
    LIBC.syscall(ctypes.c_long(number("exit")), ctypes.c_long(0))
