"""From the path in a call to the canonical path in the box.

The common case is one ``openat2`` with the box's root as ``/``. Where that
fails (something is missing, or a link of /proc is on the way) the path is
walked one component at a time, so that it is never judged by its spelling.
"""

from __future__ import annotations

import os
import re

from . import kernel
from .task import TaskFacts, read_link, task_facts

__all__ = ["Root", "Unreadable", "base_path"]

_LINKS_MAX = 40
_DELETED = b" (deleted)"
_MAGIC = re.compile(rb"/proc/\d+(?:/task/\d+)?/(?:fd/\d+|cwd|root|exe)\Z")


class Unreadable(Exception):
    """A path, or what it starts from, cannot be read."""


def base_path(tid: int, dirfd: int | None) -> bytes:
    """What a relative path starts from: the working directory for None, else the
    descriptor's file; empty for what has no path (a pipe, a socket, memory)."""
    link = f"/proc/{tid}/cwd" if dirfd is None else f"/proc/{tid}/fd/{dirfd}"
    text = read_link(link)
    if text is None:
        raise Unreadable(f"cannot read {'cwd' if dirfd is None else 'descriptor'}")
    return _named(text, link)


def _named(text: bytes, link: str) -> bytes:
    if not text.startswith(b"/") or text.startswith((b"/memfd:", b"/SYSV")):
        return b""
    if text.endswith(_DELETED) and _is_deleted(link):
        return text[: -len(_DELETED)]
    return text


def _is_deleted(link: str) -> bool:
    try:
        return os.stat(link).st_nlink == 0
    except OSError:
        return True


class Root:
    """The root directory of a box, held open.

    Every process of a box has the same one: chroot and new mount namespaces are
    denied. Zones attached later are seen, since mounts are crossed at look-up.
    """

    def __init__(self, tid: int) -> None:
        self.fd = os.open(f"/proc/{tid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        text = self._text(self.fd)
        self._prefix = b"" if text == b"/" else text

    def close(self) -> None:
        os.close(self.fd)

    def canonical(self, path: bytes, follow: bool, tid: int) -> bytes:
        """The path without links, ``.`` and ``..``; what is missing is appended as it is.

        The last component is resolved only with ``follow`` (or a slash behind
        it). Empty for what has no path.
        """
        trimmed = path.rstrip(b"/") or b"/"
        parent, _, name = trimmed.rpartition(b"/")
        follow = follow or trimmed != path or name in (b"", b".", b"..")
        try:
            if not follow:
                return self._below(parent or b"/", name)
            return self._follow(trimmed, parent or b"/", name)
        except OSError:
            return self._walk(trimmed, follow, tid)

    def _follow(self, path: bytes, parent: bytes, name: bytes) -> bytes:
        try:
            return self._opened(path, 0)
        except FileNotFoundError:
            if name in (b"", b".", b".."):
                raise
        found = self._below(parent, name)
        if self._link(found) is not None:
            raise FileNotFoundError  # a link to nothing: an open with O_CREAT makes its target
        return found

    def _below(self, parent: bytes, name: bytes) -> bytes:
        found = self._opened(parent, os.O_DIRECTORY)
        return b"/" + name if found == b"/" else found + b"/" + name

    def _opened(self, path: bytes, flags: int) -> bytes:
        fd = kernel.open_in_root(self.fd, path, flags)
        try:
            return self._text(fd)
        finally:
            os.close(fd)

    def _text(self, fd: int) -> bytes:
        link = f"/proc/self/fd/{fd}"
        text = os.readlink(link.encode())
        if text.endswith(_DELETED) and _is_deleted(link):
            text = text[: -len(_DELETED)]
        prefix = getattr(self, "_prefix", b"")
        return text[len(prefix) :] or b"/" if prefix and text.startswith(prefix) else text

    def _walk(self, path: bytes, follow: bool, tid: int) -> bytes:
        todo = path.split(b"/")[::-1]
        done: list[bytes] = []
        links = 0
        while todo:
            part = todo.pop()
            if part in (b"", b"."):
                continue
            if part == b"..":
                done = done[:-1]
                continue
            here = b"/".join([b"", *done, part])
            text = None if not todo and not follow else self._target(here, tid)
            if text is None:
                done.append(part)
                continue
            links += 1
            if links > _LINKS_MAX:
                return here  # the kernel gives up on the call, too (ELOOP)
            if not text:
                return b""
            done = [] if text.startswith(b"/") else done
            todo += text.split(b"/")[::-1]
        return b"/" + b"/".join(done)

    def _target(self, here: bytes, tid: int) -> bytes | None:
        """Where the link ``here`` leads; None for no link, empty for no path."""
        if here in (b"/proc/self", b"/proc/thread-self"):
            return _self(here, task_facts(tid))
        if not _MAGIC.match(here):
            return self._link(here)
        return self._magic(here, tid)

    def _magic(self, here: bytes, tid: int) -> bytes | None:
        fields = here.split(b"/")
        if int(fields[2]) == task_facts(tid).pid:
            link = (
                f"/proc/{tid}/"
                + b"/".join(fields[-2:] if fields[-2] == b"fd" else fields[-1:]).decode()
            )
            text = read_link(link)
            return None if text is None else _named(text, link)
        text = self._link(here)
        return text if text is None or text.startswith(b"/") else b""

    def _link(self, here: bytes) -> bytes | None:
        try:
            fd = kernel.open_in_root(self.fd, here, os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            return os.readlink(b"", dir_fd=fd)
        except OSError:
            return None
        finally:
            os.close(fd)


def _self(here: bytes, task: TaskFacts) -> bytes | None:
    if not task.pid:
        return None
    text = f"/proc/{task.pid}"
    if here == b"/proc/thread-self":
        text += f"/task/{task.tid}"
    return text.encode()
