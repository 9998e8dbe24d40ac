"""What a record says at its head, held against its own phases and verdicts.

Every reader and the writer of a record refuse one that contradicts itself.
Whoever changes head and rows alike is not found here, but by the episode's seal.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rolewall.candidate import CALIBRATE, condition_of
from rolewall.policies import HARNESS, HAS_VERIFIER

if TYPE_CHECKING:
    from rolewall.record import EpisodeRecord, PhaseRecord

__all__ = ["contradictions"]

HEAD = re.compile("[0-9a-f]{64}")
# A phase of which no command ran, or whose program could not be started.
UNSTARTED = (None, 126, 127)


def contradictions(record: EpisodeRecord) -> Iterator[str]:
    """Each place where a record contradicts itself, in words.

    A record of an episode that infrastructure ended may stop anywhere; what it
    holds must agree all the same.
    """
    yield from _headline(record)
    yield from _verifier(record)
    yield from _candidate(record)
    yield from _standing(record)
    yield from _rows(record)
    yield from _sums(record)
    yield from _said_of_conditions(record)
    for phase in record.phases:
        yield from _changes(phase)
    if record.status == "complete":
        yield from _ledger(record)
        if absent := {"task", "team", "code"} - record.digests.keys():
            yield f"its digests lack {', '.join(sorted(absent))}"


def _headline(record: EpisodeRecord) -> Iterator[str]:
    last = record.verdicts[-1] if record.verdicts else None
    final = record.last_grade
    for name, head, row in (
        ("verdict", record.verdict, last.verdict if last else "missing"),
        ("grade", record.grade, final.grade if final else "error"),
    ):
        if head != row:
            source = "its last verdict row" if record.verified else "a record without verifier"
            yield f"its headline {name} is {head}, {source} makes it {row}"
    isolated = all(row.isolated for row in record.verdicts)
    if record.isolated != isolated:
        yield f"its headline isolated is {record.isolated}, its verdict rows make it {isolated}"
    rows = [(row.grade_before, row.grade_after) for row in record.verdicts]
    grades = [g for g in (*itertools.chain(*rows), record.final) if g]
    for trust in sorted({g.trust for g in grades} - {record.trust}):
        source = "a grade of its verdict rows" if record.verified else "its final grade"
        yield f"its headline trust is {record.trust}, {source} makes it {trust}"


def _verifier(record: EpisodeRecord) -> Iterator[str]:
    """Whether there is a verifier is the condition's, and no choice of an episode."""
    has = HAS_VERIFIER.get(record.condition)
    if has not in (None, record.verified):
        yield f"verified is {record.verified}, condition {record.condition} makes it {has}"
    if record.verified:
        if record.final is not None:
            yield "it has a verifier, and a final grade beside its verdict rows"
        return
    if record.verdicts:
        yield f"it has no verifier and {len(record.verdicts)} verdict rows"
    for phase in record.phases:
        if phase.role == "verifier":
            yield f"it has no verifier, and phase {phase.index} is a verifier's"


def _candidate(record: EpisodeRecord) -> Iterator[str]:
    """In a calibration the verifier alone plays, under the condition of the report it gets."""
    if record.candidate is None:
        if record.condition.startswith(CALIBRATE):
            yield f"condition {record.condition} without a candidate"
        return
    if record.condition != (made := condition_of(record.candidate.report)):
        yield f"its condition is {record.condition}, its candidate's report makes it {made}"
    for phase in record.phases:
        if phase.role != "verifier":
            yield f"it judges a candidate, and phase {phase.index} is a {phase.role}'s"


def _standing(record: EpisodeRecord) -> Iterator[str]:
    if (record.status == "error") != (record.error is not None):
        named = record.error.kind if record.error else "none"
        yield f"its status is {record.status}, its error {named}"
    if record.grade == "error" and record.status == "complete":
        yield "its status is complete, its grade error"


def _rows(record: EpisodeRecord) -> Iterator[str]:
    if [phase.index for phase in record.phases] != list(range(len(record.phases))):
        yield "its phases are not numbered in order"
    if record.status != "complete":
        return
    verifying = [(p.index, p.round) for p in record.phases if p.role == "verifier"]
    rows = [(row.phase, row.round) for row in record.verdicts]
    for phase, round_ in rows:
        if (phase, round_) not in verifying:
            yield f"no phase of a verifier is phase {phase} in round {round_}"
    for phase, round_ in verifying:
        if (found := rows.count((phase, round_))) != 1:
            yield f"phase {phase} of a verifier has {found} verdict rows"


def _said_of_conditions(record: EpisodeRecord) -> Iterator[str]:
    """What is said of a condition is said in the handoff of a phase, or by the task."""
    handoffs: dict[tuple[int | None, str], str | None] = {(None, HARNESS): ""}
    handoffs |= {(phase.index, phase.role): phase.handoff for phase in record.phases}
    # An episode that infrastructure ended may have sealed a handoff whose phase has no row.
    unfinished = len(record.phases) if record.status == "error" else -1
    for event in record.conditions:
        if event.phase == unfinished:
            continue
        if handoffs.get((event.phase, event.role)) != event.seal:
            where = "the task" if event.phase is None else f"phase {event.phase}"
            yield f"condition {event.condition} is {event.event} by no handoff of {where}"


def _sums(record: EpisodeRecord) -> Iterator[str]:
    phases: dict[str, Counter[str]] = defaultdict(Counter)
    for phase in record.phases:
        phases[phase.role].update(phase.attempts.model_dump())
    for role in sorted({*record.attempts, *phases}):
        by_role = record.attempts[role].model_dump() if role in record.attempts else {}
        for name in sorted({*by_role, *phases[role]}):
            mine, theirs = by_role.get(name, 0), phases[role][name]
            if mine != theirs:
                yield f"{name} of {role} is {mine} by role and {theirs} by phase"


def _changes(phase: PhaseRecord) -> Iterator[str]:
    crossed = [c for c in phase.changes if c.cross_role]
    landed = len({(c.zone, c.path) for c in crossed if not c.incidental})
    counted = phase.changed
    listed, total = len(phase.changes), counted.own + counted.cross_role
    if listed + phase.changes_omitted != total:
        yield (
            f"phase {phase.index} lists {listed} changes, omits {phase.changes_omitted}"
            f" and counts {total}"
        )
    whole = phase.changes_omitted == 0
    for name, has, says in (
        ("cross-role", len(crossed), counted.cross_role),
        ("landed", landed, counted.landed),
    ):
        if has > says or (whole and has < says):
            yield f"phase {phase.index} lists {has} {name} changes and counts {says}"
    if counted.landed > counted.cross_role:
        yield f"phase {phase.index} counts more landed changes than cross-role ones"


def _ledger(record: EpisodeRecord) -> Iterator[str]:
    if not HEAD.fullmatch(record.ledger_head):
        yield f"its ledger's head is {record.ledger_head or 'none'}, no SHA-256"
    ran = any(phase.returncode not in UNSTARTED for phase in record.phases)
    if ran and not record.ledger_lines:
        yield "programs ran and its ledger has no line"
