"""No way leads to a set-id file: on the host it would run as whoever owns the zone there."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

import pytest

from rolewall.policies import Effect, Kind, Outcome
from rolewall.sandbox.tap.bpf import ALLOW, NOTIFY, build_deny_filter, build_filter, run_filter
from rolewall.sandbox.tap.syscalls import ARCHES, by_number

Open = Callable[..., Any]
O_CREAT, O_WRONLY, O_TMPFILE = 0o100, 1, 0o20000000
EPERM = 0x00050000 | errno.EPERM

PRELUDE = """
import ctypes, errno, os, platform, stat
libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
os.umask(0)
os.chdir("/verdict")
open("f", "w").close()
fd = os.open("f", os.O_RDWR)
def call(*args):
    result = libc.syscall(*[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return errno.errorcode[ctypes.get_errno()] if result < 0 else "ok"
def told(function, *args, **more):
    try:
        function(*args, **more)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "ok"
"""

# name: call with {mode}
WAYS = {
    "chmod": "told(os.chmod, 'f', {mode})",
    "fchmod": "told(os.fchmod, fd, {mode})",
    "fchmodat": "call(268 if X86 else 53, -100, b'f', {mode})",
    "fchmodat2": "call(452, -100, b'f', {mode}, 0)",
    "openat": "told(os.open, 'new', os.O_CREAT | os.O_WRONLY, {mode})",
    "tmpfile": "told(os.open, '.', os.O_TMPFILE | os.O_WRONLY, {mode})",
    "mkdir": "told(os.mkdir, 'dir', {mode})",
    "mknod": "told(os.mknod, 'node', stat.S_IFREG | {mode})",
    "mkfifo": "told(os.mkfifo, 'fifo', {mode})",
}
OLD_WAYS = {
    "open": "call(2, b'new', os.O_CREAT | os.O_WRONLY, {mode})",
    "creat": "call(85, b'new', {mode})",
    "old mkdir": "call(83, b'dir', {mode})",
    "old mknod": "call(133, b'node', stat.S_IFREG | {mode}, 0)",
}


@pytest.mark.bubblewrap
@pytest.mark.parametrize("bits", [0o4000, 0o2000, 0o6000])
def test_no_call_sets_them_and_all_set_other_modes(open_box: Open, bits: int) -> None:
    ways = WAYS | (OLD_WAYS if os.uname().machine == "x86_64" else {})
    box = open_box()
    for name, way in ways.items():
        refused = f"{PRELUDE}print({way.format(mode=bits | 0o755)}, end='')"
        assert box.python(refused) == (0, "EPERM"), name
    clean = [
        box.python(f"{PRELUDE}print({way.format(mode=0o755)}, end='')") for way in ways.values()
    ]
    assert {status for status, _ in clean} == {0}
    assert {output for _, output in clean} <= {"ok", "EEXIST"}
    found = box.attempts()
    assert len(found) == len(ways)
    for attempt in found:
        assert (attempt.kind, attempt.outcome) == (Kind.PRIVILEGED, Outcome.DENIED)
        assert attempt.why.endswith("is denied: set-id bits")
        assert attempt.flags[0].endswith(f"{bits | 0o755:o}")
    made = list((box.workspace.parent / "verdict").iterdir())
    assert {path.name for path in made} == {"f", "new", "dir", "node", "fifo"}
    assert not any(path.stat().st_mode & 0o6000 for path in made)


@pytest.mark.bubblewrap
def test_openat2_is_absent_and_open_works(open_box: Open) -> None:
    box = open_box(writable=True)
    how = "ctypes.create_string_buffer(bytes([0o102 & 255, 0]) + bytes(6) + bytes([0xed, 13]), 24)"
    code = f"{PRELUDE}print(call(437, -100, b'new', {how}, 24), end='')"
    assert box.python(code) == (0, "ENOSYS")
    assert box.python(f"{PRELUDE}print(told(open, 'new', 'w'), end='')") == (0, "ok")
    assert box.attempts() == []


# name: (place of the mode, the arguments before it that matter)
MODES = {
    "chmod": (1, ()), "fchmod": (1, ()), "fchmodat": (2, ()), "fchmodat2": (2, ()),
    "creat": (1, ()), "mkdir": (1, ()), "mkdirat": (2, ()), "mknod": (1, ()), "mknodat": (2, ()),
    "open": (2, (0, O_CREAT | O_WRONLY)), "openat": (3, (0, 0, O_TMPFILE | O_WRONLY)),
}  # fmt: skip


@pytest.mark.parametrize("arch", sorted(ARCHES))
@pytest.mark.parametrize("name", sorted(MODES))
def test_both_filters_look_at_the_mode(arch: str, name: str) -> None:
    numbers = {row.name: number for number, row in by_number(arch).items()}
    if name not in numbers:
        assert arch == "aarch64"
        return
    place, other = MODES[name]
    for mode in (0o4755, 0o2755, 0xDEADBEEF << 32 | 0o6000):
        args = [*(*other, 0, 0, 0)[:place], mode]
        audit, number = ARCHES[arch].audit, numbers[name]
        assert run_filter(build_deny_filter(arch), audit, number, args) == EPERM
        assert run_filter(build_filter(arch), audit, number, args) == NOTIFY
        plain = [*args[:place], 0o1777 | 0o100000]
        assert run_filter(build_deny_filter(arch), audit, number, plain) == ALLOW


@pytest.mark.parametrize("arch", sorted(ARCHES))
def test_an_open_that_makes_nothing_has_no_mode(arch: str) -> None:
    numbers = {row.name: number for number, row in by_number(arch).items()}
    for flags in (0, O_WRONLY, 0o200000, 0o40000, 0o1000 | O_WRONLY):
        args = (0, 0, flags, 0o6755)
        deny = build_deny_filter(arch)
        assert run_filter(deny, ARCHES[arch].audit, numbers["openat"], args) == ALLOW


def test_every_row_with_a_mode_is_guarded() -> None:
    for row in by_number("x86_64").values():
        takes = row.flag_names in ("mode", "open") or row.effect is Effect.MODE
        assert bool(row.set_id) == (takes and not row.errno), row.name
