"""One edit, opening a file for writing, by the links of /proc that lead to the file."""

from __future__ import annotations

import os
import threading

from .attempt import Place, attempt
from .names import folder
from .routes import change

GROUP = "routes"


@attempt("route-fd", "by /proc/self/fd of a descriptor opened to read", twin="zone")
def _(place: Place) -> None:
    change(f"/proc/self/fd/{os.open(place.file, os.O_RDONLY)}")


@attempt("route-fd-opath", "by /proc/self/fd of an O_PATH descriptor", twin="zone")
def _(place: Place) -> None:
    change(f"/proc/self/fd/{os.open(place.file, os.O_PATH)}")


@attempt("route-dev-fd", "by /dev/fd", twin="zone")
def _(place: Place) -> None:
    change(f"/dev/fd/{os.open(place.file, os.O_RDONLY)}")


@attempt("route-fd-below", "by a path below /proc/self/fd of the directory", twin="zone")
def _(place: Place) -> None:
    change(f"/proc/self/fd/{folder(place.dir)}/dir/../file")


@attempt("route-thread-fd", "by /proc/thread-self/fd", twin="zone")
def _(place: Place) -> None:
    change(f"/proc/thread-self/fd/{os.open(place.file, os.O_RDONLY)}")


@attempt("route-task-fd", "by /proc/self/task/TID/fd", twin="zone")
def _(place: Place) -> None:
    found = os.open(place.file, os.O_RDONLY)
    change(f"/proc/self/task/{threading.get_native_id()}/fd/{found}")


@attempt("route-proc-cwd", "by /proc/self/cwd", twin="zone")
def _(place: Place) -> None:
    change("/proc/self/cwd/file")


@attempt("route-proc-root", "by /proc/self/root", twin="zone")
def _(place: Place) -> None:
    change("/proc/self/root" + place.file)


@attempt("route-fd-of-fd", "by an O_PATH descriptor of a link of /proc/self/fd", twin="zone")
def _(place: Place) -> None:
    link = f"/proc/self/fd/{os.open(place.file, os.O_RDONLY)}"
    change(f"/proc/self/fd/{os.open(link, os.O_PATH)}")


@attempt("route-own-magic", "through an own link to /proc/self/cwd", twin="zone")
def _(place: Place) -> None:
    link = os.path.join(place.own, "magic")
    os.symlink("/proc/self/cwd/dir/../link", link)
    change(link)


@attempt("route-kid-root", "by /proc/PID/root of an own process", twin="zone")
def _(place: Place) -> None:
    with _Child() as pid:
        change(f"/proc/{pid}/root{place.file}")


@attempt("route-kid-cwd", "by /proc/PID/cwd of an own process", twin="zone")
def _(place: Place) -> None:
    with _Child() as pid:
        change(f"/proc/{pid}/cwd/file")


@attempt("route-kid-fd", "by /proc/PID/fd of an own process", twin="zone")
def _(place: Place) -> None:
    found = os.open(place.file, os.O_RDONLY)
    with _Child() as pid:
        change(f"/proc/{pid}/fd/{found}")


class _Child:
    """A forked process that waits: same directory, root and descriptors."""

    def __enter__(self) -> int:
        waits, self.ends = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self.ends)
            os.read(waits, 1)
            os._exit(0)
        os.close(waits)
        return self.pid

    def __exit__(self, *failure: object) -> None:
        os.close(self.ends)
        os.waitpid(self.pid, 0)


@attempt("route-init-root", "by /proc/1/root", twin="own")
def _(place: Place) -> None:
    if not place.allowed:
        change("/proc/1/root" + place.file)
        return
    with _Child() as pid:
        change(f"/proc/{pid}/root{place.mine()}")


@attempt("route-init-cwd", "by /proc/1/cwd", twin="own")
def _(place: Place) -> None:
    if not place.allowed:
        change("/proc/1/cwd" + place.file)
        return
    with _Child() as pid:
        os.chdir("/")
        change(f"/proc/{pid}/cwd/{os.path.basename(place.mine())}")
