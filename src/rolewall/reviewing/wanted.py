"""What of a change a model must be sent: lines, and who stands beside whom.

A diff is read into three forms in which it can be shown: the new state of each hunk, its old
state, and the diff itself. Lines are numbers (the same text has the same number), and each
state of a hunk ends with a gap, which nothing matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

__all__ = ["FEW", "GAP", "MOST_LINES", "Block", "Form", "Head", "Wanted", "place_of", "read_diff"]

FEW = 3  # lines of a run
GAP = -2
MOST_LINES = 1_000_000
HEADERS = ("old mode ", "new mode ", "deleted file mode ", "new file mode ", "similarity index ",
           "dissimilarity index ", "rename from ", "rename to ", "copy from ", "copy to ",
           "Binary files ")  # fmt: skip
NAMED = ("diff --git ", "--- a/", '--- "a/', "+++ b/", '+++ "b/')
PLACE = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
# New files of these modes say with their content alone nothing of what they are.
ODD_MODES = ("120000", "160000")


@dataclass(slots=True)
class Form:
    """One way in which the change can be shown, as numbers of lines in a row.

    Attributes:
        sizes: of each line, its characters that are no blanks; ``chars`` are those of all before.
        naming: whether a line names a file; ``names`` are how many before do.
        grams: places by the lines that stand there: ``FEW`` of them, or a whole shorter stretch.
    """

    lines: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    naming: list[int] = field(default_factory=list)
    chars: list[int] = field(default_factory=list)
    names: list[int] = field(default_factory=list)
    grams: dict[tuple[int, ...], list[int]] = field(default_factory=dict)

    def add(self, line: int, size: int, naming: bool = False) -> int:
        self.lines.append(line)
        self.sizes.append(size)
        self.naming.append(naming)
        return len(self.lines) - 1

    def gap(self) -> None:
        if self.lines and self.lines[-1] != GAP:
            self.add(GAP, 0)

    def finish(self) -> None:
        self.gap()
        self.chars = [0, *accumulate(self.sizes)]
        self.names = [0, *accumulate(self.naming)]
        begin, lines = 0, self.lines
        for end, line in enumerate(lines):
            if line != GAP:
                continue
            few = min(FEW, end - begin)
            for at in range(begin, end - few + 1):
                self.grams.setdefault(tuple(lines[at : at + few]), []).append(at)
            begin = end + 1

    def joined(self, place: int) -> bool:
        """Whether a line stands there and one before it."""
        return 0 < place < len(self.lines) and GAP not in self.lines[place - 1 : place + 1]


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of a hunk that change together: places in the old state that go, and in the new
    one that come. ``gone``: the whole file goes."""

    old: range
    new: range
    gone: bool


@dataclass(frozen=True, slots=True)
class Head:
    """A change that no content shows: a range in the diff, and other lines that say the same."""

    diff: range
    named: frozenset[int]


@dataclass(slots=True)
class Wanted:
    """All that a change wants sent.

    Attributes:
        ids: number by line.
        shown: of each place in the diff, (new place or -1, last new place up to here, old place
            or -1, last old place up to here).
        returns: whether a carriage return ends a line of it.
    """

    ids: dict[str, int] = field(default_factory=dict)
    old: Form = field(default_factory=Form)
    new: Form = field(default_factory=Form)
    diff: Form = field(default_factory=Form)
    shown: list[tuple[int, int, int, int]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    heads: list[Head] = field(default_factory=list)
    returns: bool = False

    def number(self, line: str) -> int:
        return self.ids.setdefault(line, len(self.ids))


def place_of(line: str) -> str:
    """A hunk's place without the function that git names behind it, which is a setting's."""
    found = PLACE.match(line) if line.startswith("@@ -") else None
    return found[0] if found else line


def read_diff(diff: str) -> Wanted | None:
    """What is to be found of ``diff``; None where it is more than is looked for."""
    if diff.count("\n") >= MOST_LINES:
        return None
    wanted = Wanted(returns="\r" in diff)
    reader = _Reader(wanted)
    for line in diff.split("\n"):
        reader.take(line)
    reader.end_file()
    for form in (wanted.old, wanted.new, wanted.diff):
        form.finish()
    return wanted


class _Reader:
    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._inside = False
        self._head: list[str] = []
        self._begin = 0
        self._came = self._went = 0  # lines of the block that is read

    def take(self, line: str) -> None:
        # No line of a content begins as these do: each has a sign or a blank before it.
        if line.startswith("diff --git "):
            self.end_file()
            self._begin = len(self._wanted.diff.lines)
            self._head = [line]
            self._show(line)
        elif line.startswith("@@ "):
            self._end_hunk()
            self._inside = True
            self._show(place_of(line))
        elif self._inside and line[:1] in ("+", "-", " ") and line:
            self._content(line)
        elif not self._inside and self._head and line.startswith(HEADERS):
            self._head.append(line)
            self._show(line)
        elif not self._inside and line.startswith(("--- ", "+++ ")):
            self._show(line)

    def end_file(self) -> None:
        self._end_hunk()
        if _alone(self._head, hunks=self._inside):
            end = self._begin + len(self._head)
            named = frozenset(map(self._wanted.number, _named(self._head)))
            self._wanted.heads.append(Head(range(self._begin, end), named))
        self._inside, self._head = False, []
        # So that one file's diff is shown by what was asked for that file alone.
        self._wanted.diff.gap()
        while len(self._wanted.shown) < len(self._wanted.diff.lines):
            self._note(-1, -1)

    def _show(self, line: str, new: int = -1, old: int = -1) -> None:
        size = len("".join(line.split()))
        self._wanted.diff.add(self._wanted.number(line), size, line.startswith(NAMED))
        self._note(new, old)

    def _note(self, new: int, old: int) -> None:
        last = len(self._wanted.new.lines) - 1, len(self._wanted.old.lines) - 1
        self._wanted.shown.append((new, last[0], old, last[1]))

    def _content(self, line: str) -> None:
        wanted, sign, text = self._wanted, line[0], line[1:]
        number, size = wanted.number(text), len("".join(text.split()))
        if sign == " " or (sign == "-" and self._came):
            self._end_block()
        new = wanted.new.add(number, size) if sign != "-" else -1
        old = wanted.old.add(number, size) if sign != "+" else -1
        self._came += sign == "+"
        self._went += sign == "-"
        self._show(line, new, old)

    def _end_block(self) -> None:
        if self._came or self._went:
            old, new = len(self._wanted.old.lines), len(self._wanted.new.lines)
            went, came = range(old - self._went, old), range(new - self._came, new)
            gone = any(line.startswith("deleted file mode ") for line in self._head)
            self._wanted.blocks.append(Block(went, came, gone))
        self._came = self._went = 0

    def _end_hunk(self) -> None:
        self._end_block()
        self._wanted.old.gap()
        self._wanted.new.gap()


def _alone(head: list[str], *, hunks: bool) -> bool:
    """Whether the head of a file is a change that its content does not show."""
    if not head:
        return False
    odd = tuple(f"new file mode {mode}" for mode in ODD_MODES)
    told = [line for line in head[1:] if not line.startswith("new file mode ") or line in odd]
    return not hunks or bool(told)


def _named(head: list[str]) -> Iterator[str]:
    """How the reviewer's brief and git's summary say that a file came, went, or has another
    mode."""
    both = head[0].removeprefix("diff --git ")
    path = both[2 : 2 + (len(both) - 5) // 2]
    if both != f"a/{path} b/{path}":
        return
    modes = {line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in head[1:]}
    if mode := modes.get("new file mode"):
        yield f" create mode {mode} {path}"
        if mode not in ODD_MODES:
            yield f"- created {path}"
    elif mode := modes.get("deleted file mode"):
        yield from (f" delete mode {mode} {path}", f"- deleted {path}")
    elif "old mode" in modes and "new mode" in modes:
        yield f" mode change {modes['old mode']} => {modes['new mode']} {path}"
    elif head[1:]:
        yield f"- modified {path}"
