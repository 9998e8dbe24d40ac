"""The results that an episode's roles share, by tool and canonical arguments."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from rolewall.roles.broker.answer import Ran
from rolewall.roles.broker.tool import Tool

__all__ = ["Given", "Shelf"]

MOST_KEPT = 64 << 20  # bytes of results; the oldest give way


@dataclass(frozen=True)
class _Kept:
    ran: Ran
    asked_by: str


@dataclass
class _Running:
    """A call that is under way, and what it came to."""

    asked_by: str
    ended: threading.Event = field(default_factory=threading.Event)
    ran: Ran | None = None


@dataclass(frozen=True)
class Given:
    """What a call was given. ``own``: the tool was run for it; ``repeated``: the same had been
    answered in this episode before, whether it was shared or not."""

    ran: Ran
    asked_by: str
    own: bool
    repeated: bool


class Shelf:
    """One episode's, safe for threads. Only what succeeded is kept, and nothing that whoever
    asked may have had a hand in: a failure is told to those who waited for that very run, and
    to nobody later."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._answered: set[tuple[str, str]] = set()
        self._running: dict[tuple[str, str], _Running] = {}
        self._size = 0

    def ask(
        self, tool: Tool, arguments: str, asked_by: str, now: float, run: Callable[[bool], Ran]
    ) -> Given:
        """What is fresh, else what ``run`` gives; equal calls at one time run once.

        Args:
            arguments: canonical, as text.
            now: the time of the call.
            run: runs the tool and writes that down, told whether the same had been answered
                before; what it raises for is not kept.
        """
        key = (tool.name, arguments)
        with self._lock:
            repeated = key in self._answered
            if not tool.share:
                mine = other = None
            elif (kept := self._fresh(key, tool, now)) is not None:
                return Given(kept.ran, kept.asked_by, own=False, repeated=repeated)
            elif (other := self._running.get(key)) is None:
                mine = self._running[key] = _Running(asked_by)
            else:
                mine = None
        if other is not None:
            return _joined(other, repeated)
        ran = self._run(key, tool, asked_by, lambda: run(repeated), mine)
        return Given(ran, asked_by, own=True, repeated=repeated)

    def _fresh(self, key: tuple[str, str], tool: Tool, now: float) -> _Kept | None:
        kept = self._kept.get(key)
        return kept if kept is not None and now < kept.ran.ended + tool.ttl else None

    def _run(
        self,
        key: tuple[str, str],
        tool: Tool,
        asked_by: str,
        run: Callable[[], Ran],
        mine: _Running | None,
    ) -> Ran:
        ran = None
        try:
            ran = run()
            return ran
        finally:
            with self._lock:  # whoever asks from here on finds it running, or kept
                if ran is not None and ran.ok:
                    self._keep(key, tool, ran, asked_by)
                if mine is not None:
                    mine.ran = ran
                    del self._running[key]
            if mine is not None:
                mine.ended.set()

    def _keep(self, key: tuple[str, str], tool: Tool, ran: Ran, asked_by: str) -> None:
        self._answered.add(key)
        if not tool.share or ran.steered:
            return
        self._drop(key)
        self._kept[key] = _Kept(ran, asked_by)
        self._size += len(ran.raw)
        while self._size > MOST_KEPT:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: tuple[str, str]) -> None:
        if (kept := self._kept.pop(key, None)) is not None:
            self._size -= len(kept.ran.raw)


def _joined(other: _Running, repeated: bool) -> Given:
    other.ended.wait()
    ran = other.ran or Ran(0.0, 0.0, why="the call that it was to share did not end")
    return Given(ran, other.asked_by, own=False, repeated=repeated or ran.ok)
