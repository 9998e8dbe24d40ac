"""What one watch writes: attempts, executions, own writes, within their budgets."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rolewall.errors import RolewallError
from rolewall.policies import Attempt, Effect, Judgement, Kind, Ledger, Outcome, shorten

from .tally import OwnWrites, Tally
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
    lines of crossings, and once more all other lines, as the budget bounds their number.
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
        self._tally, self._own = Tally(), OwnWrites()
        self._crossings = _Allowance(spec.crossing_budget, most_bytes)
        self._others = _Allowance(spec.crossing_budget, most_bytes)
        self._overflows = False

    @property
    def refuses(self) -> bool:
        """Whether everything is refused from here on."""
        return self.violated or bool(self.broken)

    @property
    def holds_own(self) -> bool:
        return bool(self._own)

    def attempt(self, seen: Seen) -> None:
        """Count one attempt, and write its line."""
        if self._probing():
            return
        crossing = _crosses(seen.found)
        if self._crossing_fits(seen.found) if crossing else self._other_fits(seen.found):
            attempt = self._attempt(seen)
            self._tally.add(attempt.kind, attempt.outcome)
            self._tally.edit(attempt)
            self._append(attempt.to_line(), self._crossings if crossing else self._others)

    def own(self, path: str, effect: Effect) -> None:
        if self._probing():
            return
        self._tally.add(Kind.OWN, Outcome.ALLOWED)
        self.flush(int(time.time()))
        self._own.add(path, effect.value)

    def execution(self, exe: str, argv: list[str], whole: bool, pid: int) -> None:
        """Count one program started; ``whole`` says that ``argv`` is all of it."""
        if self._probing():
            return
        self._tally.execs += 1
        if self._other_fits():
            line = {"type": "exec", "time": _now(), "exe": shorten(exe), "argv": argv}
            self._append({**line, "argv_whole": whole, "pid": pid}, self._others)

    def flush(self, second: int) -> None:
        """Write the own writes of a second that is over."""
        if self._own and second != self._own.second:
            for line in self._own.take():
                if self._others.bytes > 0:
                    self._append(line, self._others)
                else:
                    self._overflow()
        self._own.second = second

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

    def _crossing_fits(self, found: Judgement) -> bool:
        """Whether this crossing still gets its line. Only crossings spend the budget:
        a flood of anything else loses its own lines, never an edit's."""
        if self._crossings.take():
            return True
        self.violated = True
        self._tally.add(found.kind, Outcome.DENIED)
        self._note(f"budget of {self._crossings} spent on crossings; all calls refused")
        self._tell({"violated": True})
        return False

    def _other_fits(self, found: Judgement | None = None) -> bool:
        if self._others.take():
            return True
        self._overflow()
        self._tally.unrecorded += 1
        if found:
            self._tally.add(found.kind, found.outcome)
        return False

    def _overflow(self) -> None:
        if not self._overflows:
            self._overflows = True
            self._note(f"budget of {self._others} spent on the rest, which is only counted now")

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
    """How many lines, and bytes of them, may still be written."""

    def __init__(self, lines: int, size: int) -> None:
        self.lines, self.bytes = lines, size
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
