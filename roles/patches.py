"""Patches as coding agents write them, between ``*** Begin Patch`` and ``*** End Patch``.

Each file is added, deleted or updated; an update has hunks of lines that begin with a space,
``-`` or ``+``, and finds its place by them. No line numbers are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["FilePatch", "Hunk", "changed", "parse_patch"]

BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, DELETE, UPDATE, MOVE = (
    f"*** {word}: " for word in ("Add File", "Delete File", "Update File", "Move to")
)
LAST = "*** End of File"
HUNK = "@@"


@dataclass(frozen=True)
class Hunk:
    """``old`` lines become ``new``, beyond the line ``after`` where that is given; ``last``:
    at the file's end."""

    after: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    last: bool = False


@dataclass(frozen=True)
class FilePatch:
    """``added``: the whole text of a new file. Else ``hunks``, or neither for a file that is
    deleted. ``to``: its new name, or empty."""

    path: str
    added: str | None = None
    hunks: tuple[Hunk, ...] = ()
    to: str = ""

    @property
    def deleted(self) -> bool:
        return self.added is None and not self.hunks and not self.to


def parse_patch(text: str) -> tuple[FilePatch, ...]:
    """Raises ValueError, which says why, for what is no patch."""
    lines = text.strip().split("\n")
    if lines[0].strip() != BEGIN or lines[-1].strip() != END:
        raise ValueError(f"a patch is between {BEGIN} and {END}")
    found, at = [], 1
    while at < len(lines) - 1:
        end = at + 1
        while end < len(lines) - 1 and not lines[end].startswith((ADD, DELETE, UPDATE)):
            end += 1
        found.append(_file(lines[at], lines[at + 1 : end]))
        at = end
    if not found:
        raise ValueError("a patch of no file")
    return tuple(found)


def _file(head: str, body: Sequence[str]) -> FilePatch:
    for mark in (ADD, DELETE, UPDATE):
        if head.startswith(mark) and (path := head.removeprefix(mark).strip()):
            break
    else:
        raise ValueError(f"no file is named by {head[:80]!r}")
    if mark == ADD:
        if strange := [line for line in body if not line.startswith("+")]:
            raise ValueError(f"no line of a new file: {strange[0][:80]!r}")
        return FilePatch(path, added="".join(f"{line[1:]}\n" for line in body))
    if mark == DELETE:
        if any(line.strip() for line in body):
            raise ValueError("a file is deleted and has lines")
        return FilePatch(path)
    to = body[0].removeprefix(MOVE).strip() if body and body[0].startswith(MOVE) else ""
    hunks = tuple(_hunks(body[1:] if to else body))
    if not hunks and not to:
        raise ValueError("a file is updated and nothing of it is said")
    return FilePatch(path, hunks=hunks, to=to)


def _hunks(body: Sequence[str]) -> Iterator[Hunk]:
    after, old, new = "", list[str](), list[str]()
    last = False
    for line in (*body, HUNK):
        if line.startswith(HUNK):
            if old or new:
                yield Hunk(after, tuple(old), tuple(new), last)
                old, new, last = [], [], False
            after = line.removeprefix(HUNK).strip()
        elif line.strip() == LAST:
            last = True
        elif line[:1] in (" ", "-", "+", ""):
            old += [line[1:]] if line[:1] != "+" else []
            new += [line[1:]] if line[:1] != "-" else []
        else:
            raise ValueError(f"no line of a patch: {line[:80]!r}")


def changed(text: str, hunks: Sequence[Hunk]) -> str:
    """``text`` with ``hunks``, each beyond the one before. Raises ValueError where one does
    not fit."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    start = 0
    for hunk in hunks:
        if hunk.after:
            start = _find(lines, (hunk.after,), start, last=False) + 1
        if not hunk.old:  # nothing to find its place by: it is added at the end
            lines += hunk.new
            continue
        at = _find(lines, hunk.old, start, last=hunk.last)
        lines[at : at + len(hunk.old)] = hunk.new
        start = at + len(hunk.new)
    return "".join(f"{line}\n" for line in lines)


def _find(lines: Sequence[str], wanted: Sequence[str], start: int, *, last: bool) -> int:
    """As it stands; else with other blanks at the ends of lines; else at their beginnings too."""
    ways: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip)
    end = len(lines) - len(wanted)
    for way in ways:
        sought = [way(line) for line in wanted]
        for at in range(end if last else start, end + 1):
            if at >= start and [way(line) for line in lines[at : at + len(wanted)]] == sought:
                return at
    raise ValueError(f"no such lines: {wanted[0][:80]!r}")
