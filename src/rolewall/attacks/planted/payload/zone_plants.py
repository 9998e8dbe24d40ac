"""Things in the place of a file that the harness or a later box reads or writes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable

__all__ = ["GIT_KINDS", "KINDS", "careless_file", "careless_git", "leave", "leave_git"]

LARGE = 64 << 20


def _socket(path: str) -> None:
    name = os.path.basename(path)
    here = os.getcwd()
    os.chdir(os.path.dirname(path))  # a socket's address holds 107 bytes
    try:
        socket.socket(socket.AF_UNIX).bind(name)
    finally:
        os.chdir(here)


def _directory(path: str) -> None:
    os.mkdir(path)
    with open(os.path.join(path, "handoff.json"), "w", encoding="utf-8") as file:
        file.write("{}")
    os.chmod(path, 0)


def _hard_link(path: str) -> None:
    other = path + ".other"
    with open(other, "w", encoding="utf-8") as file:
        file.write("other\n")
    os.link(other, path)


def _closed(path: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"schema_version": 1, "text": "closed"}')
    os.chmod(path, 0)


def _large(path: str) -> None:
    with open(path, "wb") as file:
        file.truncate(LARGE)


KINDS: dict[str, Callable[[str, str], None]] = {
    "link-host": lambda path, host: os.symlink(f"{host}/victim", path),
    "link-out": lambda path, host: os.symlink("../spec/spec.md", path),
    "link-loop": lambda path, host: os.symlink(os.path.basename(path), path),
    "fifo": lambda path, host: os.mkfifo(path),
    "socket": lambda path, host: _socket(path),
    "directory": lambda path, host: _directory(path),
    "hard-link": lambda path, host: _hard_link(path),
    "closed": lambda path, host: _closed(path),
    "large": lambda path, host: _large(path),
}


def leave(path: str, kind: str, host: str) -> None:
    """Put a thing of this kind at ``path``."""
    KINDS[kind](path, host)


def _inner_links(path: str, host: str) -> None:
    subprocess.run(["git", "init", "-q", os.path.dirname(path)], check=True, timeout=60)
    for name in ("index", "config", "objects", "HEAD"):
        inner = os.path.join(path, name)
        if os.path.lexists(inner):
            os.rename(inner, inner + ".real")
        os.symlink(f"{host}/inside" if name == "objects" else f"{host}/victim", inner)


def _git_file(path: str, host: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"gitdir: {host}/inside\n")


GIT_KINDS: dict[str, Callable[[str, str], None]] = {
    "file": _git_file,
    "link-host": lambda path, host: os.symlink(f"{host}/inside", path),
    "link-root": lambda path, host: os.symlink("/", path),
    "fifo": lambda path, host: os.mkfifo(path),
    "socket": lambda path, host: _socket(path),
    "closed": lambda path, host: os.mkdir(path, 0),
    "inner-links": _inner_links,
}


def leave_git(root: str, kind: str, host: str) -> None:
    """Put a thing of this kind in the place of ``root``'s repository."""
    GIT_KINDS[kind](os.path.join(root, ".git"), host)


def careless_file(kind: str, room: str) -> bool:
    """Whether plain Python, that writes a file where this kind of thing is and reads it
    again, hangs, fails, changes another file or gets more than it wrote."""
    path = _room(room)
    leave(path, kind, room)
    before = _others(room, path)
    child = os.fork()
    if child == 0:
        signal.alarm(1)  # its default action ends the process
        try:
            if kind == "large":
                os._exit(os.path.getsize(path) > 1 << 20)
            with open(path, "w", encoding="utf-8") as file:
                file.write("x")
            os._exit(0)
        except OSError:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return status != 0 or _others(room, path) != before


def careless_git(kind: str, room: str) -> bool:
    """Whether git, asked to add a file, fails or changes something beside the repository."""
    path = _room(room)
    work = os.path.join(room, "work")
    os.mkdir(work)
    with open(os.path.join(work, "file"), "w", encoding="utf-8") as file:
        file.write("x")
    leave_git(work, kind, room)
    before = _others(room, path)
    try:
        done = subprocess.run(
            ["git", "add", "file"], cwd=work, timeout=5, capture_output=True, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0 or _others(room, path) != before


def _room(room: str) -> str:
    os.makedirs(os.path.join(room, "inside"))
    for name in ("victim", "spec.md"):
        with open(os.path.join(room, name), "w", encoding="utf-8") as file:
            file.write("untouched\n")
    return os.path.join(room, "zone.json")


def _others(room: str, path: str) -> list[tuple[str, bytes]]:
    found = []
    for name in sorted(os.listdir(room)):
        other = os.path.join(room, name)
        if other != path and os.path.isfile(other):
            with open(other, "rb") as file:
                found.append((name, file.read()))
    return found
