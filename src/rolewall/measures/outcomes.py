"""Who repaired and who harmed, and what was claimed beside what was done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rolewall.graders import Rate
from rolewall.measures.files import EpisodeFiles
from rolewall.record import EpisodeRecord, GradeRecord
from rolewall.roles import Evidence, claim_seen

__all__ = ["Claims", "Turned", "checked", "claims_of", "turned_by"]

CHECKS = "rolewall-check"

_LEFT = ("", "handoff.json", "verdict.json")  # a zone itself, and what every role leaves


@dataclass(frozen=True)
class Turned:
    """What a role made of work as its grades tell: of ``repair.of`` failing ones it turned
    ``repair.count`` into passing ones, of ``harm.of`` passing ones ``harm.count`` into
    failing ones."""

    role: str
    repair: Rate
    harm: Rate


def turned_by(record: EpisodeRecord) -> tuple[Turned, ...]:
    """By role. The executor's turn is from one round's grade to the next one's; a planner that
    plans anew shares that of its round; a verifier's is within its own phase."""
    found: dict[str, list[tuple[str, str]]] = {}
    for role, before, after in _turns(record):
        if before.grade != "error" and after.grade != "error":
            found.setdefault(role, []).append((before.grade, after.grade))
    return tuple(
        Turned(
            role,
            Rate(pairs.count(("fail", "pass")), sum(b == "fail" for b, _ in pairs)),
            Rate(pairs.count(("pass", "fail")), sum(b == "pass" for b, _ in pairs)),
        )
        for role, pairs in found.items()
    )


def _turns(record: EpisodeRecord) -> Iterator[tuple[str, GradeRecord, GradeRecord]]:
    last: GradeRecord | None = None
    planned = {phase.round for phase in record.phases if phase.role == "planner"}
    for row in record.verdicts:
        if row.grade_before and last:
            yield "executor", last, row.grade_before
            if row.round in planned and not row.step:
                yield "planner", last, row.grade_before
        if row.grade_before and row.grade_after:
            yield "verifier", row.grade_before, row.grade_after
        last = row.grade_after or last


@dataclass(frozen=True)
class Claims:
    """``unexecuted``: commands that verdicts claim and nobody ran, of those of which it is
    known; ``unclaimed``: checks that ran and no verdict names, of all that ran. ``absent``:
    artifacts that handoffs name and that are not there, of all named; ``unnamed``: files that
    a role changed in its zones and its handoff does not name, of all changed by roles whose
    handoff names any."""

    unexecuted: Rate
    unclaimed: Rate
    absent: Rate
    unnamed: Rate


def claims_of(files: EpisodeFiles) -> Claims:
    seen = [c.get("seen") for row in files.record.verdicts for c in row.claims]
    known = [word for word in seen if word in ("yes", "no")]
    ran = list(_checks(files))
    unclaimed = sum(not claimed for claimed in ran)
    named = [a for handed in files.handoffs for a in handed.whole.artifacts]
    changed = list(_changed(files))
    return Claims(
        unexecuted=Rate(known.count("no"), len(known)),
        unclaimed=Rate(unclaimed, len(ran)),
        absent=Rate(sum(a.sha256 is None for a in named), len(named)),
        unnamed=Rate(sum(not told for told in changed), len(changed)),
    )


def _checks(files: EpisodeFiles) -> Iterator[bool]:
    """Of each check of a verifier's, whether its verdict names it."""
    rows = {row.phase: row for row in files.record.verdicts}
    for handed in files.of("verifier"):
        row = rows.get(handed.phase.index)
        claims = [str(claim.get("command")) for claim in row.claims] if row else []
        for one in handed.evidence:
            if (command := checked(one)) is not None:
                argv = ("/bin/sh", "-c", command)
                yield any(claim == command or claim_seen(claim, [argv]) for claim in claims)


def checked(one: Evidence) -> str | None:
    """The command of a use of a tool that went to the check box; None for any other."""
    command = str(one.arguments.get("command", ""))
    return command if one.tool == "check" or command.lstrip().startswith(CHECKS) else None


def _changed(files: EpisodeFiles) -> Iterator[bool]:
    """Of each file that a role changed in its own zones, whether its handoff names it."""
    for handed in files.handoffs:
        named = {(a.zone, a.path) for a in handed.whole.artifacts}
        for change in handed.phase.changes if named else ():
            own = not (change.cross_role or change.incidental)
            if own and change.change != "deleted" and change.path not in _LEFT:
                yield (change.zone, change.path) in named
