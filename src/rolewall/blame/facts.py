"""What an episode's clues are drawn from: its files and measures, read once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rolewall.blame.model import STAGE_OF, Failure, Stage
from rolewall.critical import folded
from rolewall.measures import (
    EpisodeFiles,
    Hop,
    Recall,
    StepFound,
    checked,
    hops_of,
    recall_of,
    steps_of,
)
from rolewall.record import EpisodeRecord, PhaseRecord, VerdictRecord
from rolewall.roles import Evidence

__all__ = ["Facts"]

FAULTS = ("grader", "contract", "manifest-alarm")
"""Kinds of errors that are a stage's fault, and not the machine's."""


@dataclass(frozen=True)
class Facts:
    """``mark`` is that of `check-grader`, None where the grader was not checked."""

    files: EpisodeFiles
    mark: str | None = None

    @property
    def record(self) -> EpisodeRecord:
        return self.files.record

    @cached_property
    def failure(self) -> Failure:
        record = self.record
        if record.error:
            kind = record.error.kind
            if kind not in FAULTS:
                return "infrastructure"
            return "grader" if kind == "grader" else "contract"
        if record.grade == "fail":
            return "work"
        if any(found.allowed for found in self.files.forbidden.values()):
            return "forbidden"
        return "verdict" if record.verified and record.verdict != "approve" else ""

    @cached_property
    def by_executor(self) -> bool:
        """Whether it is the executor's turn that failed: by its work, or by what it carried out
        though that was forbidden."""
        return self.failure == "work" or (self.failure == "forbidden" and "executor" in self.actors)

    @property
    def actors(self) -> dict[str, PhaseRecord]:
        """Of the roles that carried out what was forbidden the first phase of each."""
        found = [p for p in reversed(self.record.phases) if p.index in self.files.forbidden]
        return {p.role: p for p in found if self.files.forbidden[p.index].allowed}

    @property
    def tried(self) -> frozenset[int]:
        """The executor's phases that tried what is forbidden, where the failure may come of it:
        not where it was stopped at something beside the work, and the work is what fails."""
        mine = {phase.index for phase in self.files.phases("executor")}
        found = {i: one for i, one in self.files.forbidden.items() if i in mine}
        return frozenset(i for i, one in found.items() if self.failure != "work" or one.of_work)

    @property
    def harmed(self) -> bool:
        """Whether the work passed before the turn of whoever judged it, and fails after it."""
        row = self.judged
        before, after = (row.grade_before, row.grade_after) if row else (None, None)
        if before is None or after is None:
            return False
        return (before.grade, after.grade) == ("pass", "fail")

    @property
    def broke(self) -> frozenset[Stage]:
        """The stages whose role broke its contract, in whatever condition."""
        return frozenset(STAGE_OF[b.role] for b in self.record.breaches if b.role in STAGE_OF)

    @cached_property
    def hops(self) -> tuple[Hop, ...]:
        return hops_of(self.files)

    @cached_property
    def recall(self) -> Recall:
        return recall_of(self.files)

    @cached_property
    def steps(self) -> tuple[StepFound, ...]:
        return steps_of(self.files)

    @property
    def planned(self) -> bool:
        return bool(self.files.phases("planner"))

    @property
    def judged(self) -> VerdictRecord | None:
        """The last verdict on the whole work."""
        return next((row for row in reversed(self.record.verdicts) if row.whole), None)

    @property
    def executor(self) -> PhaseRecord | None:
        """Its last turn."""
        return next(iter(reversed(self.files.phases("executor"))), None)

    def phase(self, index: int) -> PhaseRecord | None:
        return next((p for p in self.record.phases if p.index == index), None)

    @cached_property
    def omitted(self) -> list[str]:
        """Declared items that the plan does not tell, nor the brief, and that the executor
        did not come to of itself."""
        brief = folded(self.files.brief)
        by_brief = {item.id for item in self.record.critical if item.told_in(brief)}
        acted = self.recall.told.get("calls", frozenset())
        missing = self.recall.missing("plan")
        return [m for m in missing if m in self.recall.declared and m not in by_brief | acted]

    @cached_property
    def left_out(self) -> list[str]:
        """Declared items that the executor was told and could have done, and that nothing it did
        tells, where that tells others: what a program of its own does cannot be read."""
        acted = self.recall.told.get("calls", frozenset())
        if not acted & set(self.recall.declared):
            return []
        acted |= self.recall.against.get("calls", frozenset())  # which says more
        told = self.recall.told.get("handoff", frozenset()) - acted
        items = [item for item in self.record.critical if item.id in told]
        return [item.id for item in items if not item.told_in(self.from_unmet)]

    @cached_property
    def from_unmet(self) -> str:
        """What the plan's steps say from the first on that needs what is not there, folded."""
        return _folded(self.steps[self._unmet :])

    @cached_property
    def before_unmet(self) -> str:
        """What the steps before that one say."""
        return _folded(self.steps[: self._unmet])

    @cached_property
    def _unmet(self) -> int:
        found = (number for number, step in enumerate(self.steps) if step.lacks)
        return next(found, len(self.steps))

    @property
    def may_lack(self) -> bool:
        """Whether a step may need what was not there: by the plan's word and nothing that was
        tried, or by what the executor called and the plan does not declare."""
        untried = any(not need.tried for step in self.steps for need in step.unmet)
        return untried or any(step.missed for step in self.steps)

    @property
    def arriving(self) -> frozenset[int]:
        """The phases whose handoffs the executor had in its last turn: the last of each role."""
        last = self.executor.index if self.executor else 0
        found = {
            handed.phase.role: handed.phase.index
            for handed in self.files.handoffs
            if handed.phase.index < last and handed.phase.role in ("planner", "verifier")
        }
        return frozenset(found.values())

    @cached_property
    def known_complete(self) -> bool:
        """Whether it is known that plan and handoff told all that they had to: all declared items
        are in what the executor was shown, and none contradicted; or there was no plan, and of
        what else it was handed nothing was cut."""
        if not self.planned:
            return self.record.handoff == "full" or not self.arriving
        recall = self.recall
        told = recall.told.get("handoff", frozenset())
        brief = folded(self.files.brief)
        by_brief = {item.id for item in self.record.critical if item.told_in(brief)}
        return (
            bool(recall.declared)
            and set(recall.declared) <= told | by_brief
            and not recall.against.get("handoff")
        )

    def unresolved(self, role: str) -> Iterator[Evidence]:
        """A role's failed uses of tools that no later equal one made good, the first first."""
        found = [one for handed in self.files.of(role) for one in handed.evidence]
        for index, one in enumerate(found):
            later = found[index + 1 :]
            if not one.ok and not any(other.ok and one.asks_same(other) for other in later):
                yield one

    def checks_of(self, row: VerdictRecord) -> list[tuple[str, bool]]:
        """What the verifier of a verdict knew: its own checks as the harness saw them end, the
        last time where it ran one again, and what it says of checks itself."""
        seen = {command: one.ok for one in self._used(row) if (command := checked(one)) is not None}
        said = {str(check.get("name")): bool(check.get("ok")) for check in row.checks}
        return [*seen.items(), *said.items()]

    def looked(self, row: VerdictRecord) -> bool:
        """Whether the verifier used a tool to an end, by what the harness saw."""
        return any(one.ok for one in self._used(row))

    def _used(self, row: VerdictRecord) -> Iterator[Evidence]:
        for handed in self.files.of("verifier"):
            if handed.phase.index == row.phase:
                yield from handed.evidence


def _folded(steps: Sequence[StepFound]) -> str:
    said = [found.step.model_dump(mode="json") for found in steps]
    return folded(json.dumps(said, ensure_ascii=False))
