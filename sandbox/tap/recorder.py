"""What one watch writes: attempts, executions, own writes, within their budgets."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rolewall.errors import RolewallError
from rolewall.policies import Attempt, Effect, Judgement, Kind, Ledger, Outcome

from .tally import OwnWrites, Tally
from .task import TaskFacts
from .wire import WatchSpec

__all__ = ["Recorder", "Seen"]

_TEXT_MAX = 4096


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
    Nothing is recorded, only counted, until ``began`` is set.
    """

    def __init__(
        self, spec: WatchSpec, ledger: Ledger, tell: Callable[[dict[str, Any]], None]
    ) -> None:
        self.began = self.violated = False
        self.broken = ""
        self._spec, self._ledger, self._tell = spec, ledger, tell
        self._tally, self._own = Tally(), OwnWrites()
        self._crossings = self._others = 0

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
        if self._within_budget(seen.found):
            attempt = self._attempt(seen)
            self._tally.add(attempt.kind, attempt.outcome)
            self._tally.edit(attempt)
            self._append(attempt.to_line())

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
        if self._within_cap():
            line = {"type": "exec", "time": _now(), "exe": exe, "argv": argv}
            self._append({**line, "argv_whole": whole, "pid": pid})

    def flush(self, second: int) -> None:
        """Write the own writes of a second that is over."""
        if self._own and second != self._own.second:
            for line in self._own.take():
                self._append(line)
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
            exe=task.exe[:_TEXT_MAX],
            syscall=seen.syscall,
            effect=seen.effect,
            paths=seen.paths,
            flags=seen.flags,
            zone=found.zone,
            owner=found.owner,
            kind=found.kind,
            outcome=found.outcome,
            why=(f"{found.why}: {seen.detail}" if seen.detail else found.why)[:_TEXT_MAX],
        )

    def _within_budget(self, found: Judgement) -> bool:
        """Whether this attempt still gets its line. Only crossings spend the budget:
        a flood of anything else loses its own lines, never an edit's."""
        crossing = found.kind in (Kind.EDIT, Kind.INCIDENTAL) or found.outcome is Outcome.UNKNOWN
        if not crossing:
            return self._within_cap(found)
        self._crossings += 1
        if self._crossings <= self._spec.crossing_budget:
            return True
        self.violated = True
        self._tally.add(found.kind, Outcome.DENIED)
        self._note(f"budget of {self._spec.crossing_budget} crossings spent; all calls refused")
        self._tell({"violated": True})
        return False

    def _within_cap(self, found: Judgement | None = None) -> bool:
        self._others += 1
        cap = self._spec.crossing_budget
        if self._others <= cap:
            return True
        if self._others == cap + 1:
            self._note(f"more than {cap} other attempts and executions; the rest is only counted")
        self._tally.unrecorded += 1
        if found:
            self._tally.add(found.kind, found.outcome)
        return False

    def _note(self, text: str) -> None:
        self._append({"type": "note", "time": _now(), "text": text})

    def _append(self, line: dict[str, Any]) -> None:
        try:
            self._ledger.append({**line, "role": self._spec.role, "phase": self._spec.phase})
        except RolewallError as error:
            self.break_off(str(error))


def _now() -> float:
    return round(time.time(), 6)
