"""Processes that mean to outlive their phase and to write later."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import time
from collections.abc import Callable

__all__ = ["DAEMONS", "start", "waited"]

PAUSE = 0.05
Beat = Callable[[], None]


def _append(path: str) -> Beat:
    def beat() -> None:
        with open(path, "ab", buffering=0) as file:
            file.write(b".")

    return beat


def _descriptor(path: str) -> Beat:
    held = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    return lambda: _write(held)


def _write(held: int) -> None:
    os.write(held, b".")


def _memory(path: str) -> Beat:
    held = os.open(path, os.O_RDWR | os.O_CREAT)
    os.truncate(held, 4096)
    page = mmap.mmap(held, 4096)
    os.close(held)
    count = [0]

    def beat() -> None:
        page[count[0] % 4096] = 46
        count[0] += 1

    return beat


def _directory(path: str) -> Beat:
    held = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    name = os.path.basename(path)

    def beat() -> None:
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644, dir_fd=held)
        os.write(file, b".")
        os.close(file)

    return beat


def _inotify(path: str) -> Beat:
    """Wakes up on what others do, such as the next phase's start."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    libc.inotify_add_watch(watch, os.fsencode(os.path.dirname(os.path.dirname(path))), 0xFFF)
    append = _append(path)
    started = [True]

    def beat() -> None:
        try:
            seen = bool(os.read(watch, 65536))
        except BlockingIOError:
            seen = False
        if seen or started:
            started.clear()
            append()

    return beat


def _forking(path: str) -> Beat:
    """Is another process every time, so that whoever ends one by its number is late."""
    append = _append(path)

    def beat() -> None:
        append()
        if os.fork():
            os._exit(0)

    return beat


DAEMONS: dict[str, Callable[[str], Beat]] = {
    "append": _append,
    "descriptor": _descriptor,
    "memory": _memory,
    "directory": _directory,
    "inotify": _inotify,
    "forking": _forking,
}


def start(directory: str) -> None:
    """Start each daemon; ``directory/NAME`` grows, or fills, while it lives."""
    os.makedirs(directory, exist_ok=True)
    for name, kind in DAEMONS.items():
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            _run(kind, os.path.join(directory, name))


def _run(kind: Callable[[str], Beat], path: str) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    quiet = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)  # a held pipe would make the phase wait
    try:
        beat = kind(path)
        while True:
            beat()
            time.sleep(PAUSE)
    finally:
        os._exit(1)


def waited(directory: str, seconds: float = 10.0) -> list[str]:
    """The daemons that were seen at work: each of them, or those of ``seconds``."""
    until = time.monotonic() + seconds
    alive: list[str] = []
    while time.monotonic() < until and len(alive) < len(DAEMONS):
        time.sleep(PAUSE)
        alive = [name for name in DAEMONS if _beats(os.path.join(directory, name))]
    return alive


def _beats(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return b"." in file.read()
    except OSError:
        return False
