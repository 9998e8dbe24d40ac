"""The seccomp filter, built from the table, and an interpreter to test it with.

Every rule carries its own returns, so no jump is longer than one rule and the
eight-bit jump offsets of classic BPF are never a limit.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence
from functools import cache

from .syscalls import ARCHES, TABLE, Arch, ArgTest, Syscall, native_arch

__all__ = ["ALLOW", "NOTIFY", "build_deny_filter", "build_filter", "run_filter"]

ALLOW = 0x7FFF0000
NOTIFY = 0x7FC00000
ERRNO = 0x00050000

_LOAD, _RETURN, _JEQ, _JSET = 0x20, 0x06, 0x15, 0x45
_NR, _ARCH, _ARGS = 0, 4, 16  # offsets in struct seccomp_data
_INSN = struct.Struct("<HBBI")
_MAX_INSNS = 4096

Insn = tuple[int, int, int, int]


@cache
def build_filter(arch: str | None = None, *, reads: bool = False) -> bytes:
    """The tap's filter as an array of ``struct sock_filter`` (8 bytes each), for this
    machine or for ``arch`` (``x86_64``, ``aarch64``).

    Calls of another architecture or of x32 are notified; with ``reads`` every open is.

    Raises:
        TapError: the tap has no table for the architecture.
    """
    machine = native_arch() if arch is None else ARCHES[arch]
    return _pack(machine, NOTIFY, [(row, _body(row, reads)) for row in TABLE])


@cache
def build_deny_filter(arch: str | None = None) -> bytes:
    """The filter of a box without a tap: what the tap would refuse fails with the same
    error, of another architecture or x32 everything, and nobody is told.

    Raises:
        TapError: there is no table for the architecture.
    """
    machine = native_arch() if arch is None else ARCHES[arch]
    rows = [(row, _denial(row)) for row in TABLE if row.errno or row.set_id or row.refused]
    return _pack(machine, ERRNO | errno.ENOSYS, rows)


def _pack(machine: Arch, foreign: int, rows: Sequence[tuple[Syscall, list[Insn]]]) -> bytes:
    program = _prologue(machine, foreign)
    for row, body in rows:
        number = row.number(machine.name)
        if number is not None:
            program += [(_JEQ, 0, len(body), number), *body]
    program.append((_RETURN, 0, 0, ALLOW))
    if len(program) > _MAX_INSNS:
        raise ValueError(f"filter of {len(program)} instructions; the kernel takes {_MAX_INSNS}")
    return b"".join(_INSN.pack(*insn) for insn in program)


def _prologue(machine: Arch, foreign: int) -> list[Insn]:
    program: list[Insn] = [
        (_LOAD, 0, 0, _ARCH),
        (_JEQ, 1, 0, machine.audit),
        (_RETURN, 0, 0, foreign),
        (_LOAD, 0, 0, _NR),
    ]
    if machine.x32_bit:
        program += [(_JSET, 0, 1, machine.x32_bit), (_RETURN, 0, 0, foreign)]
    return program


def _body(row: Syscall, reads: bool) -> list[Insn]:
    if row.silent:
        return [(_RETURN, 0, 0, ERRNO | row.errno)]
    if reads and row.reads:
        return [(_RETURN, 0, 0, NOTIFY)]
    return _decision(row, NOTIFY)


def _denial(row: Syscall) -> list[Insn]:
    if row.errno:
        return _decision(row, ERRNO | row.errno)
    if row.refused:
        return [*_any(row.refused, ERRNO | errno.EPERM), (_RETURN, 0, 0, ALLOW)]
    return _all(row.set_id, ERRNO | errno.EPERM)


def _all(tests: Sequence[ArgTest], action: int) -> list[Insn]:
    body: list[Insn] = [(_RETURN, 0, 0, action), (_RETURN, 0, 0, ALLOW)]
    for test in reversed(tests):
        compare = _JSET if test.mask else _JEQ
        missed = len(body) - 1
        body = [(_LOAD, 0, 0, _ARGS + 8 * test.arg), (compare, 0, missed, test.value), *body]
    return body


def _decision(row: Syscall, action: int) -> list[Insn]:
    body = [*_any(row.unless, ALLOW), *_any(row.when, action)]
    return [*body, (_RETURN, 0, 0, ALLOW if row.when else action)]


def _any(tests: Sequence[ArgTest], action: int) -> list[Insn]:
    return [insn for test in tests for insn in _test(test, action)]


def _test(test: ArgTest, action: int) -> list[Insn]:
    return [
        (_LOAD, 0, 0, _ARGS + 8 * test.arg),
        (_JSET if test.mask else _JEQ, 0, 1, test.value),
        (_RETURN, 0, 0, action),
    ]


def run_filter(program: bytes, audit_arch: int, nr: int, args: Sequence[int] = ()) -> int:
    """What ``program`` returns for a call, without a kernel: how tests ask every row of it."""
    padded = [arg & (1 << 64) - 1 for arg in (*args, 0, 0, 0, 0, 0, 0)[:6]]
    data = struct.pack("<IIQ6Q", nr & 0xFFFFFFFF, audit_arch, 0, *padded)
    insns = list(_INSN.iter_unpack(program))
    at, value = 0, 0
    while True:
        code, jump_true, jump_false, k = insns[at]
        at += 1
        if code == _RETURN:
            return int(k)
        if code == _LOAD:
            (value,) = struct.unpack_from("<I", data, k)
            continue
        hit = value == k if code == _JEQ else bool(value & k)
        at += jump_true if hit else jump_false
