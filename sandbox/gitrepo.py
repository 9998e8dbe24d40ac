"""Repositories for the roles, made by the harness without running git in the workspace.

Objects come raw from the blob store, so no attribute, filter or hook of a
workspace has a part in it. The finished ``.git`` (one pack, one branch, an
index that matches the files, no reflog, tag, remote or hook) is made under
another name beside its place, while no process is alive, and then renamed.

Git inside a box sees a clean state: the index carries the size and mtime of
each file, ``core.checkStat = minimal`` compares nothing else, because a mount
may show other owners than the disk has, and ``info/attributes`` outranks every
attribute of the workspace that would convert a content before it is compared.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rolewall.sandbox.beneath import Location, directory, open_entry, opened, proc_path, storage
from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.gittree import LeftOut, Tree, build_tree, commit
from rolewall.sandbox.manifest import Entry, Manifest, is_git
from rolewall.sandbox.objects import object_id
from rolewall.sandbox.remove import remove_beneath
from rolewall.sandbox.snapshot import take

__all__ = ["PlacedRepo", "fresh_repo", "restore_git", "verifier_repo"]

_CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tcheckStat = minimal
\tfsmonitor = false
[user]
\tname = role
\temail = role@localhost
"""
# Of the highest rank: what the work's own .gitattributes say of a diff would hide a change.
_ATTRIBUTES = (
    b"* -text !eol !crlf !ident !filter !working-tree-encoding"
    b" !diff !merge !whitespace !conflict-marker-size !export-ignore !export-subst\n"
)
_SPECIAL = frozenset(b"\\*?[#! \t")
_PATH_MAX = 4000
_BUFFER = 1024 * 1024


@dataclass(frozen=True, slots=True)
class PlacedRepo:
    """A repository in a workspace.

    Attributes:
        commits: ids from the first to the last, which is ``main`` and checked out.
        dropped: whether the workspace had a ``.git`` of its own that is gone
            (``fresh_repo``) or set aside (``verifier_repo``).
        left_out: entries the repository does not hold; git is told to ignore them.
    """

    commits: tuple[str, ...]
    dropped: bool
    left_out: tuple[LeftOut, ...]


def fresh_repo(workspace: Location, store: BlobStore) -> PlacedRepo:
    """Give a staged workspace a repository with one commit, its state as it is.

    A ``.git`` that the workspace brings is dropped, whatever it is: the fix
    may be in its history. Raises StorageError.
    """
    start = take(workspace, store)
    with _unchanged(workspace) as at:
        had = _exists(at, b".git")
        remove_beneath(at, b".git")
        commits, left = _place(at, [("start", start)], store)
    return PlacedRepo(commits, had, left)


def verifier_repo(
    workspace: Location, start: Manifest, executor: Manifest, store: BlobStore, aside: Path
) -> PlacedRepo:
    """Set the workspace's ``.git`` aside and give the verifier one with two true commits.

    ``executor`` is the manifest of the workspace as it is. ``aside``, which
    may not exist, must be on the same file system. Raises StorageError.
    """
    with _unchanged(workspace) as at:
        had = _exists(at, b".git")
        if had:
            with directory(aside.parent) as beside:
                _move(at, b".git", beside, os.fsencode(aside.name))
        commits, left = _place(at, [("start", start), ("executor", executor)], store)
    return PlacedRepo(commits, had, left)


def restore_git(workspace: Location, aside: Path) -> None:
    """Drop the verifier's repository and put back what ``verifier_repo`` set aside, if anything."""
    with _unchanged(workspace) as at:
        remove_beneath(at, b".git")
        with directory(aside.parent) as beside:
            name = os.fsencode(aside.name)
            if _exists(beside, name):
                _move(beside, name, at, b".git")


def _move(source: int, name: bytes, target: int, new_name: bytes) -> None:
    """Rename, and never over something; the owner may move even a directory it has closed."""
    with opened(open_entry(source, name)) as fd:
        mode = os.fstat(fd).st_mode
        closed = stat.S_ISDIR(mode) and mode & 0o700 != 0o700
        if closed:
            os.chmod(proc_path(fd), stat.S_IMODE(mode) | 0o700)
        try:
            if _exists(target, new_name):
                raise FileExistsError(errno.EEXIST, "something is there", os.fsdecode(new_name))
            os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
        finally:
            if closed:
                os.chmod(proc_path(fd), stat.S_IMODE(mode))


def _exists(at: int, name: bytes) -> bool:
    try:
        os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _unchanged(workspace: Location) -> Iterator[int]:
    """Work in the workspace, closed or not, and leave its mode and time as they were."""
    with directory(workspace) as at, storage(workspace):
        status = os.fstat(at)
        mode = stat.S_IMODE(status.st_mode)
        if mode & 0o700 != 0o700:
            os.chmod(proc_path(at), mode | 0o700)
        try:
            yield at
        finally:
            os.chmod(proc_path(at), mode)
            os.utime(proc_path(at), ns=(status.st_atime_ns, status.st_mtime_ns))


def _place(
    at: int, states: Sequence[tuple[str, Manifest]], store: BlobStore
) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """Build a repository in the open directory ``at`` and give it the name ``.git``."""
    left = _not_in_all(states)
    trees = [build_tree(manifest, exclude=left) for _, manifest in states]
    name = f".git-{secrets.token_hex(16)}".encode()
    private = Path(proc_path(at), os.fsdecode(name))
    try:
        private.mkdir(mode=0o755)
        commits = _build(private, [message for message, _ in states], trees, store)
        last = trees[-1]
        reported = [o for tree in trees for o in tree.left_out]
        reported += [LeftOut(path, why) for path, why in left.items()]
        unique = {o.path: o for o in reported if not is_git(o.path)}
        _write_index(private / "index", last)
        (private / "info" / "attributes").write_bytes(_ATTRIBUTES)
        _write_exclude(private / "info" / "exclude", sorted(unique))
        os.rename(name, b".git", src_dir_fd=at, dst_dir_fd=at)
    finally:
        remove_beneath(at, name)
    return commits, tuple(unique[path] for path in sorted(unique))


def _not_in_all(states: Sequence[tuple[str, Manifest]]) -> dict[bytes, str]:
    """Files whose content is missing in one state would seem created or deleted in another."""
    return {
        entry.path: entry.note or "too long a path"
        for _, manifest in states
        for entry in manifest.entries
        if entry.kind == "file" and (not entry.oid or len(entry.path) > _PATH_MAX)
    }


def _build(
    private: Path, messages: Sequence[str], trees: Sequence[Tree], store: BlobStore
) -> tuple[str, ...]:
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "hooks", "info"):
        (private / name).mkdir(parents=True, mode=0o755)
    objects = {oid: o for tree in trees for oid, o in tree.objects.items()}
    commits: list[str] = []
    for message, tree in zip(messages, trees, strict=True):
        data = commit(tree.oid, commits[-1] if commits else None, message)
        commits.append(object_id(b"commit", data))
        objects[commits[-1]] = (b"commit", data)
    oids = {oid for tree in trees for _, oid, _ in tree.files} - set(objects)
    stem = f"objects/pack/pack-{commits[-1]}"
    store.write_pack(oids, objects, private / f"{stem}.pack", private / f"{stem}.idx")
    (private / "config").write_text(_CONFIG)
    (private / "HEAD").write_text("ref: refs/heads/main\n")
    (private / "refs/heads/main").write_text(f"{commits[-1]}\n")
    return tuple(commits)


def _write_index(path: Path, tree: Tree) -> None:
    """An index, version 2, that holds of each file's state what ``checkStat = minimal`` reads."""
    entries = sorted(tree.files, key=lambda file: file[2].path)
    hasher = hashlib.sha1(usedforsecurity=False)
    with open(path, "wb", buffering=_BUFFER) as file:
        for piece in _index_pieces(entries):
            hasher.update(piece)
            file.write(piece)
        file.write(hasher.digest())


def _index_pieces(entries: Sequence[tuple[int, str, Entry]]) -> Iterator[bytes]:
    yield b"DIRC" + struct.pack(">LL", 2, len(entries))
    for mode, oid, entry in entries:
        yield _index_entry(mode, oid, entry)


def _index_entry(mode: int, oid: str, entry: Entry) -> bytes:
    seconds, nanoseconds = divmod(entry.mtime_ns, 1_000_000_000)
    size = len(entry.target) if entry.kind == "link" else entry.size
    numbers = (0, 0, seconds, nanoseconds, 0, 0, mode, 0, 0, size)
    head = struct.pack(">10L", *(number & 0xFFFFFFFF for number in numbers))
    body = head + bytes.fromhex(oid) + struct.pack(">H", min(len(entry.path), 0xFFF)) + entry.path
    return body + bytes(8 - len(body) % 8)


def _write_exclude(path: Path, paths: Sequence[bytes]) -> None:
    path.write_bytes(b"".join(b"/" + _pattern(p) + b"\n" for p in paths))


def _pattern(path: bytes) -> bytes:
    """A gitignore pattern for one path; a line break cannot be written, so it is any character."""
    parts = (b"?" if c == 10 else b"\\" + bytes([c]) if c in _SPECIAL else bytes([c]) for c in path)
    return b"".join(parts)
