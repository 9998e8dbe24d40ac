"""Which lines of a change were found in texts, in whichever form, and beside one another.

A run is lines of a text that are the same as lines in a row of one form of the change. It counts
if it has at least three lines (or all of a shorter hunk) and 40 characters: single lines, short
ones, and lines that stand beside others than in the change, can be in any prompt or file. In the
diff itself a run of two lines that names its file is enough however short.
A stretch of a text counts for one place: what a change says twice has to be sent twice.

Changed lines must be found, and each beside the one before it, the first and the last beside the
unchanged ones. In a state of a file a run shows that of two lines only with three of its own on
either side (or all that the hunk has): paragraphs that changed places have the same neighbours,
which are blank lines. Lines that went must be found in the old state or the diff, and that they
went in the new one, where their neighbours meet, or in the diff.

A file may come in pieces. Where one text ends with a line and another begins with the next, or
some lines before, they are neighbours.
"""

from __future__ import annotations

from rolewall.reviewing.readings import readings
from rolewall.reviewing.runs import Run, Steps, runs
from rolewall.reviewing.wanted import FEW, GAP, Block, Form, Head, Wanted

__all__ = ["Found"]


class _Marks:
    """What of one state was found: lines, and joints, each a line with the one before it."""

    def __init__(self, form: Form) -> None:
        size = len(form.lines) + 2
        self._form = form
        self.lines, self.joints = bytearray(size), bytearray(size)
        self._loose = bytearray(size)  # joints too near the end of a run
        self._begins: dict[int, set[int]] = {}
        self._ends: dict[int, set[int]] = {}

    def mark(self, run: Run, text: int) -> None:
        lines, begin, end = self._form.lines, run.begin, run.end
        self.lines[begin : end + 1] = _ones(end + 1 - begin)
        self._loose[begin + 1 : end + 1] = _ones(end - begin)
        first = begin + (1 if begin == 0 or lines[begin - 1] == GAP else FEW)
        last = end - (0 if lines[end + 1] == GAP else FEW - 1)
        if first <= last:
            self.joints[first : last + 1] = _ones(last + 1 - first)
        if run.first:
            self.begin(begin, text)
        if run.last:
            self.end(end, text)

    def begin(self, place: int, text: int) -> None:
        _note(self._begins, place, text)

    def end(self, place: int, text: int) -> None:
        _note(self._ends, place, text)

    def missing(self, places: range) -> int:
        return len(places) - sum(self.lines[places.start : places.stop])

    def joins(self, places: range) -> list[int]:
        """The joints of lines in a row, those with their neighbours too."""
        return [at for at in range(places.start, places.stop + 1) if self._form.joined(at)]

    def joined(self, place: int) -> bool:
        """Whether the line there was found beside the one before it."""
        if self.joints[place] or self._meet(place - 1, place):
            return True
        return bool(self._loose[place]) and any(
            self._meet(end, begin)
            for end in range(place - FEW, place + FEW - 1)
            for begin in range(place - FEW + 1, end + 2)
        )

    def _meet(self, end: int, begin: int) -> bool:
        ends, begins = self._ends.get(end, ()), self._begins.get(begin, ())
        # A text that ends as it should begin is another order of the same lines.
        return bool(ends) and bool(begins) and len({*ends, *begins}) > 1


def _ones(number: int) -> bytes:
    return b"\1" * number


def _note(places: dict[int, set[int]], place: int, text: int) -> None:
    texts = places.setdefault(place, set())
    if len(texts) < 2:
        texts.add(text)


class Found:
    """What of a change one model was sent."""

    def __init__(self, wanted: Wanted, steps: Steps) -> None:
        self._wanted, self._steps = wanted, steps
        self._old, self._new = _Marks(wanted.old), _Marks(wanted.new)
        self._shown = bytearray(len(wanted.diff.lines) + 2)  # joints of the diff
        self._went = bytearray(len(wanted.old.lines) + 2)  # shown as such, by the diff
        self._names: frozenset[int] = frozenset().union(*(head.named for head in wanted.heads))
        self._named: set[int] = set()

    def look(self, text: str, number: int) -> None:
        """Find what is in ``text``, which has a ``number`` of its own. Raises Tired."""
        wanted, steps = self._wanted, self._steps
        steps.take(text.count("\n") + 1)
        for read in readings(text, wanted):
            self._named |= self._names.intersection(read)
            for run in runs(wanted.new, read, steps):
                self._new.mark(run, number)
            for run in runs(wanted.old, read, steps):
                self._old.mark(run, number)
            for run in runs(wanted.diff, read, steps):
                self._mark_diff(run, number)

    def unsent(self) -> int:
        """How many lines of the change, and of its files' heads, were not found. A hunk whose
        lines were, but not beside one another, counts for one."""
        return sum(map(self._unsent_block, self._wanted.blocks)) + sum(
            map(self._unsent_head, self._wanted.heads)
        )

    def _unsent_block(self, block: Block) -> int:
        new, old = self._new, self._old
        meeting = new.joins(block.new)
        if not block.new and not meeting and not block.gone:
            # No new state shows that these went: they stood at an end of the file.
            return len(block.old) - sum(self._went[block.old.start : block.old.stop])
        missing = new.missing(block.new) + old.missing(block.old)
        whole = all(map(new.joined, meeting)) and (
            not block.old or all(map(old.joined, old.joins(block.old)))
        )
        return missing or int(not whole)

    def _unsent_head(self, head: Head) -> int:
        if head.named & self._named:
            return 0
        joints = range(head.diff.start + 1, head.diff.stop)
        return len(joints) - sum(self._shown[joints.start : joints.stop]) if joints else 1

    def _mark_diff(self, run: Run, text: int) -> None:
        self._steps.take(run.end - run.begin)
        self._shown[run.begin + 1 : run.end + 1] = _ones(run.end - run.begin)
        shown, new, old = self._wanted.shown, self._new, self._old
        before_new = before_old = -1
        for new_at, _, old_at, _ in shown[run.begin : run.end + 1]:
            went = before_new < 0 <= before_old
            if new_at >= 0:
                new.lines[new_at] = 1
                # What went stands between the two in the diff, and in no new state.
                new.joints[new_at] |= before_new >= 0 or went
                if went:
                    old.joints[before_old + 1] = 1
            if old_at >= 0:
                old.lines[old_at] = 1
                self._went[old_at] |= new_at < 0
                old.joints[old_at] |= before_old >= 0
            before_new, before_old = new_at, old_at
        self._edges(run, text)

    def _edges(self, run: Run, text: int) -> None:
        shown = self._wanted.shown
        if run.first:
            new_at, new_last, old_at, old_last = shown[run.begin]
            self._new.begin(new_last + (new_at < 0), text)
            self._old.begin(old_last + (old_at < 0), text)
        if run.last:
            self._new.end(shown[run.end][1], text)
            self._old.end(shown[run.end][3], text)
