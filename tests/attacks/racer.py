"""A verifier that changes what its calls name while the tap and the kernel look at it.

Four ways, each at its own directory of the work: the text of a path in memory, a link
exchanged with a directory, a descriptor, and the working directory. Each try would hit the
role's own private zone or the executor's work, and nobody can tell beforehand which. Runs in
the box, with nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

TRIES = int(sys.argv[1])
EXCHANGE = 2
AT_FDCWD = -100
NUMBERS = {
    "x86_64": {"openat": 257, "renameat2": 316},
    "aarch64": {"openat": 56, "renameat2": 276},
}
NR = NUMBERS[os.uname().machine]
syscall = ctypes.CDLL(None, use_errno=True).syscall


def name(number: int) -> str:
    return f"{number:04}"


@contextmanager
def another_process(flip: Callable[[], object]) -> Iterator[None]:
    child = os.fork()
    if child == 0:
        while True:
            flip()
    try:
        yield
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


@contextmanager
def another_thread(flip: Callable[[], object]) -> Iterator[None]:
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            flip()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def text() -> None:
    """One byte decides where ``..`` leads; another process stores it all the time."""
    os.makedirs("/tmp/a/b")
    os.makedirs("/tmp/.x/workspace/text")
    memory = mmap.mmap(-1, 4096)
    at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    before = b"/tmp/a/b/../../."

    def flip() -> None:
        memory[len(before)] = ord("x")
        memory[len(before)] = ord(".")

    with another_process(flip):
        for number in range(TRIES):
            tail = f"./workspace/text/{name(number)}\0".encode()
            memory[: len(before) + len(tail)] = before + tail
            flags = os.O_WRONLY | os.O_TRUNC
            args = (NR["openat"], AT_FDCWD, at, flags, 0)
            found = syscall(*map(ctypes.c_long, args))
            if found >= 0:
                os.close(found)


def link() -> None:
    """A directory of its own and a link into the work change places."""
    os.makedirs("/tmp/l/now")
    for number in range(TRIES):
        os.mknod(f"/tmp/l/now/{name(number)}")
    os.symlink("/workspace/link", "/tmp/l/other")
    pair = (AT_FDCWD, b"/tmp/l/now", AT_FDCWD, b"/tmp/l/other", EXCHANGE)

    with another_process(lambda: syscall(NR["renameat2"], *pair)):
        for number in range(TRIES):
            with suppress(OSError):
                os.unlink(f"/tmp/l/now/{name(number)}")


def descriptor() -> None:
    """One number stands for a directory of its own and for one of the work in turn."""
    os.mkdir("/tmp/d")
    own, work = os.open("/tmp/d", os.O_PATH), os.open("/workspace/descriptor", os.O_PATH)
    number_of_both = os.dup(own)

    def flip() -> None:
        os.dup2(work, number_of_both)
        os.dup2(own, number_of_both)

    with another_thread(flip):
        for number in range(TRIES):
            with suppress(OSError):
                os.mkdir(name(number), dir_fd=number_of_both)


def directory() -> None:
    """The working directory that two threads share."""
    os.mkdir("/tmp/c")
    os.chdir("/tmp/c")  # the thread may begin late

    def flip() -> None:
        os.chdir("/workspace/directory")
        os.chdir("/tmp/c")

    with another_thread(flip):
        for number in range(TRIES):
            with suppress(OSError):
                os.close(os.open(name(number), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


if __name__ == "__main__":
    sys.setswitchinterval(1e-6)
    for way in (text, link, descriptor, directory):
        way()
    print(json.dumps({"tries": 4 * TRIES}))
