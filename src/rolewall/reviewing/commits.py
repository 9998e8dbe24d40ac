"""A commit's files, taken out of a repository byte for byte.

A checkout is not what was committed: attributes that lie in the tree itself convert contents,
and submodules show nothing. So trees and blobs are read by git's plumbing and written here.
No hook, filter or attribute has a part in it, and no git command has a work tree.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rolewall._beneath import shown
from rolewall.errors import InputError, StorageError
from rolewall.sandbox import storage

__all__ = ["export_commit"]

SECONDS = 300.0
MOST_FILES = 200_000
MOST_TARGET, MOST_NAME = 4095, 255  # bytes that a link and a name can have (Linux)
MOST_BYTES = 2 << 30
CHUNK = 1 << 20
LINK, SUBMODULE = "120000", "160000"
MODES = {"100644": 0o644, "100664": 0o644, "100755": 0o755}
OPTIONS = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "protocol.allow=never")
ENVIRONMENT = {
    "PATH": os.defpath,
    "LC_ALL": "C",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


@dataclass(frozen=True, slots=True)
class _File:
    mode: str
    oid: str
    path: bytes


def export_commit(repository: Path, commit: str, into: Path) -> str:
    """Write the files of a commit into ``into``, a new directory, exactly as they were committed.

    A submodule becomes a file that names its commit, as ``git diff`` shows it, so that no change
    of it is unseen. Links stay links; nothing follows them.

    Args:
        repository: a work tree with a ``.git`` directory, or a git directory. Its configuration
            is git's and the caller's: never one that a role could write.
        commit: whatever git takes for one, such as an id, or ``HEAD^1``.

    Returns:
        The commit's full id.

    Raises:
        InputError: no repository, no such commit, or a tree that git itself would not check out.
        StorageError: ``into`` is there already, or git or the disk fails.
    """
    git = _Git(_git_directory(repository))
    found = git.resolve(commit)
    files = git.files(found)
    with storage(into):
        into.mkdir(mode=0o755)
    _write(git, files, into)
    return found


def _git_directory(repository: Path) -> Path:
    for path in (repository / ".git", repository):
        if (path / "objects").is_dir() and (path / "HEAD").exists():
            return path.resolve()
    raise InputError(
        "not a git repository", place=shown(repository), expected="a .git directory in it"
    )


class _Git:
    """Git's plumbing on one repository, without the machine's and the user's configuration."""

    def __init__(self, directory: Path) -> None:
        git = shutil.which("git")
        if git is None:
            raise StorageError("git is not installed", expected="the git command on PATH")
        options = [word for option in OPTIONS for word in ("-c", option)]
        self._argv = [git, f"--git-dir={directory}", *options]
        self._place = shown(directory)

    def resolve(self, commit: str) -> str:
        # One word: an id, a name and ^1 need no blank, and a NUL cannot be passed on.
        if not commit or not commit.isprintable() or " " in commit:
            raise InputError("not the name of a commit", place=self._place, got=commit)
        words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}"]
        done = self._run(words)
        if done.returncode != 0:
            raise InputError(
                "no such commit",
                place=self._place,
                got=commit,
                hint="a checkout of depth 1 has no commit but its own",
            )
        return done.stdout.decode().strip()

    def files(self, commit: str) -> list[_File]:
        """Every entry of the commit's tree. Raises InputError for a path git would refuse."""
        done = self._run(["ls-tree", "-r", "-z", "--full-tree", commit])
        if done.returncode != 0:
            raise self._failed(done.stderr)
        lines = done.stdout.split(b"\0")[:-1]
        if len(lines) > MOST_FILES:
            raise InputError("too many files", place=self._place, got=len(lines),
                             expected=f"at most {MOST_FILES}")  # fmt: skip
        files = []
        for line in lines:
            head, _, path = line.partition(b"\t")
            mode, _, oid = head.decode("ascii").split(" ")
            files.append(_File(mode, oid, path))
        _check(files, self._place)
        return files

    @contextmanager
    def contents(self) -> Iterator[_Contents]:
        """Blobs by id, as long as the block lasts."""
        process = subprocess.Popen(
            [*self._argv, "cat-file", "--batch"],
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        try:
            assert process.stdin is not None and process.stdout is not None
            yield _Contents(process.stdin, process.stdout, self._place)
        finally:
            timer.cancel()
            process.kill()
            process.communicate()

    def _run(self, words: list[str]) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                [*self._argv, *words],
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StorageError(f"git cannot be run: {error}", place=self._place) from error

    def _failed(self, said: bytes) -> StorageError:
        text = said[:500].decode("utf-8", "replace").strip()
        return StorageError(f"git cannot read it: {text or 'killed'}", place=self._place)


@dataclass
class _Contents:
    """What ``git cat-file --batch`` answers. Together at most ``MOST_BYTES``."""

    asks: IO[bytes]
    answers: IO[bytes]
    place: str
    left: int = MOST_BYTES

    def target(self, oid: str) -> bytes:
        """What a link says. Of one that no link can be, no more than the first piece is read."""
        said = b"".join(self.chunks(oid, most=MOST_TARGET))
        if not said or b"\0" in said:
            raise InputError("a link that cannot be made", place=self.place, got=oid,
                             expected="a target without a zero byte, not empty")  # fmt: skip
        return said

    def chunks(self, oid: str, most: int = MOST_BYTES) -> Iterator[bytes]:
        try:
            self.asks.write(oid.encode() + b"\n")
            self.asks.flush()
            head = self.answers.readline().split()
        except OSError as error:
            raise StorageError("git ended early", place=self.place) from error
        if len(head) != 3 or head[1] != b"blob":
            raise StorageError("git cannot read an object", place=self.place, got=oid)
        size = int(head[2])
        if size > most:
            raise InputError("a file or link is too long", place=self.place, got=size,
                             expected=f"at most {most} bytes")  # fmt: skip
        self.left -= size
        if self.left < 0:
            raise InputError("the commit is too large", place=self.place,
                             expected=f"at most {MOST_BYTES >> 20} MiB")  # fmt: skip
        while size > 0:
            piece = self.answers.read(min(CHUNK, size))
            if not piece:
                raise StorageError("git ended early", place=self.place)
            size -= len(piece)
            yield piece
        self.answers.read(1)  # the line's end


def _check(files: list[_File], place: str) -> None:
    """A tree is a stranger's: ``..``, ``.git``, or a file below a link are not written."""
    names = {file.path for file in files}
    for file in files:
        parts = file.path.split(b"/")
        above = (b"/".join(parts[:end]) for end in range(1, len(parts)))
        odd = any(part in (b"", b".", b"..") or part.lower() == b".git" for part in parts)
        odd = odd or any(len(part) > MOST_NAME for part in parts)
        known = file.mode in MODES or file.mode in (LINK, SUBMODULE)
        if odd or not known or any(path in names for path in above):
            raise InputError("a tree that is not checked out", place=place,
                             got=shown(os.fsdecode(file.path)))  # fmt: skip
    if len(names) != len(files):
        raise InputError("a tree that names one file twice", place=place)


def _write(git: _Git, files: list[_File], into: Path) -> None:
    root = os.fsencode(into)
    with storage(into), git.contents() as contents:
        for file in files:
            path = root + b"/" + file.path
            os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
            if file.mode == SUBMODULE:
                _write_file(path, iter([f"Subproject commit {file.oid}\n".encode()]), 0o644)
            elif file.mode == LINK:
                os.symlink(contents.target(file.oid), path)
            else:
                _write_file(path, contents.chunks(file.oid), MODES[file.mode])


def _write_file(path: bytes, pieces: Iterator[bytes], mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, mode), "wb") as file:
        for piece in pieces:
            file.write(piece)
        os.fchmod(file.fileno(), mode)
