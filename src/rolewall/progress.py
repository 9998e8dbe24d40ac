"""What is told of a run as it goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rolewall.figures import failures_text
from rolewall.plan import Episode
from rolewall.record import EpisodeRecord
from rolewall.tally import unfinished_phases
from rolewall.terminal import say

__all__ = ["Progress", "shown_progress"]


class Progress:
    """What is told of a run as it goes on; ``done`` are episodes that have a record."""

    def __init__(self, total: int) -> None:
        self.done, self.total = 0, total

    def accept(self, there: int) -> None:
        self.done = there

    def __call__(self, episode: Episode, record: EpisodeRecord) -> None:
        self.done += 1
        say([f"{self.done} of {self.total}: {_words(record)}"], sys.stderr)


class _Count(Progress):
    """For a person who plays: a bar would draw over the terminal, and how an episode was
    graded may tell of one that is still to be judged."""

    def __call__(self, episode: Episode, record: EpisodeRecord) -> None:
        self.done += 1
        say([f"{self.done} of {self.total} done"], sys.stderr)


class _Bar(Progress):
    def __init__(self, total: int, advance: Callable[[int], None]) -> None:
        super().__init__(total)
        self._advance = advance

    def accept(self, there: int) -> None:
        self._advance(there)

    def __call__(self, episode: Episode, record: EpisodeRecord) -> None:
        self._advance(1)


@contextmanager
def shown_progress(total: int, *, person: bool) -> Iterator[Progress]:
    """What tells of ``total`` episodes on standard error, in a way that fits who is there.

    Args:
        person: whether somebody plays a role at the same terminal.
    """
    if person:
        yield _Count(total)
        return
    if not sys.stderr.isatty():
        yield Progress(total)
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("episodes"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
    )
    progress = rich.Progress(*columns, console=Console(stderr=True), transient=True)
    task = progress.add_task("", total=total)
    progress.start()
    try:
        yield _Bar(total, lambda number: progress.advance(task, number))
    finally:
        with suppress(OSError):  # a terminal that has gone is no reason of the run's end
            progress.stop()


def _words(record: EpisodeRecord) -> str:
    name = f"{record.task} {record.condition} {record.trial}"
    if record.error:
        return f"{name}: error: {record.error.kind}: {record.error.message}"
    said = f"verdict {record.verdict}" if record.verified else "no verifier"
    words = f"{name}: {said}, grade {record.grade}"
    failed = unfinished_phases([record])
    return f"{words}, {failures_text(failed)}" if failed else words
