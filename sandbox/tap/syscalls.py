"""Every system call that the tap sees: one table for filter and supervisor.

A call that is not here is allowed without notice. Numbers are the kernel's,
written out because libseccomp does not know the newest; None where an
architecture lacks the call.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass

from rolewall.errors import TapError
from rolewall.policies import Effect

__all__ = [
    "ARCHES",
    "FILE_IOCTLS",
    "SWAPS",
    "TABLE",
    "Arch",
    "ArgTest",
    "PathArg",
    "Syscall",
    "by_number",
    "native_arch",
]


@dataclass(frozen=True, slots=True)
class Arch:
    """An architecture: its audit number and the open flags that differ by it."""

    name: str
    audit: int
    o_directory: int
    o_nofollow: int
    x32_bit: int = 0


ARCHES = {
    "x86_64": Arch("x86_64", 0xC000003E, 0o200000, 0o400000, x32_bit=0x40000000),
    "aarch64": Arch("aarch64", 0xC00000B7, 0o40000, 0o100000),
}


@dataclass(frozen=True, slots=True)
class PathArg:
    """Where a call names a file.

    ``dirfd`` None means the working directory; ``path`` None means that the
    descriptor itself is the file. ``follow`` says what happens to a link as the
    last component; ``at`` is the index of AT_* flags, which can change that and
    allow an empty path. ``null`` says that a null path means the descriptor.
    """

    dirfd: int | None
    path: int | None
    follow: bool = True
    at: int | None = None
    null: bool = False


@dataclass(frozen=True, slots=True)
class ArgTest:
    """A test of the low 32 bits of one argument: any bit of a mask, or equality."""

    arg: int
    value: int
    mask: bool = False

    def holds(self, args: Sequence[int]) -> bool:
        low = args[self.arg] & 0xFFFFFFFF
        return bool(low & self.value) if self.mask else low == self.value


@dataclass(frozen=True, slots=True)
class Syscall:
    """One row: how the call is seen, read, and answered.

    ``when`` (any) and ``unless`` (any) are decided in the filter. ``errno`` 0
    lets the kernel go on; else the call is refused with it, without its memory
    being read. ``silent`` refuses in the filter, with no notice. ``set_id`` (all)
    tells a call that would make a set-id file, ``refused`` (any) another that is not
    let through though the rest of the row is; both fail with EPERM.
    ``flags`` is the index of the argument that ``flag_names`` explains. ``reads``
    says that without its ``when`` the call still opens a file to read it.
    """

    name: str
    x86_64: int | None
    aarch64: int | None
    effect: Effect
    paths: tuple[PathArg, ...] = ()
    flags: int | None = None
    flag_names: str = ""
    when: tuple[ArgTest, ...] = ()
    unless: tuple[ArgTest, ...] = ()
    errno: int = 0
    silent: bool = False
    set_id: tuple[ArgTest, ...] = ()
    refused: tuple[ArgTest, ...] = ()
    reads: bool = False

    def number(self, arch: str) -> int | None:
        return self.x86_64 if arch == "x86_64" else self.aarch64

    def sets_id(self, args: Sequence[int]) -> bool:
        """Whether a call with these arguments would make a set-id file."""
        return bool(self.set_id) and all(test.holds(args) for test in self.set_id)

    def refuses(self, args: Sequence[int]) -> bool:
        """Whether ``refused`` holds for a call with these arguments."""
        return any(test.holds(args) for test in self.refused)


def native_arch() -> Arch:
    """The architecture of this machine.

    Raises:
        TapError: the tap has no table for it.
    """
    machine = os.uname().machine
    if machine not in ARCHES:
        raise TapError("no system call table", got=machine, expected=" or ".join(ARCHES))
    return ARCHES[machine]


def by_number(arch: str) -> dict[int, Syscall]:
    """The table of one architecture."""
    numbered = ((row.number(arch), row) for row in TABLE)
    return {number: row for number, row in numbered if number is not None}


# O_WRONLY|O_RDWR, O_CREAT, O_TRUNC and the bit of O_TMPFILE that O_DIRECTORY lacks.
WRITE_FLAGS = 0o3 | 0o100 | 0o1000 | 0o20000000
# CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}; clone(2) has no CLONE_NEWTIME.
CLONE_NEW = 0x7E020000
# Requests that change a file through a descriptor that need not be open for writing.
FILE_IOCTLS = {
    0x40086602: "FS_IOC_SETFLAGS",
    0x40046602: "FS_IOC32_SETFLAGS",
    0x401C5820: "FS_IOC_FSSETXATTR",
    0x40087602: "FS_IOC_SETVERSION",
    0x40806685: "FS_IOC_ENABLE_VERITY",
    0x800C6613: "FS_IOC_SET_ENCRYPTION_POLICY",
    0x40086604: "EXT4_IOC_SETVERSION",
    0x00006609: "EXT4_IOC_MIGRATE",
    0x40047211: "FAT_IOCTL_SET_ATTRIBUTES",
    0x5000940E: "BTRFS_IOC_SUBVOL_CREATE",
    0x50009418: "BTRFS_IOC_SUBVOL_CREATE_V2",
    0x50009401: "BTRFS_IOC_SNAP_CREATE",
    0x50009417: "BTRFS_IOC_SNAP_CREATE_V2",
    0x5000940F: "BTRFS_IOC_SNAP_DESTROY",
    0x5000943F: "BTRFS_IOC_SNAP_DESTROY_V2",
    0x4008941A: "BTRFS_IOC_SUBVOL_SETFLAGS",
}
# Requests that exchange the blocks of two files. They change what a file holds while its
# size, mtime and ctime stay, so that no manifest could tell; only defragmenting needs them.
SWAPS = {
    0xC028660F: "EXT4_IOC_MOVE_EXT",
    0x00006611: "EXT4_IOC_SWAP_BOOT",
    0xC0C0586D: "XFS_IOC_SWAPEXT",
    0x40285881: "XFS_IOC_EXCHANGE_RANGE",
    0x40585883: "XFS_IOC_COMMIT_RANGE",
    0xC020F509: "F2FS_IOC_MOVE_RANGE",
}
# AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. A family besides these would load kernel code that
# nothing here needs, and AF_VSOCK leaves the network namespace.
AF_UNIX = 1
FAMILIES = (AF_UNIX, 2, 10, 16)
PRIO_USER, IOPRIO_WHO_USER = 2, 3  # where init has the role's user, it is meant, too
# S_ISUID|S_ISGID. Through an id-mapped zone a role's file is on disk its owner's: a set-id
# bit there would run it as that owner, on the host. On a directory it lends only its group,
# but the mode alone does not say what it is for.
SET_ID = 0o6000
CREATES = 0o100 | 0o20000000  # only with O_CREAT or O_TMPFILE does an open have a mode

E = Effect
NOFOLLOW = False


def _at(dirfd: int, follow: bool = True, at: int | None = None, null: bool = False) -> PathArg:
    return PathArg(dirfd, dirfd + 1, follow, at, null)


def _path(index: int, follow: bool = True) -> PathArg:
    return PathArg(None, index, follow)


FD = (PathArg(0, None),)


def _open(name: str, x86: int | None, arm: int | None, path: PathArg, flags: int) -> Syscall:
    when = (ArgTest(flags, WRITE_FLAGS, mask=True),)
    set_id = (ArgTest(flags, CREATES, mask=True), *_mode(flags + 1))
    return Syscall(name, x86, arm, E.WRITE, (path,), flags, "open", when, set_id=set_id, reads=True)


def _mode(arg: int) -> tuple[ArgTest, ...]:
    return (ArgTest(arg, SET_ID, mask=True),)


def _with_mode(
    name: str, x86: int | None, arm: int | None, effect: Effect, path: PathArg, mode: int
) -> Syscall:
    return Syscall(name, x86, arm, effect, (path,), mode, "mode", set_id=_mode(mode))


def _deny(
    name: str,
    x86: int | None,
    arm: int | None,
    effect: Effect = E.PRIVILEGED,
    *when: ArgTest,
    code: int = errno.EPERM,
    unless: tuple[ArgTest, ...] = (),
) -> Syscall:
    return Syscall(name, x86, arm, effect, when=when, unless=unless, errno=code)


def _on_init(name: str, x86: int, arm: int) -> Syscall:
    return _deny(name, x86, arm, E.PRIVILEGED, ArgTest(0, 1))


# Rows that let some calls pass unseen stand first: only their numbers reach the
# filter often, since the kernel caches what is allowed by number alone.
TABLE: tuple[Syscall, ...] = (
    _open("openat", 257, 56, _at(0), 2),
    _open("open", 2, None, _path(0), 1),
    Syscall(
        "ioctl",
        16,
        29,
        E.ATTR,
        FD,
        1,
        "ioctl",
        when=tuple(ArgTest(1, request) for request in (*FILE_IOCTLS, *SWAPS)),
        refused=tuple(ArgTest(1, request) for request in SWAPS),
    ),
    Syscall(
        "clone",
        56,
        220,
        E.NAMESPACE,
        flags=0,
        flag_names="clone",
        when=(ArgTest(0, CLONE_NEW, mask=True),),
        errno=errno.EPERM,
    ),
    _deny(
        "socket",
        41,
        198,
        code=errno.EAFNOSUPPORT,
        unless=tuple(ArgTest(0, family) for family in FAMILIES),
    ),
    _deny("socketpair", 53, 199, code=errno.EAFNOSUPPORT, unless=(ArgTest(0, AF_UNIX),)),
    _on_init("kill", 62, 129),
    _on_init("tkill", 200, 130),
    _on_init("tgkill", 234, 131),
    _on_init("rt_sigqueueinfo", 129, 138),
    _on_init("rt_tgsigqueueinfo", 297, 240),
    # Where role and init share a user, a descriptor of /proc/1 serves pidfd_send_signal
    # as well; the kernel keeps pid 1 from what would kill or stop it, whoever sends it.
    _on_init("pidfd_open", 434, 434),
    _on_init("prlimit64", 302, 261),
    _on_init("sched_setaffinity", 203, 122),
    _on_init("sched_setparam", 142, 118),
    _on_init("sched_setscheduler", 144, 119),
    _on_init("sched_setattr", 314, 274),
    _on_init("setpgid", 109, 154),
    _on_init("migrate_pages", 256, 238),
    _on_init("move_pages", 279, 239),
    _on_init("process_vm_readv", 310, 270),
    _deny("setpriority", 141, 140, E.PRIVILEGED, ArgTest(1, 1), ArgTest(0, PRIO_USER)),
    _deny("ioprio_set", 251, 30, E.PRIVILEGED, ArgTest(1, 1), ArgTest(0, IOPRIO_WHO_USER)),
    # PTRACE_TRACEME (0) ignores the process id.
    _deny("ptrace", 101, 117, E.PRIVILEGED, ArgTest(1, 1), unless=(ArgTest(0, 0),)),
    # With other flags than namespaces, too: threads that part with their working
    # directory or descriptors serve to make paths ambiguous, and nothing needs them.
    Syscall("unshare", 272, 97, E.NAMESPACE, flags=0, flag_names="clone", errno=errno.EPERM),
    # The flags of these are in memory, so they cannot be judged without a race;
    # callers take ENOSYS as an old kernel and use clone and openat.
    Syscall("clone3", 435, 435, E.NAMESPACE, errno=errno.ENOSYS, silent=True),
    Syscall("openat2", 437, 437, E.WRITE, errno=errno.ENOSYS, silent=True),
    Syscall("execve", 59, 221, E.EXEC, (_path(0),)),
    Syscall("execveat", 322, 281, E.EXEC, (_at(0, at=4),), 4, "at"),
    _with_mode("creat", 85, None, E.CREATE_WRITE, _path(0), 1),
    _with_mode("mkdir", 83, None, E.CREATE, _path(0, NOFOLLOW), 1),
    _with_mode("mkdirat", 258, 34, E.CREATE, _at(0, NOFOLLOW), 2),
    _with_mode("mknod", 133, None, E.CREATE, _path(0, NOFOLLOW), 1),
    _with_mode("mknodat", 259, 33, E.CREATE, _at(0, NOFOLLOW), 2),
    Syscall("rmdir", 84, None, E.UNLINK, (_path(0, NOFOLLOW),)),
    Syscall("unlink", 87, None, E.UNLINK, (_path(0, NOFOLLOW),)),
    Syscall("unlinkat", 263, 35, E.UNLINK, (_at(0, NOFOLLOW),), 2, "unlink"),
    Syscall("rename", 82, None, E.RENAME, (_path(0, NOFOLLOW), _path(1, NOFOLLOW))),
    Syscall("renameat", 264, 38, E.RENAME, (_at(0, NOFOLLOW), _at(2, NOFOLLOW))),
    Syscall("renameat2", 316, 276, E.RENAME, (_at(0, NOFOLLOW), _at(2, NOFOLLOW)), 4, "rename"),
    Syscall("link", 86, None, E.LINK, (_path(0, NOFOLLOW), _path(1, NOFOLLOW))),
    Syscall("linkat", 265, 37, E.LINK, (_at(0, NOFOLLOW, at=4), _at(2, NOFOLLOW)), 4, "at"),
    # The target of a symbolic link is text; nothing there is changed.
    Syscall("symlink", 88, None, E.CREATE, (_path(1, NOFOLLOW),)),
    Syscall("symlinkat", 266, 36, E.CREATE, (_at(1, NOFOLLOW),)),
    _with_mode("chmod", 90, None, E.MODE, _path(0), 1),
    _with_mode("fchmod", 91, 52, E.MODE, FD[0], 1),
    _with_mode("fchmodat", 268, 53, E.MODE, _at(0), 2),
    Syscall("fchmodat2", 452, 452, E.MODE, (_at(0, at=3),), 3, "at", set_id=_mode(2)),
    Syscall("chown", 92, None, E.OWNER, (_path(0),)),
    Syscall("lchown", 94, None, E.OWNER, (_path(0, NOFOLLOW),)),
    Syscall("fchown", 93, 55, E.OWNER, FD),
    Syscall("fchownat", 260, 54, E.OWNER, (_at(0, at=4),), 4, "at"),
    Syscall("utime", 132, None, E.TIMES, (_path(0),)),
    Syscall("utimes", 235, None, E.TIMES, (_path(0),)),
    Syscall("futimesat", 261, None, E.TIMES, (_at(0, null=True),)),
    Syscall("utimensat", 280, 88, E.TIMES, (_at(0, at=3, null=True),), 3, "at"),
    Syscall("setxattr", 188, 5, E.XATTR, (_path(0),)),
    Syscall("lsetxattr", 189, 6, E.XATTR, (_path(0, NOFOLLOW),)),
    Syscall("fsetxattr", 190, 7, E.XATTR, FD),
    Syscall("removexattr", 197, 14, E.XATTR, (_path(0),)),
    Syscall("lremovexattr", 198, 15, E.XATTR, (_path(0, NOFOLLOW),)),
    Syscall("fremovexattr", 199, 16, E.XATTR, FD),
    Syscall("setxattrat", 463, 463, E.XATTR, (_at(0, at=2),), 2, "at"),
    Syscall("removexattrat", 466, 466, E.XATTR, (_at(0, at=2),), 2, "at"),
    Syscall("file_setattr", 469, 469, E.ATTR, (_at(0, at=4),), 4, "at"),
    Syscall("truncate", 76, 45, E.TRUNCATE, (_path(0),)),
    Syscall("ftruncate", 77, 46, E.TRUNCATE, FD),
    # The address is in memory; the supervisor passes over all but AF_UNIX paths.
    Syscall("bind", 49, 200, E.CREATE, (_path(1, NOFOLLOW),)),
    _deny("io_uring_setup", 425, 425, code=errno.ENOSYS),
    _deny("io_uring_enter", 426, 426, code=errno.ENOSYS),
    _deny("io_uring_register", 427, 427, code=errno.ENOSYS),
    _deny("mount", 165, 40, E.MOUNT),
    _deny("umount2", 166, 39, E.MOUNT),
    _deny("pivot_root", 155, 41, E.MOUNT),
    _deny("chroot", 161, 51, E.MOUNT),
    _deny("open_tree", 428, 428, E.MOUNT),
    _deny("move_mount", 429, 429, E.MOUNT),
    _deny("fsopen", 430, 430, E.MOUNT),
    _deny("fsconfig", 431, 431, E.MOUNT),
    _deny("fsmount", 432, 432, E.MOUNT),
    _deny("fspick", 433, 433, E.MOUNT),
    _deny("mount_setattr", 442, 442, E.MOUNT),
    _deny("open_tree_attr", 467, 467, E.MOUNT),
    _deny("setns", 308, 268, E.NAMESPACE),
    _deny("bpf", 321, 280),
    _deny("perf_event_open", 298, 241),
    _deny("add_key", 248, 217),
    _deny("request_key", 249, 218),
    _deny("keyctl", 250, 219),
    _deny("userfaultfd", 323, 282),
    _deny("open_by_handle_at", 304, 265),
    _deny("pidfd_getfd", 438, 438),
    _deny("process_vm_writev", 311, 271),
    _deny("kexec_load", 246, 104),
    _deny("kexec_file_load", 320, 294),
    _deny("init_module", 175, 105),
    _deny("finit_module", 313, 273),
    _deny("delete_module", 176, 106),
    _deny("quotactl", 179, 60),
    _deny("quotactl_fd", 443, 443),
    _deny("swapon", 167, 224),
    _deny("swapoff", 168, 225),
    _deny("reboot", 169, 142),
    # The kernel's own log tells of the host; not every kernel keeps it from users.
    _deny("syslog", 103, 116),
    _deny("acct", 163, 89),
    _deny("sethostname", 170, 161),
    _deny("setdomainname", 171, 162),
    _deny("settimeofday", 164, 170),
    _deny("clock_settime", 227, 112),
    _deny("iopl", 172, None),
    _deny("ioperm", 173, None),
)
