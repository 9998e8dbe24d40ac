"""Half a fix: one of several changes that the solution makes is not made."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from rolewall.mutants.edit import Edit, lines_of

__all__ = ["faults"]

_MOST_LINES = 2000  # the comparison takes the square of it at worst, and its cube without autojunk


def faults(data: bytes, start: bytes) -> Iterator[Edit]:
    """Each hunk between ``start`` and the solution ``data`` undone, where there are several."""
    before = start.splitlines(keepends=True)
    after = [line for _, _, line in lines_of(data)]
    if max(len(before), len(after)) > _MOST_LINES:
        return
    offsets = [offset for _, offset, _ in lines_of(data)] + [len(data)]
    found = SequenceMatcher(None, before, after, autojunk=True).get_opcodes()
    hunks = [code for code in found if code[0] != "equal"]
    if len(hunks) < 2:
        return
    for _, i, j, k, m in hunks:
        what = f"lines {k + 1} to {m} as at the start" if m > k else "lines of the start kept"
        yield Edit("reverted", k + 1, what, offsets[k], offsets[m], b"".join(before[i:j]))
