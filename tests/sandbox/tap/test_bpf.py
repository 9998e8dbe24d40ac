from __future__ import annotations

import pytest

from rolewall.errors import TapError
from rolewall.sandbox.tap import syscalls
from rolewall.sandbox.tap.bpf import ALLOW, NOTIFY, build_deny_filter, build_filter, run_filter
from rolewall.sandbox.tap.flags import flag_names, open_effect
from rolewall.sandbox.tap.syscalls import ARCHES, FILE_IOCTLS, SWAPS, TABLE, ArgTest, by_number

ERRNO_ENOSYS = 0x00050000 | 38
O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_TRUNC = 0, 1, 2, 0o100, 0o1000
TMPFILE, DIRECTORY = 0o20000000, {"x86_64": 0o200000, "aarch64": 0o40000}
READS = {
    "x86_64": {"read": 0, "close": 3, "fstat": 5, "mmap": 9, "newfstatat": 262, "getdents64": 217,
               "write": 1, "futex": 202, "file_getattr": 468, "readlink": 89},
    "aarch64": {"read": 63, "close": 57, "fstat": 80, "mmap": 222, "newfstatat": 79,
                "getdents64": 61, "write": 64, "futex": 98, "file_getattr": 468, "readlinkat": 78},
}  # fmt: skip


@pytest.fixture(params=sorted(ARCHES))
def arch(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def act(arch: str, name: str, *args: int) -> int:
    numbers = {row.name: number for number, row in by_number(arch).items()}
    return run_filter(build_filter(arch), ARCHES[arch].audit, numbers[name], args)


def test_reads_pass_unseen(arch: str) -> None:
    for number in READS[arch].values():
        assert run_filter(build_filter(arch), ARCHES[arch].audit, number) == ALLOW


def test_every_row_is_decided(arch: str) -> None:
    for number, row in by_number(arch).items():
        seen = run_filter(build_filter(arch), ARCHES[arch].audit, number, _hit(row.when))
        assert seen == (ERRNO_ENOSYS if row.silent else NOTIFY), row.name
        if row.when:
            assert run_filter(build_filter(arch), ARCHES[arch].audit, number) == ALLOW, row.name


def _hit(when: tuple[ArgTest, ...]) -> tuple[int, ...]:
    args = [9, 9, 9, 9, 9, 9]
    for test in when[:1]:
        args[test.arg] = test.value
    return tuple(args)


@pytest.mark.parametrize(
    "flags", [O_WRONLY, O_RDWR, 3, O_RDONLY | O_TRUNC, O_RDONLY | O_CREAT, TMPFILE | O_RDWR]
)
def test_opens_that_may_change_something_are_seen(arch: str, flags: int) -> None:
    assert act(arch, "openat", -100, 0, flags) == NOTIFY
    assert act(arch, "openat", -100, 0, flags | 0o2000000) == NOTIFY


def test_opens_that_only_read_are_not(arch: str) -> None:
    for flags in (O_RDONLY, 0o2000000, DIRECTORY[arch], ARCHES[arch].o_nofollow, 0o4000):
        assert act(arch, "openat", -100, 0, flags) == ALLOW
        assert open_effect(flags) is None


def test_the_high_half_of_an_argument_hides_nothing(arch: str) -> None:
    high = 0xDEADBEEF << 32
    assert act(arch, "openat", -100, 0, high | O_WRONLY) == NOTIFY
    assert act(arch, "kill", high | 1, 9) == NOTIFY
    assert act(arch, "ioctl", 0, high | 0x40086602) == NOTIFY
    assert act(arch, "clone", high | 0x10000000) == NOTIFY


def test_namespaces(arch: str) -> None:
    thread = 0x3D0F00
    assert act(arch, "clone", thread) == ALLOW
    assert act(arch, "clone", 17) == ALLOW
    assert act(arch, "clone", 0x10000000 | 17) == NOTIFY
    assert act(arch, "unshare", 0x10000000) == NOTIFY
    assert act(arch, "unshare", 0x400) == NOTIFY
    assert act(arch, "clone3") == act(arch, "openat2") == ERRNO_ENOSYS


def test_calls_on_pid_1(arch: str) -> None:
    for name in ("kill", "prlimit64", "sched_setaffinity", "pidfd_open"):
        assert act(arch, name, 1) == NOTIFY
        assert act(arch, name, 0) == ALLOW
        assert act(arch, name, 4711) == ALLOW
    assert act(arch, "kill", -1, 9) == ALLOW
    assert act(arch, "setpriority", 0, 1) == NOTIFY
    assert act(arch, "setpriority", 0, 0) == act(arch, "ioprio_set", 1, 0) == ALLOW
    assert act(arch, "ptrace", 16, 1) == NOTIFY
    assert act(arch, "ptrace", 0, 1) == ALLOW
    assert act(arch, "ptrace", 16, 50) == ALLOW


def test_what_is_aimed_at_all_processes_of_a_user(arch: str) -> None:
    assert act(arch, "setpriority", 2, 0) == act(arch, "ioprio_set", 3, 0) == NOTIFY


def test_ioctl_and_socket(arch: str) -> None:
    assert act(arch, "ioctl", 3, 0x5401) == ALLOW
    assert act(arch, "ioctl", 3, 0x401C5820) == NOTIFY
    assert {act(arch, "socket", family) for family in (1, 2, 10, 16)} == {ALLOW}
    assert {act(arch, "socket", family) for family in (15, 17, 38, 40, 44)} == {NOTIFY}
    assert (act(arch, "socketpair", 1), act(arch, "socketpair", 30)) == (ALLOW, NOTIFY)


def test_exchanging_the_blocks_of_files_is_refused_with_and_without_a_tap(arch: str) -> None:
    high = 0xDEADBEEF << 32
    (row,) = (row for row in TABLE if row.name == "ioctl")
    assert {0xC028660F, 0xC0C0586D, 0x40285881, 0x40585883} <= SWAPS.keys()
    for request in SWAPS:
        for args in ((3, request), (3, high | request)):
            assert act(arch, "ioctl", *args) == NOTIFY
            assert deny(arch, "ioctl", *args) == 0x00050001
            assert row.refuses(args)
        (name,) = flag_names("ioctl", request, ARCHES[arch])
        assert name.split("_")[1] == "IOC"
    for request in FILE_IOCTLS:
        assert act(arch, "ioctl", 3, request) == NOTIFY
        assert deny(arch, "ioctl", 3, request) == ALLOW
        assert not row.refuses((3, request))
    # FS_IOC_GETFLAGS, and a number of SWAPS in the place of other arguments.
    for args in ((3, 0x80086601), (0xC028660F, 0x5401, 0xC028660F)):
        assert act(arch, "ioctl", *args) == deny(arch, "ioctl", *args) == ALLOW


def test_foreign_calls_are_seen() -> None:
    i386, x86 = 0x40000003, ARCHES["x86_64"].audit
    assert run_filter(build_filter("x86_64"), i386, 5) == NOTIFY
    assert run_filter(build_filter("x86_64"), x86, 0x40000000) == NOTIFY
    assert run_filter(build_filter("x86_64"), ARCHES["aarch64"].audit, 63) == NOTIFY
    assert run_filter(build_filter("aarch64"), x86, 0) == NOTIFY


def test_the_table_is_sound(arch: str) -> None:
    names = [row.name for row in TABLE]
    assert len(names) == len(set(names))
    assert len(by_number(arch)) == sum(row.number(arch) is not None for row in TABLE)
    for row in TABLE:
        assert bool(row.paths) != bool(row.errno), row.name


def test_an_unknown_architecture_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(syscalls.ARCHES, "x86_64", ARCHES["x86_64"])
    for name in ("x86_64", "aarch64"):
        monkeypatch.delitem(syscalls.ARCHES, name)
    with pytest.raises(TapError, match="no system call table"):
        syscalls.native_arch()


def test_flag_names(arch: str) -> None:
    machine = ARCHES[arch]
    named = flag_names("open", O_RDWR | O_CREAT | machine.o_nofollow, machine)
    assert named == ("O_RDWR", "O_CREAT", "O_NOFOLLOW")
    tmpfile = TMPFILE | DIRECTORY[arch] | O_WRONLY
    assert flag_names("open", tmpfile, machine) == ("O_WRONLY", "O_TMPFILE")
    assert flag_names("rename", 2, machine) == ("RENAME_EXCHANGE",)
    assert flag_names("at", 0x10000100, machine) == ("AT_SYMLINK_NOFOLLOW", "0x10000000")
    assert flag_names("mode", 0o755, machine) == ("0755",)


def deny(arch: str, name: str, *args: int) -> int:
    numbers = {row.name: number for number, row in by_number(arch).items()}
    return run_filter(build_deny_filter(arch), ARCHES[arch].audit, numbers[name], args)


def test_without_a_tap_what_the_tap_refuses_fails_and_the_rest_passes(arch: str) -> None:
    program, audit = build_deny_filter(arch), ARCHES[arch].audit
    for number, row in by_number(arch).items():
        seen = run_filter(program, audit, number, _hit(row.when))
        assert seen == (0x00050000 | row.errno if row.errno else ALLOW), row.name
        if row.when:
            assert run_filter(program, audit, number) == ALLOW, row.name
    for number in READS[arch].values():
        assert run_filter(program, audit, number) == ALLOW


def test_without_a_tap_arguments_decide_as_with_one(arch: str) -> None:
    high = 0xDEADBEEF << 32
    eperm = 0x00050001
    assert deny(arch, "clone", high | 0x10000000 | 17) == eperm
    assert deny(arch, "clone", 17) == ALLOW
    assert deny(arch, "kill", 1, 9) == eperm
    assert deny(arch, "kill", 4711, 9) == ALLOW
    assert deny(arch, "ptrace", 16, 1) == eperm
    assert deny(arch, "ptrace", 0, 1) == ALLOW
    assert deny(arch, "socket", 40) == 0x00050000 | 97
    assert deny(arch, "socket", 1) == ALLOW
    assert deny(arch, "openat", -100, 0, O_WRONLY) == ALLOW


def test_without_a_tap_foreign_calls_do_not_exist() -> None:
    i386, x86, arm = 0x40000003, ARCHES["x86_64"].audit, ARCHES["aarch64"].audit
    for program, audit, number in (
        (build_deny_filter("x86_64"), i386, 5),
        (build_deny_filter("x86_64"), x86, 0x40000000),
        (build_deny_filter("x86_64"), arm, 63),
        (build_deny_filter("aarch64"), x86, 0),
    ):
        assert run_filter(program, audit, number) == ERRNO_ENOSYS
    assert run_filter(build_deny_filter("x86_64"), x86, 0) == ALLOW
    assert run_filter(build_deny_filter("aarch64"), arm, 63) == ALLOW
