"""Making, moving and removing names in another role's zone."""

from __future__ import annotations

import errno
import os
import socket
import stat

from .attempt import Place, attempt
from .calls import AT_EMPTY_PATH, AT_FDCWD, call, or_skip

GROUP = "names"
NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4
AT_SYMLINK_FOLLOW = 0x400


def folder(path: str) -> int:
    """A descriptor of a directory."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY)


@attempt("creat", "creat(2)", twin="zone")
def _(place: Place) -> None:
    call("creat", place.new, 0o644)


@attempt("create-excl", "open(2) with O_CREAT|O_EXCL, by number", twin="zone")
def _(place: Place) -> None:
    call("open", place.new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)


@attempt("create-read", "openat(2) with O_CREAT, only to read", twin="zone")
def _(place: Place) -> None:
    os.open(place.new, os.O_RDONLY | os.O_CREAT, 0o644)


@attempt("create-dirfd", "openat(2) with O_CREAT by directory descriptor", twin="zone")
def _(place: Place) -> None:
    os.open("new", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder(place.dir))


@attempt("create-cwd", "openat(2) with O_CREAT by relative path", twin="zone")
def _(place: Place) -> None:
    os.open("dir/new", os.O_WRONLY | os.O_CREAT, 0o644)


@attempt("create-dangling", "O_CREAT through an own link to a free name", twin="zone")
def _(place: Place) -> None:
    link = os.path.join(place.own, "link")
    os.symlink(place.new, link)
    os.open(link, os.O_WRONLY | os.O_CREAT, 0o644)


@attempt("tmpfile", "open with O_TMPFILE", twin="zone")
def _(place: Place) -> None:
    or_skip(lambda: os.open(place.dir, os.O_WRONLY | os.O_TMPFILE, 0o644), errno.EOPNOTSUPP)


@attempt("tmpfile-link", "O_TMPFILE, then linkat from /proc/self/fd", twin="zone")
def _(place: Place) -> None:
    made = or_skip(lambda: os.open(place.dir, os.O_WRONLY | os.O_TMPFILE, 0o644), errno.EOPNOTSUPP)
    source = f"/proc/self/fd/{made}"
    call("linkat", AT_FDCWD, source, AT_FDCWD, place.new, AT_SYMLINK_FOLLOW)


@attempt("mkdir", "mkdir(2)", twin="zone")
def _(place: Place) -> None:
    os.mkdir(place.new)


@attempt("mkdirat", "mkdirat(2) by directory descriptor", twin="zone")
def _(place: Place) -> None:
    os.mkdir("new", dir_fd=folder(place.dir))


@attempt("mkdir-slash", "mkdir(2) of a name with a slash behind it", twin="zone")
def _(place: Place) -> None:
    os.mkdir(place.new + "/")


@attempt("mknod-file", "mknod(2) of a regular file", twin="zone")
def _(place: Place) -> None:
    os.mknod(place.new, stat.S_IFREG | 0o644)


@attempt("mknod-socket", "mknodat(2) of a socket", twin="zone")
def _(place: Place) -> None:
    os.mknod("new", stat.S_IFSOCK | 0o644, dir_fd=folder(place.dir))


@attempt("mkfifo", "mknod(2) of a FIFO", twin="zone")
def _(place: Place) -> None:
    os.mkfifo(place.new)


@attempt("bind", "bind(2) of a socket to a path", twin="zone")
def _(place: Place) -> None:
    socket.socket(socket.AF_UNIX).bind(place.new)


@attempt("bind-relative", "bind(2) of a datagram socket to a relative path", twin="zone")
def _(place: Place) -> None:
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind("new")


@attempt("bind-proc", "bind(2) to a path below /proc/self/fd", twin="zone")
def _(place: Place) -> None:
    path = f"/proc/self/fd/{folder(place.dir)}/new"
    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(path)


@attempt("symlink", "symlink(2)", twin="zone")
def _(place: Place) -> None:
    os.symlink("/etc/passwd", place.new)


@attempt("symlinkat", "symlinkat(2) by directory descriptor", twin="zone")
def _(place: Place) -> None:
    os.symlink("file", "new", dir_fd=folder(place.dir))


@attempt("link", "link(2)", twin="zone")
def _(place: Place) -> None:
    os.link(place.file, place.new)


@attempt("linkat", "linkat(2) by directory descriptors", twin="zone")
def _(place: Place) -> None:
    at = folder(place.dir)
    os.link("dir/inner", "new", src_dir_fd=at, dst_dir_fd=at)


@attempt("linkat-follow", "linkat(2) of a link's target", twin="zone")
def _(place: Place) -> None:
    call("linkat", AT_FDCWD, place.link, AT_FDCWD, place.new, AT_SYMLINK_FOLLOW)


@attempt("linkat-opath", "linkat(2) of an O_PATH descriptor by /proc/self/fd", twin="zone")
def _(place: Place) -> None:
    found = os.open(place.file, os.O_PATH)
    source = f"/proc/self/fd/{found}"
    call("linkat", AT_FDCWD, source, AT_FDCWD, place.new, AT_SYMLINK_FOLLOW)


@attempt("linkat-empty", "linkat(2) of a descriptor by AT_EMPTY_PATH", twin="zone")
def _(place: Place) -> None:
    # Without CAP_DAC_READ_SEARCH newer kernels want the descriptor opened by the same user.
    found = os.open(place.file, os.O_RDONLY)
    or_skip(lambda: call("linkat", found, "", AT_FDCWD, place.new, AT_EMPTY_PATH), errno.ENOENT)


@attempt("unlink", "unlink(2)", twin="zone")
def _(place: Place) -> None:
    os.unlink(place.file)


@attempt("unlinkat", "unlinkat(2) by directory descriptor", twin="zone")
def _(place: Place) -> None:
    os.unlink("inner", dir_fd=folder(os.path.join(place.dir, "dir")))


@attempt("unlink-link", "unlink(2) of a symbolic link", twin="zone")
def _(place: Place) -> None:
    os.unlink(place.link)


@attempt("unlink-fifo", "unlink(2) of a FIFO", twin="zone")
def _(place: Place) -> None:
    os.unlink(place.fifo)


@attempt("rmdir", "rmdir(2)", twin="zone")
def _(place: Place) -> None:
    os.rmdir(place.empty)


@attempt("rmdirat", "unlinkat(2) with AT_REMOVEDIR", twin="zone")
def _(place: Place) -> None:
    os.rmdir("empty", dir_fd=folder(place.dir))


@attempt("rename", "rename(2)", twin="zone")
def _(place: Place) -> None:
    os.rename(place.file, place.new)


@attempt("rename-over", "rename(2) over a file that is there", twin="zone")
def _(place: Place) -> None:
    os.rename(place.other, place.file)


@attempt("rename-dir", "rename(2) of a directory", twin="zone")
def _(place: Place) -> None:
    os.rename(os.path.dirname(place.inner), place.new)


@attempt("rename-target", "rename(2) of the directory that one stands in", twin="zone")
def _(place: Place) -> None:
    os.rename("../" + os.path.basename(place.dir), place.dir + ".moved")


@attempt("renameat", "renameat(2) by directory descriptors", twin="zone")
def _(place: Place) -> None:
    at = folder(place.dir)
    call("renameat", at, "file", at, "new")


@attempt("rename-keep", "renameat2(2) with RENAME_NOREPLACE", twin="zone")
def _(place: Place) -> None:
    call("renameat2", AT_FDCWD, place.file, AT_FDCWD, place.new, NOREPLACE)


@attempt("rename-exchange", "renameat2(2) with RENAME_EXCHANGE", twin="zone")
def _(place: Place) -> None:
    call("renameat2", AT_FDCWD, place.file, AT_FDCWD, place.other, EXCHANGE)


@attempt("rename-whiteout", "renameat2(2) with RENAME_WHITEOUT", twin="zone")
def _(place: Place) -> None:
    or_skip(
        lambda: call("renameat2", AT_FDCWD, place.file, AT_FDCWD, place.new, WHITEOUT),
        errno.EINVAL,
    )


@attempt("mkdir-root", "mkdir(2) at the top of the zone", twin="zone")
def _(place: Place) -> None:
    os.mkdir(os.path.join(place.zone, "t", os.path.basename(place.dir) + ".beside"))
