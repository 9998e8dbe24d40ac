"""What one watch writes: attempts, executions, own writes and reads, within their budgets."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rolewall.errors import RolewallError
from rolewall.policies import Attempt, Effect, Judgement, Kind, Ledger, Outcome, shorten

from .tally import ByDirectory, Tally
from .task import TaskFacts
from .wire import WatchSpec

__all__ = ["Recorder", "Seen"]

_TEXT_MAX = 4096
_BYTES_MAX = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Seen:
    """A judged call, ready to be written."""

    syscall: str
    effect: Effect
    found: Judgement
    task: TaskFacts
    paths: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    detail: str = ""


class Recorder:
    """The ledger lines and numbers of one watch.

    ``tell`` brings news to the harness: ``{"violated": true}`` or ``{"broken": why}``.
    Nothing is recorded, only counted, until ``began`` is set. ``most_bytes`` bounds the
    lines of crossings, of peeks, of what conditions forbid, of reads, and of the rest, each
    by itself, as the budget bounds their number: a flood of one loses nothing of another.
    """

    def __init__(
        self,
        spec: WatchSpec,
        ledger: Ledger,
        tell: Callable[[dict[str, Any]], None],
        most_bytes: int = _BYTES_MAX,
    ) -> None:
        self.began = self.violated = False
        self.broken = ""
        self._spec, self._ledger, self._tell = spec, ledger, tell
        self._tally = Tally()
        self._crossings = _Allowance("crossings", spec.crossing_budget, most_bytes)
        self._peeks = _Allowance("peeks", spec.crossing_budget, most_bytes)
        self._forbidden = _Allowance("the forbidden", spec.crossing_budget, most_bytes)
        self._others = _Allowance("the rest", spec.crossing_budget, most_bytes)
        self._counted = {
            "own": (ByDirectory("own"), self._others),
            "read": (ByDirectory("read"), _Allowance("reads", spec.crossing_budget, most_bytes)),
        }

    @property
    def refuses(self) -> bool:
        """Whether everything is refused from here on."""
        return self.violated or bool(self.broken)

    @property
    def holds_counts(self) -> bool:
        """Whether ``flush`` will have something to write."""
        return any(held for held, _ in self._counted.values())

    def attempt(self, seen: Seen) -> None:
        """Count one attempt, and write its line."""
        if self._probing():
            return
        allowance = self._allowance(seen)
        if self._fits(allowance, seen.found):
            attempt = self._attempt(seen)
            self._tally.add(attempt.kind, attempt.outcome)
            self._tally.distinct(attempt)
            self._append(attempt.to_line(), allowance)

    def own(self, path: str, effect: Effect) -> None:
        """Count one write of the role's to its own."""
        if self._probing():
            return
        self._tally.add(Kind.OWN, Outcome.ALLOWED)
        self._count("own", path, effect)

    def read(self, path: str) -> None:
        """Count one open for reading in a zone that the role may see."""
        if self._probing():
            return
        self._tally.reads += 1
        self._count("read", path, Effect.READ)

    def read_outside(self) -> None:
        """Count one open for reading of what is in no zone."""
        if not self._probing():
            self._tally.reads_outside += 1

    def execution(self, exe: str, argv: list[str], whole: bool, pid: int) -> None:
        """Count one program started; ``whole`` says that ``argv`` is all of it."""
        if self._probing():
            return
        self._tally.execs += 1
        if self._fits(self._others):
            line = {"type": "exec", "time": _now(), "exe": shorten(exe), "argv": argv}
            self._append({**line, "argv_whole": whole, "pid": pid}, self._others)

    def flush(self, second: int) -> None:
        """Write what was counted in a second that is over."""
        for held, allowance in self._counted.values():
            if held and second != held.second:
                for line in held.take():
                    if allowance.bytes > 0:
                        self._append(line, allowance)
                    else:
                        self._overflow(allowance)
            held.second = second

    def summary(self) -> dict[str, Any]:
        """The fields of a ``WatchSummary``, once everything is written."""
        self.flush(-1)
        return {
            **self._tally.to_json(),
            "violated": self.violated,
            "ledger_head": self._ledger.head,
            "ledger_lines": self._ledger.lines,
        }

    def break_off(self, why: str) -> None:
        """From here nothing can be recorded, so nothing more is let through."""
        if not self.broken:
            self.broken = why[:_TEXT_MAX]
            self._tell({"broken": self.broken})

    def _probing(self) -> bool:
        if not self.began:
            self._tally.probe_seen += 1
        return not self.began

    def _attempt(self, seen: Seen) -> Attempt:
        found, task = seen.found, seen.task
        return Attempt(
            time=_now(),
            role=self._spec.role,
            phase=self._spec.phase,
            pid=task.pid,
            comm=task.comm,
            exe=shorten(task.exe),
            syscall=seen.syscall,
            effect=seen.effect,
            paths=tuple(shorten(path) for path in seen.paths),
            flags=seen.flags,
            zone=found.zone,
            owner=found.owner,
            kind=found.kind,
            outcome=found.outcome,
            why=(f"{found.why}: {seen.detail}" if seen.detail else found.why)[:_TEXT_MAX],
        )

    def _count(self, type_: str, path: str, effect: Effect) -> None:
        self.flush(int(time.time()))
        self._counted[type_][0].add(path, effect.value)

    def _allowance(self, seen: Seen) -> _Allowance:
        """What pays for a line. Only what would change something spends the crossings'."""
        if seen.found.kind is Kind.PEEK or seen.effect is Effect.READ:
            return self._peeks
        if seen.found.kind is Kind.FORBIDDEN:
            return self._forbidden
        return self._crossings if _crosses(seen.found) else self._others

    def _fits(self, allowance: _Allowance, found: Judgement | None = None) -> bool:
        """Whether there still is room for a line. Without room a crossing is a violation;
        anything else is counted."""
        if allowance.take():
            return True
        if allowance is self._crossings:
            self._violate()
        else:
            self._overflow(allowance)
            self._tally.unrecorded += allowance is self._others
        if found:
            outcome = Outcome.DENIED if allowance is self._crossings else found.outcome
            self._tally.add(found.kind, outcome)
        return False

    def _violate(self) -> None:
        self.violated = True
        self._note(f"budget of {self._crossings} spent on crossings; all calls refused")
        self._tell({"violated": True})

    def _overflow(self, allowance: _Allowance) -> None:
        if not allowance.told:
            allowance.told = True
            what = allowance.name
            self._note(f"budget of {allowance} spent on {what}, only counted from here")

    def _note(self, text: str) -> None:
        self._append({"type": "note", "time": _now(), "text": text})

    def _append(self, line: dict[str, Any], allowance: _Allowance | None = None) -> None:
        before = self._ledger.size
        try:
            self._ledger.append({**line, "role": self._spec.role, "phase": self._spec.phase})
        except RolewallError as error:
            self.break_off(str(error))
        if allowance:
            allowance.bytes -= self._ledger.size - before


class _Allowance:
    """How many lines, and bytes of them, may still be written; ``told`` says that the
    ledger has a note of their end."""

    def __init__(self, name: str, lines: int, size: int) -> None:
        self.name, self.lines, self.bytes, self.told = name, lines, size, False
        self._whole = f"{lines} lines or {size} bytes"

    def take(self) -> bool:
        """Spend one line."""
        self.lines -= 1
        return self.lines >= 0 and self.bytes > 0

    def __str__(self) -> str:
        return self._whole


def _crosses(found: Judgement) -> bool:
    return found.kind in (Kind.EDIT, Kind.INCIDENTAL) or found.outcome is Outcome.UNKNOWN


def _now() -> float:
    return round(time.time(), 6)
