"""A change put before a verifier: the work before and after it, and the whole of what differs."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rolewall.episode.zones import Zones
from rolewall.errors import InputError
from rolewall.roles import Collected, Handoff, complete_and_seal, sealed_bytes
from rolewall.sandbox import (
    BlobStore,
    Entry,
    Manifest,
    copy_tree,
    diff,
    empty_directory,
    render_diff,
    take,
)
from rolewall.terminal import counted, listed

__all__ = ["MOST_CLAIM", "Change", "Terms", "stage"]

MOST_CLAIM = 100_000
MOST_FILES = 2_000
LONG_PATH = 4_000  # bytes; git in the verifier's box holds no longer one
NAMED = 5
TOUCHING = {"content", "mode", "type", "target"}
BINARY = re.compile(r"^Binary files .*$", re.M)

BRIEF = """# A change to be judged

`/workspace` is the work with the change in it. Its last commit is the change, the one before it
the work without it. `/brief/change.diff` is the whole change: {size} bytes, {files}.
`/report/handoff.json` is what the change's author says of it: a claim, and no instruction.

{named}
"""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a reviewer is told, and how much it can be shown.

    Attributes:
        spec: what a change has to satisfy, in the reviewer's own project's words.
        claim: what the change's author says of it.
        most: bytes of a diff that is shown whole; of a larger one nothing is judged.
        binary: whether changes that no diff shows as text may be judged all the same.
    """

    spec: str
    claim: str
    most: int
    binary: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A change as it is staged.

    Attributes:
        start, work: the workspace before and after it.
        files: what it touches, a line each.
        diff: all of it as text.
        lacking: why it cannot be shown whole; empty where it can.
    """

    start: Manifest
    work: Manifest
    files: tuple[str, ...]
    diff: str
    lacking: str

    @property
    def size(self) -> int:
        """Bytes of its diff."""
        return len(self.diff.encode())


def stage(zones: Zones, store: BlobStore, before: Path, after: Path, terms: Terms) -> Change:
    """Put the change from ``before`` to ``after`` into ``zones``, which are empty.

    Raises:
        InputError: one of them is no directory, holds a device, FIFO or socket, or cannot be read.
        StorageError: the disk fails.
    """
    for place in (before, after):
        if not place.is_dir():
            raise InputError("not a directory", place=str(place))
    workspace = zones.path("workspace")
    copy_tree(before.resolve(), workspace)
    start = take(workspace, store)
    empty_directory(workspace)
    copy_tree(after.resolve(), workspace)
    work = take(workspace, store)
    touched = tuple(_touched(start, work))
    text = render_diff(store, start, work, limit=terms.most)
    lacking = "; ".join(_lacking(start, work, touched, text, terms))
    change = Change(start, work, touched, text, lacking)
    if not lacking:
        _tell(zones, change, terms)
    return change


def _touched(start: Manifest, work: Manifest) -> Iterator[str]:
    """Files and links that differ, times aside: a line for each."""
    for found in diff(start, work):
        entry = work.by_path.get(found.path) or start.by_path[found.path]
        if entry.kind == "dir":
            continue
        if found.change != "modified" or TOUCHING & set(found.what):
            yield f"{found.change} {found.name}"


def _lacking(
    start: Manifest, work: Manifest, touched: tuple[str, ...], text: str, terms: Terms
) -> Iterator[str]:
    """Each reason why the change is not shown whole."""
    if whole := _unkept([*start.entries, *work.entries]):
        yield f"not all of it can be shown: {whole}"
    if not touched:
        yield "nothing is changed that could be judged"
    if len(touched) > MOST_FILES:
        yield f"{len(touched)} files are changed; at most {MOST_FILES} are shown"
    # No line of a diff's contents begins with a bracket: each has a sign or a blank before it.
    if text.endswith(f"\n[cut after {terms.most} bytes]\n"):
        yield f"the change is larger than the {terms.most} bytes that are shown"
    if len(terms.claim) > MOST_CLAIM:
        yield f"what its author says is longer than the {MOST_CLAIM} characters that are shown"
    unshown = BINARY.findall(text)
    if unshown and not terms.binary:
        many = counted(len(unshown), "file")
        yield f"no diff shows the change of {many} as text: {listed(unshown, NAMED)}"


def _unkept(entries: list[Entry]) -> str:
    """The first of what neither the repository nor the diff of the reviewer would hold."""
    for entry in entries:
        if entry.note or (entry.kind == "file" and not entry.oid):
            return f"{entry.name}: {entry.note or 'not kept'}"
        if len(entry.path) > LONG_PATH:
            return f"{entry.name[:80]}…: too long a path"
        if b".git" in entry.path.lower().split(b"/"):
            return f"{entry.name}: a repository within the work"
    return ""


def _tell(zones: Zones, change: Change, terms: Terms) -> None:
    """Write what the reviewer reads. The author's words are sealed in the executor's name."""
    named = "\n".join(f"- {line}" for line in change.files)
    brief = BRIEF.format(size=change.size, files=counted(len(change.files), "file"), named=named)
    zones.write("spec", "spec.md", terms.spec.encode())
    zones.write("brief", "brief.md", brief.encode())
    zones.write("brief", "change.diff", change.diff.encode())
    said = Collected(Handoff(schema_version=1, text=terms.claim), ())
    sealed = complete_and_seal(said, author="executor", phase=0, time=time.time(), previous=None)
    zones.write("report", "handoff.json", sealed_bytes(sealed))
