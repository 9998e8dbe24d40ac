"""A manifest as a git tree: pure data, no repository and no git command.

Git cannot hold everything a zone can. Left out, and reported: FIFOs, sockets
and devices; entries named ``.git`` (so a nested repository is plain files
without its ``.git``); files whose content was not kept. Empty directories
vanish, as always with git.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rolewall.sandbox.batch import batch
from rolewall.sandbox.blobs import BlobStore
from rolewall.sandbox.manifest import Entry, Manifest
from rolewall.sandbox.names import escape
from rolewall.sandbox.objects import object_id

__all__ = ["LeftOut", "Tree", "build_tree", "commit", "write_tree"]

_DIR = 0o040000
_DATE = "1700000000 +0000"
_AUTHOR = "rolewall <rolewall@localhost>"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An entry that could not be carried over, and why.

    Attributes:
        path: relative to what was carried over.
        why: its kind, or what its manifest's note says.
        lost: whether a content, or what a directory holds, is missing for it:
            what was carried over is then not the whole.
    """

    path: bytes
    why: str
    lost: bool = False

    @property
    def name(self) -> str:
        return escape(self.path) or "."


@dataclass(frozen=True)
class Tree:
    """A tree and the objects it needs.

    Attributes:
        oid: id of the root tree.
        objects: the trees and the targets of links: id to (kind, data).
        files: what the tree holds: mode, id of the blob, entry of the manifest.
        left_out: what it does not hold.
    """

    oid: str
    objects: dict[str, tuple[bytes, bytes]]
    files: tuple[tuple[int, str, Entry], ...]
    left_out: tuple[LeftOut, ...]


@dataclass
class _Builder:
    objects: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    files: list[tuple[int, str, Entry]] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    children: dict[bytes, list[tuple[bytes, int, str]]] = field(default_factory=dict)
    root: str = ""

    def add_object(self, kind: bytes, data: bytes) -> str:
        oid = object_id(kind, data)
        self.objects[oid] = (kind, data)
        return oid

    def add(self, entry: Entry) -> None:
        if entry.kind == "dir":
            self.close(entry.path)
        elif entry.kind == "link":
            self.place(entry, 0o120000, self.add_object(b"blob", entry.target))
        elif entry.kind == "file" and entry.oid:
            self.place(entry, 0o100755 if entry.mode & 0o100 else 0o100644, entry.oid)
        else:
            why = entry.note or ("not kept" if entry.kind == "file" else entry.kind)
            self.left_out.append(LeftOut(entry.path, why))

    def place(self, entry: Entry, mode: int, oid: str) -> None:
        self.files.append((mode, oid, entry))
        parent, _, name = entry.path.rpartition(b"/")
        self.children.setdefault(parent, []).append((name, mode, oid))

    def close(self, path: bytes) -> None:
        """A directory comes after its children when the entries are taken backwards."""
        below = self.children.pop(path, None)
        if below and path:
            parent, _, name = path.rpartition(b"/")
            oid = self.add_object(b"tree", _tree_data(below))
            self.children.setdefault(parent, []).append((name, _DIR, oid))
        elif below or not path:
            self.root = self.add_object(b"tree", _tree_data(below or []))


def _tree_data(children: list[tuple[bytes, int, str]]) -> bytes:
    ordered = sorted(children, key=lambda c: c[0] + b"/" if c[1] == _DIR else c[0])
    return b"".join(b"%o %b\0" % (mode, name) + bytes.fromhex(oid) for name, mode, oid in ordered)


def build_tree(manifest: Manifest, exclude: Iterable[bytes] = ()) -> Tree:
    """The git tree of a manifest, without the paths in ``exclude``."""
    builder = _Builder()
    excluded = set(exclude)
    for entry in reversed(manifest.entries):
        if entry.path in excluded:
            continue
        if _in_git(entry.path):
            if entry.path.rpartition(b"/")[2].lower() == b".git" and entry.path != b".git":
                builder.left_out.append(LeftOut(entry.path, "nested repository"))
            continue
        builder.add(entry)
    builder.files.reverse()
    builder.left_out.reverse()
    return Tree(builder.root, builder.objects, tuple(builder.files), tuple(builder.left_out))


def _in_git(path: bytes) -> bool:
    return any(part == b".git" for part in path.lower().split(b"/"))


def commit(tree: str, parent: str | None, message: str) -> bytes:
    """The data of a commit with a fixed author and date, so that equal trees give equal ids."""
    lines = [f"tree {tree}"]
    if parent:
        lines.append(f"parent {parent}")
    lines += [f"author {_AUTHOR} {_DATE}", f"committer {_AUTHOR} {_DATE}", "", message, ""]
    return "\n".join(lines).encode()


def write_tree(store: BlobStore, manifest: Manifest) -> Tree:
    """Put the git tree of a manifest taken with ``store`` into the store itself."""
    tree = build_tree(manifest)
    with batch(store) as kept:
        for kind, data in tree.objects.values():
            kept.put_bytes(data, kind)
    return tree
