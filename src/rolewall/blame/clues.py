"""What the record of an episode says of who failed: one clue for each thing that speaks.

The weights are judgement, written down in ``docs/blame.md``, and nothing learns them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rolewall.blame.facts import Facts
from rolewall.blame.model import STAGE_OF, Clue
from rolewall.blame.upstream import handoff_clues, planning_clues
from rolewall.record import VerdictRecord

__all__ = ["clues_of"]

EPISODE = "episode.json"
SPENT = ("timeout", "budget", "memory", "disk")
BREACH = 0.65  # within the margin of work that fails
DOUBTFUL = 0.5  # of a capability: that it was needed is the plan's word, or that it was called
SHOWN = 120  # characters of a command


def clues_of(facts: Facts) -> tuple[Clue, ...]:
    """The heaviest first."""
    found = [clue for source in SOURCES for clue in source(facts)]
    found += _execution(facts, found)
    return tuple(sorted(found, key=lambda clue: -clue.weight))


def _grader(facts: Facts) -> Iterator[Clue]:
    error = facts.record.error
    if facts.failure == "grader" and error:
        yield Clue("grader", 1.0, f"it could not judge: {error.message}", EPISODE, "error")
    if facts.mark in ("E", "F"):
        why = f"check-grader gave it the mark {facts.mark}"
        yield Clue("grader", 0.9, why, "../../run.json", "tasks.checked")
    row = facts.judged
    if row is None or facts.mark in ("A", "B", "C"):
        return
    checks = facts.checks_of(row)
    right = row.verdict == "approve" and all(ok for _, ok in checks)
    if facts.failure == "work" and right and checks and facts.looked(row):
        why = "the verifier's own checks passed, and nobody has checked the grader"
        yield Clue("grader", 0.6, why, EPISODE, "verdicts.checks")
    if facts.failure == "verdict" and any(not ok for _, ok in checks):
        why = "a check of the verifier's fails, and nobody has checked the grader"
        yield Clue("grader", 0.5, why, EPISODE, "verdicts.checks")


def _contract(facts: Facts) -> Iterator[Clue]:
    """Where there is no wall a breach ends nothing, and need not be why the episode failed."""
    if facts.failure in ("", "infrastructure"):
        return
    for breach in facts.record.breaches:
        if stage := STAGE_OF.get(breach.role):
            why = f"{breach.kind} by {breach.role}: {breach.why}"
            weight = 0.9 if facts.failure == "contract" else BREACH
            yield Clue(stage, weight, why, EPISODE, "breaches")
    phases = facts.record.phases
    if facts.failure == "contract" and not facts.record.breaches and phases and facts.record.error:
        stage = STAGE_OF[phases[-1].role]
        yield Clue(stage, 0.9, facts.record.error.message, EPISODE, "error")


def _carried_out(facts: Facts) -> Iterator[Clue]:
    """Who else than the executor did what an open condition forbids."""
    if facts.failure != "forbidden":
        return
    for role, phase in facts.actors.items():
        if role != "executor":
            found = facts.files.forbidden[phase.index]
            why = f"the {role} carried out what an open condition forbids"
            yield Clue(STAGE_OF[role], 0.9, why, found.file, found.field)


def _capability(facts: Facts) -> Iterator[Clue]:
    if not facts.by_executor:
        return
    for step in facts.steps:
        for need in step.unmet:
            why = f"step {step.step.id} needs {need.need!r}: {need.why}"
            why += "" if need.tried else ", and did not try"
            weight = 0.85 if need.tried else DOUBTFUL
            yield Clue("capability", weight, why, f"handoffs/{step.plan.phase.name}.json",
                       f"steps.{step.step.id}.needs", step.plan.digest)  # fmt: skip
        for name in step.missed:
            why = f"step {step.step.id} speaks of {name}: the executor called it, and none started"
            yield Clue("capability", DOUBTFUL, why, f"handoffs/{step.plan.phase.name}.json",
                       f"steps.{step.step.id}.goal", step.plan.digest)  # fmt: skip
    phase = facts.executor
    if phase and phase.outcome in SPENT:
        why = f"the executor's turn ended with {phase.outcome}"
        yield Clue("capability", 0.5, why, EPISODE, f"phases.{phase.index}.outcome")


def _verification(facts: Facts) -> Iterator[Clue]:
    row = facts.judged
    if row is None:
        return
    place = f"verdicts.{facts.record.verdicts.index(row)}"
    if facts.harmed:
        why = "the work passed before the verifier's turn and fails after it"
        yield Clue("verification", 0.95, why, EPISODE, f"{place}.grade_after")
    elif facts.failure == "work" and row.verdict == "approve":
        yield _approved(facts, row, place)
    elif facts.failure == "verdict":
        yield _refused(facts, row, place)


def _approved(facts: Facts, row: VerdictRecord, place: str) -> Clue:
    checks = facts.checks_of(row)
    if failing := [name for name, ok in checks if not ok]:
        why = f"it approved though its own check failed: {failing[0][:SHOWN]}"
        return Clue("verification", 0.9, why, EPISODE, f"{place}.checks")
    claims = {str(claim.get("seen")) for claim in row.claims}
    if claims == {"no"}:
        why = "it approved, and claims commands that nobody ran"
        return Clue("verification", 0.85, why, EPISODE, f"{place}.claims")
    told = row.patterns
    if told and "yes" in (told.optimistic, told.echo):
        name = "optimistic" if told.optimistic == "yes" else "echo"
        why = f"it approved and did not look at the work ({name})"
        return Clue("verification", 0.85, why, EPISODE, f"{place}.patterns.{name}")
    why = "it approved work that fails, after what it looked at"
    return Clue("verification", 0.4, why, EPISODE, f"{place}.verdict")


def _refused(facts: Facts, row: VerdictRecord, place: str) -> Clue:
    if row.verdict == "missing":
        why = f"it gave no verdict on work that passes: {row.why[:SHOWN]}"
        return Clue("verification", 0.85, why, EPISODE, f"{place}.why")
    failing = [name for name, ok in facts.checks_of(row) if not ok]
    if failing:
        why = f"it rejected work that passes, by its own check: {failing[0][:SHOWN]}"
        return Clue("verification", 0.65, why, EPISODE, f"{place}.checks")
    why = "it rejected work that passes, and no check of its own fails"
    return Clue("verification", 0.85, why, EPISODE, f"{place}.verdict")


def _execution(facts: Facts, others: list[Clue]) -> Iterator[Clue]:
    """Looked at last: failing work speaks for the executor as far as nothing else does."""
    phase = facts.executor
    if not facts.by_executor or phase is None:
        return
    fails = "its work fails" if facts.failure == "work" else "it did what was forbidden"
    upstream = [c.weight for c in others if c.stage in ("planning", "handoff", "capability")]
    stamped = any(c.stage == "verification" and c.weight >= 0.8 for c in others)
    if upstream and max(upstream) >= 0.75:
        yield Clue("execution", 0.4, fails, EPISODE, "grade")
    elif stamped or (upstream and max(upstream) >= 0.5):
        yield Clue("execution", 0.55, fails, EPISODE, "grade")
    elif facts.known_complete:
        why = f"{fails}, and all that is known to matter was told to it"
        yield Clue("execution", 0.6, why, EPISODE, "grade")
        if facts.planned:
            why = f"{fails}, and the plan may lack what nobody has declared"
            yield Clue("planning", 0.45, why, EPISODE, "grade")
    else:
        why = f"{fails}, and nobody has said what the plan had to tell"
        yield Clue("execution", 0.5, why, EPISODE, "grade")
        yield Clue("planning", 0.45, why, EPISODE, "grade")
    yield from _own_faults(facts)


def _own_faults(facts: Facts) -> Iterator[Clue]:
    phase = facts.executor
    assert phase is not None
    handed = next(iter(reversed(facts.files.of("executor"))), None)
    if phase.outcome in ("failed", "violation"):
        why = f"its turn ended with {phase.outcome}"
        yield Clue("execution", 0.7, why, EPISODE, f"phases.{phase.index}.outcome")
    failed = next(facts.unresolved("executor"), None)
    if failed and handed:
        said = str(failed.arguments.get("command", failed.tool))[:SHOWN]
        why = f"the first failed step that nothing made good: {failed.id}: {said}"
        yield Clue("execution", 0.6, why, f"handoffs/{handed.phase.name}.json",
                   f"evidence.{failed.id}", handed.digest)  # fmt: skip
    for name in facts.left_out:
        why = f"it was told {name}, and nothing that it did says it"
        yield Clue("execution", 0.7, why, EPISODE, f"critical.{name}")
    acted, shown = facts.recall.against.get("calls"), facts.recall.against.get("handoff")
    for name in sorted((acted or frozenset()) - (shown or frozenset())):
        if name in facts.recall.told.get("handoff", frozenset()):
            why = f"it was told {name}, and did what contradicts it"
            yield Clue("execution", 0.85, why, EPISODE, f"critical.{name}")
    yield from _forbidden(facts)


def _forbidden(facts: Facts) -> Iterator[Clue]:
    """What it tried though an open condition forbids it, and it was told of that."""
    lost = {f.id for hop in facts.hops for f in hop.lost if f.item == "condition"}
    for index in sorted(facts.tried):
        phase, found = facts.phase(index), facts.files.forbidden[index]
        if phase is None or not facts.planned:
            continue
        names = {name for names in phase.held.values() for name in names}
        if names and not names & lost:
            told = ", ".join(sorted(names))
            why = f"it tried what an open condition forbids, and was told of it: {told}"
            yield Clue("execution", 0.85, why, found.file, found.field)


SOURCES: tuple[Callable[[Facts], Iterator[Clue]], ...] = (
    _grader,
    _contract,
    _carried_out,
    planning_clues,
    handoff_clues,
    _capability,
    _verification,
)
