"""One edit, opening a file for writing, by every way that leads to the file."""

from __future__ import annotations

import array
import ctypes
import os
import socket
import struct
import subprocess
import sys
import threading
from contextlib import suppress

from .attempt import Place, Skip, attempt
from .calls import AT_FDCWD, call
from .names import folder

GROUP = "routes"


def change(path: str | bytes, at: int | None = None) -> None:
    """Open ``path`` for writing, and write."""
    os.write(os.open(path, os.O_WRONLY, dir_fd=at), b"changed")


@attempt("route-cwd", "by relative path", twin="zone")
def _(place: Place) -> None:
    change("file")


@attempt("route-fchdir", "by relative path after fchdir(2)", twin="zone")
def _(place: Place) -> None:
    at = folder(os.path.join(place.dir, "dir"))
    os.chdir("/")
    os.fchdir(at)
    change("inner")


@attempt("route-dirfd", "by directory descriptor", twin="zone")
def _(place: Place) -> None:
    change("file", folder(place.dir))


@attempt("route-opath-dir", "by O_PATH descriptor of the directory", twin="zone")
def _(place: Place) -> None:
    change("dir/inner", os.open(place.dir, os.O_PATH))


@attempt("route-odd-dirfd", "by absolute path with a descriptor that is none", twin="zone")
def _(place: Place) -> None:
    change(place.file, 999)


@attempt("route-link", "through a link in the zone", twin="zone")
def _(place: Place) -> None:
    change(place.link)


@attempt("route-own-link", "through an own link", twin="zone")
def _(place: Place) -> None:
    link = os.path.join(place.own, "link")
    os.symlink(place.file, link)
    change(link)


@attempt("route-own-chain", "through a chain of 39 own links", twin="zone")
def _(place: Place) -> None:
    link = place.file
    for step in range(39):
        os.symlink(link, os.path.join(place.own, f"{step}"))
        link = f"{step}" if step else os.path.join(place.own, "0")
    change(os.path.join(place.own, link))


@attempt("route-dir-link", "through an own link to a directory above", twin="zone")
def _(place: Place) -> None:
    link = os.path.join(place.own, "up")
    os.symlink(os.path.dirname(place.dir), link)
    change(os.path.join(link, os.path.basename(place.dir), "file"))


@attempt("route-dotdot", "by a path out of an own zone and back", twin="zone")
def _(place: Place) -> None:
    change(place.own + "/.." * (place.own.count("/") + 3) + place.file)


@attempt("route-slashes", "by a path with slashes and dots that say nothing", twin="zone")
def _(place: Place) -> None:
    change(place.file.replace("/", "//.//./"))


@attempt("route-long", "by a relative path of nearly PATH_MAX", twin="zone")
def _(place: Place) -> None:
    change("./" * 2030 + "dir/../file")


@attempt("route-inherited", "by a descriptor that a new program inherits", twin="zone")
def _(place: Place) -> None:
    found = os.open(place.file, os.O_RDONLY)
    name = open("/proc/self/comm", encoding="ascii").read().strip()  # noqa: SIM115
    code = (
        f"import ctypes; ctypes.CDLL(None).prctl(15, {name.encode()!r}, 0, 0, 0)\n"
        f"try: open('/proc/self/fd/{found}', 'r+b').write(b'changed')\n"
        "except OSError as error: raise SystemExit(error.errno)\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], pass_fds=[found], check=False)
    if done.returncode:
        raise OSError(done.returncode, "refused")


@attempt("route-passed", "by a descriptor that came over a socket", twin="zone")
def _(place: Place) -> None:
    ours, theirs = socket.socketpair()
    found = array.array("i", [os.open(place.file, os.O_RDONLY)])
    if not (pid := os.fork()):
        theirs.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, found)])
        os._exit(0)
    os.waitpid(pid, 0)
    _, control, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(4))
    (passed,) = struct.unpack("i", control[0][2])
    change(f"/proc/self/fd/{passed}")


@attempt("route-map-files", "by /proc/self/map_files", twin="bare", kind="")
def _(place: Place) -> None:
    path = place.mine() if place.allowed else place.file
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, 4096, 1, 1, os.open(path, os.O_RDONLY), ctypes.c_long(0))
    change(f"/proc/self/map_files/{address:x}-{address + 4096:x}")


@attempt("route-handle", "name_to_handle_at(2), then open_by_handle_at(2)", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    path = place.mine() if place.allowed else place.file
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 8 + 128)
    mount = ctypes.create_string_buffer(4)
    with suppress(OSError):  # some file systems have no handles; one can be made up
        call("name_to_handle_at", AT_FDCWD, path, handle, mount, 0)
    beside = os.open(os.path.dirname(path), os.O_RDONLY)
    os.write(call("open_by_handle_at", beside, handle, os.O_WRONLY), b"changed")


@attempt("route-race", "through an own link that a thread turns around meanwhile", twin="zone",
         races=True)  # fmt: skip
def _(place: Place) -> None:
    """Either the ledger or the manifest must show it: a path can be read before it is turned."""
    link, good = os.path.join(place.own, "turns"), place.mine("good")
    os.symlink(good, link)
    going = threading.Event()

    def turn() -> None:
        for step in range(200):
            spare = os.path.join(place.own, f"spare-{step}")
            os.symlink(place.file if step % 2 else good, spare)
            os.rename(spare, link)
        going.set()

    thread = threading.Thread(target=turn)
    thread.start()
    refused = None
    while not going.is_set():
        try:
            change(link)
        except OSError as error:
            refused = error
    thread.join()
    with open(place.file, "rb") as file:
        if file.read(7) == b"changed":
            return
    raise refused or Skip("never met the file")
