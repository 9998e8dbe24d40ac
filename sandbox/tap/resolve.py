"""From the path in a call to the canonical path in the box.

The common case is one ``openat2`` with the box's root as ``/``. Where that
fails (something is missing, or a link of /proc is on the way) the path is
walked one component at a time, so that it is never judged by its spelling.
What a walk may cost is bounded: one process serves all boxes.
"""

from __future__ import annotations

import os
import re

from . import kernel
from .task import TaskFacts, read_link, task_facts

__all__ = ["Root", "Unreadable", "base_path"]

_LINKS_MAX = 40
_LOOKUPS_MAX = 256
_BYTES_MAX = 64 * 1024
_DELETED = b" (deleted)"
_MAGIC = re.compile(rb"/proc/\d+(?:/task/\d+)?/(?:fd/\d+|cwd|root|exe)\Z")


class Unreadable(Exception):
    """A path, or what it starts from, cannot be read, or not with a bounded effort."""


def base_path(tid: int, dirfd: int | None) -> bytes:
    """What a relative path starts from: the working directory for None, else the
    descriptor's file; empty for what has no path (a pipe, a socket, memory)."""
    link = f"/proc/{tid}/cwd" if dirfd is None else f"/proc/{tid}/fd/{dirfd}"
    text = read_link(link)
    if text is None:
        raise Unreadable(f"cannot read {'cwd' if dirfd is None else 'descriptor'}")
    return _named(text, link)


def _named(text: bytes, link: str | bytes, folder: int | None = None) -> bytes:
    if not text.startswith(b"/") or text.startswith((b"/memfd:", b"/SYSV")):
        return b""
    if text.endswith(_DELETED) and _is_deleted(link, folder):
        return text[: -len(_DELETED)]
    return text


def _is_deleted(link: str | bytes, folder: int | None = None) -> bool:
    try:
        return os.stat(link, dir_fd=folder).st_nlink == 0
    except OSError:
        return True


class _Effort:
    """What one walk may still cost."""

    def __init__(self) -> None:
        self._links, self._lookups, self._bytes = _LINKS_MAX, _LOOKUPS_MAX, _BYTES_MAX

    def look_up(self, path: bytes) -> None:
        self._lookups -= 1
        self._read(path)

    def follow(self, text: bytes) -> bool:
        """False where the kernel gives up, too (ELOOP)."""
        self._links -= 1
        self._read(text)
        return self._links >= 0

    def _read(self, text: bytes) -> None:
        self._bytes -= len(text)
        if self._lookups < 0 or self._bytes < 0:
            raise Unreadable("a path that takes too many look-ups")


class Root:
    """The root directory of a box, held open.

    Every process of a box has the same one: chroot and new mount namespaces are
    denied. Zones attached later are seen, since mounts are crossed at look-up.
    """

    def __init__(self, tid: int) -> None:
        self.fd = kernel.open_file(f"/proc/{tid}/root", os.O_PATH | os.O_DIRECTORY)
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
        try:
            text = self._link(found)
        except FileNotFoundError:
            return found
        if text is not None:
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
        effort, ends = _Effort(), False
        while todo:
            part = todo.pop()
            if part in (b"", b"."):
                continue
            if part == b"..":
                del done[-1:]
                continue
            done.append(part)
            if ends or not (todo or follow):
                continue
            here = b"/" + b"/".join(done)
            effort.look_up(here)
            try:
                text = self._target(here, tid)
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                ends = True  # for the kernel as well: it follows nothing behind this
                continue
            except OSError as error:
                raise Unreadable(f"cannot look up a path: {error.strerror}") from None
            if text is None:
                continue
            if not effort.follow(text):
                return here
            if not text:
                # What init holds is not the role's, though it has no path.
                return here if here.startswith(b"/proc/1/") else b""
            del done[0 if text.startswith(b"/") else -1 :]
            todo += text.split(b"/")[::-1]
        return b"/" + b"/".join(done)

    def _target(self, here: bytes, tid: int) -> bytes | None:
        """Where the link ``here`` leads; None for no link, empty for no path.

        Raises OSError where nothing can be seen there.
        """
        if here in (b"/proc/self", b"/proc/thread-self"):
            return _self(here, task_facts(tid))
        return self._magic(here) if _MAGIC.match(here) else self._link(here)

    def _magic(self, here: bytes) -> bytes:
        """As the kernel does, from the very task that is named: threads of one process may
        have working directories and descriptors of their own."""
        above, _, name = here.rpartition(b"/")
        try:
            folder = kernel.open_in_root(self.fd, above, os.O_DIRECTORY)
        except OSError as error:
            raise Unreadable(f"cannot read a link of /proc: {error.strerror}") from None
        try:
            return _named(os.readlink(name, dir_fd=folder), name, folder)
        except OSError as error:
            raise Unreadable(f"cannot read a link of /proc: {error.strerror}") from None
        finally:
            os.close(folder)

    def _link(self, here: bytes) -> bytes | None:
        fd = kernel.open_in_root(self.fd, here, os.O_NOFOLLOW)
        try:
            return os.readlink(b"", dir_fd=fd)
        except OSError:
            return None
        finally:
            os.close(fd)


def _self(here: bytes, task: TaskFacts) -> bytes:
    if not task.pid:
        raise Unreadable("cannot tell whose /proc/self it is")
    text = f"/proc/{task.pid}"
    if here == b"/proc/thread-self":
        text += f"/task/{task.tid}"
    return text.encode()
