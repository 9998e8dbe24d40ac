"""From a data set to what the report says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rolewall.gradernotes import grader_notes
from rolewall.records import Dataset
from rolewall.report.effect import effect_section
from rolewall.report.groups import Group, groups_of
from rolewall.report.handed import handed_section
from rolewall.report.model import Links, Report
from rolewall.report.spent import spent_section
from rolewall.report.staying import staying_section
from rolewall.report.telling import pick, telling_section
from rolewall.report.trust import trust_section
from rolewall.rundir import Run
from rolewall.terminal import counted, listed

__all__ = ["build_report"]

GROUPS = 16  # conditions and sources that have columns of their own


def build_report(found: Dataset, title: str = "", limit: float | None = None) -> Report:
    """What a report on ``found`` says.

    Args:
        title: in place of the team's name.
        limit: the highest false-approval rate for the gate to accept; None asks no gate.

    Raises:
        RecordError: evidence of an episode is not what its record has.
        InputError: ``limit`` is no such rate.
    """
    every = groups_of(found)
    groups = every[:GROUPS]
    by_key = {row.key: row for row in found.rows if row.key}
    links, picks = Links(), pick(every)
    sections = (
        trust_section(groups, found.run, links, limit),
        staying_section(groups, found.run, by_key, links),
        effect_section(groups, links),
        telling_section(picks, links),
        *filter(None, (handed_section(found.run),)),
        spent_section(groups, found.run),
    )
    return Report(
        title=title or _title(found),
        facts=tuple(_facts(found, every)),
        sections=sections,
        picks=picks,
        sets=tuple(links.sets.values()),
        how="`rolewall show RUN TASK:CONDITION:TRIAL`"
        if found.run
        else "the records themselves, which have no timeline of an episode",
        full=found.run is not None,
    )


def _title(found: Dataset) -> str:
    teams = sorted({row.source.team for row in found.rows if row.source.team})
    if found.run:
        teams = [found.run.info.team]
    return f"Team {teams[0]}" if len(teams) == 1 else "Verifiers and their teams"


def _facts(found: Dataset, groups: Sequence[Group]) -> Iterator[str]:
    rows = found.rows
    tasks = len({row.task for row in rows})
    yield f"{counted(len(rows), 'episode')} of {counted(tasks, 'task')}."
    if not rows:
        yield "No episode was evaluated: this is not a pass."
    if found.run is not None:
        yield from _run_facts(found.run)
    else:
        yield "Records of another harness, or without their run: no ledger, no timeline, no diffs."
    if len(groups) > GROUPS:
        left = [group.name for group in groups[GROUPS:]]
        yield f"Conditions without columns of their own: {listed(left, GROUPS)}."


def _run_facts(run: Run) -> Iterator[str]:
    info = run.info
    created = datetime.fromtimestamp(info.created, UTC).strftime("%Y-%m-%d %H:%M UTC")
    yield (
        f"Run of {created} by rolewall {info.rolewall}: {counted(info.trials, 'trial')},"
        f" {info.backend}, image {info.image}, seed {info.seed}, observed: {info.observe}."
    )
    if run.missing:
        yield (
            f"Incomplete: {len(run.records)} of {info.planned} planned episodes have a record."
            " The same `rolewall run` goes on."
        )
    if info.plan:
        yield (
            f"Begun with plan {info.plan.name} sha256:{info.plan.sha256}. What follows tests as"
            " without a plan; `rolewall compare RUN` holds the comparison to it."
        )
    seal = run.seal
    yield f"Seal sha256:{seal}." if seal else "The run is not sealed as a whole."
    graders = Counter(record.trust for record in run.records)
    if graders["untrusted"]:
        yield (
            f"{counted(graders['untrusted'], 'grade')} by an untrusted grader, which runs code"
            " that roles could write."
        )
    for note in grader_notes(info):
        yield f"{note[0].upper()}{note[1:]}."
