"""The first question: can I trust the verifier?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rolewall.clusterrates import Rate
from rolewall.errors import InputError
from rolewall.figures import limit_text, rate_text
from rolewall.gate import Rules, decide
from rolewall.pooling import false_approvals
from rolewall.report.calibrated import calibrated
from rolewall.report.groups import Group
from rolewall.report.model import Cell, Links, Plot, Section, Table
from rolewall.report.plots import Mark, rates_plot
from rolewall.report.rates import rates_table
from rolewall.rows import Row
from rolewall.rundir import Run
from rolewall.tally import errored
from rolewall.terminal import counted

__all__ = ["trust_section"]

NONE = Cell("-")
MARKS = 24  # lines of one picture
PAIRS = (
    ("approve", "pass", "approved, passes"),
    ("approve", "fail", "approved, fails: false approval"),
    ("reject", "pass", "rejected, passes: false rejection"),
    ("reject", "fail", "rejected, fails: caught"),
    ("missing", "pass", "no verdict, passes"),
    ("missing", "fail", "no verdict, fails"),
)

PATTERNS = "Patterns of the verifier, in episodes, by what it did"
WORDS = {
    "optimistic": "approved what it neither read nor ran",
    "echo": "repeated the executor's report",
    "rewrite": "edited the work",
}


def trust_section(
    groups: Sequence[Group], run: Run | None, links: Links, limit: float | None
) -> Section:
    """``limit`` is the false-approval rate that the gate is asked to accept.

    Raises InputError where it is no such rate.
    """
    rules = None if limit is None else Rules(max_false_approval=limit)
    judged = [g for g in groups if g.judged]
    own = calibrated(run, groups, links)
    answers = [*own.answers()] if own else []
    told = [g for g in groups if not (own and g.graded)]
    answers += [words for group in told for words in _answer(group)]
    if rules is not None:
        answers += [words for group in groups if group.verified for words in _gate(group, rules)]
    parts: list[Table | Plot] = [*own.tables()] if own else []
    if marks := [mark for group in judged[:MARKS] for mark in _mark(group)]:
        parts.append(rates_plot("rates", marks, limit))
    if groups:
        parts.append(_grid(groups, links))
    if judged:
        parts.append(rates_table(judged, links))
    if patterns := list(_patterns(judged, links)):
        names = tuple(g.name for g in judged)
        parts.append(Table(PATTERNS, "a verifier's phase is", names, tuple(patterns)))
    return Section("trust", "Can I trust the verifier?", tuple(answers), tuple(parts))


def _answer(group: Group) -> Iterator[str]:
    name = group.name
    if not group.rows:
        yield f"{name}: no episode was evaluated. This is not a pass."
    elif not group.verified:
        yield f"{name}: no verifier takes part, so there is no verdict to trust or to doubt."
    elif not group.graded:
        errors = counted(len(group.rows), "episode")
        yield f"{name}: all of {errors} ended in error, which says nothing of the verifier."
    else:
        if group.judged:
            yield f"{name}: {_approvals(group.judged)}"
        if group.unverified:
            yield f"{name}: {_apart(group)}"


def _apart(group: Group) -> str:
    of = counted(len(group.graded), "episode")
    words = f"in {len(group.unverified)} of {of} no verifier takes part; "
    if group.judged:
        return f"{words}what is said of verdicts is of the others alone."
    return f"{words}those that have one ended in error, which says nothing of it."


def _approvals(graded: Sequence[Row]) -> str:
    failing = [r for r in graded if r.grade == "fail"]
    silent = sum(r.verdict == "missing" for r in graded)
    if silent == len(graded):
        return f"the verifier gave no verdict in any of {counted(silent, 'episode')}."
    if not failing:
        words = "there was no failing work; whether it approves broken work is not known."
    else:
        rate = false_approvals(graded).excluded
        of = counted(rate.total, "piece")
        words = f"approved {rate.events} of {of} of failing work that it judged"
        words += f", {_percents(rate)}." if rate.total else "."
        if mute := sum(r.verdict == "missing" for r in failing):
            words += f" On {mute} more it gave no verdict."
    if not any(r.verdict == "approve" for r in graded):
        words += " It approved nothing at all, which is no skill."
    elif len(failing) == len(graded):
        words += " There was no passing work; whether it approves what is right is not known."
    return words


def _percents(rate: Rate) -> str:
    """As ``rate_text``, without the counts."""
    return rate_text(rate).partition(" ")[2]


def _gate(group: Group, rules: Rules) -> Iterator[str]:
    asked = f"Gate at {limit_text(rules.max_false_approval or 0.0)}, {group.name}"
    try:
        decision = decide(group.rows, rules, group.condition, absent=group.absent)
    except InputError as error:
        yield f"{asked}: no decision: {error}."
        return
    yield f"{asked}: {decision.status}: {decision.reasons[0]}."


def _grid(groups: Sequence[Group], links: Links) -> Table:
    """Verdict beside grade, with what is in no rate."""
    lines: list[tuple[str, tuple[Cell, ...]]] = []
    for verdict, grade, words in PAIRS:
        found = [[r for r in g.judged if (r.verdict, r.grade) == (verdict, grade)] for g in groups]
        cells = tuple(
            _count(g, links, words, rows) if g.verified else NONE
            for g, rows in zip(groups, found, strict=True)
        )
        lines.append((words, cells))
    if any(g.unverified for g in groups):
        cells = tuple(_count(g, links, "no verifier", g.unverified) for g in groups)
        lines.append(("no verifier: in no rate of verdicts", cells))
    passing = [[r for r in g.graded if r.grade == "pass"] for g in groups]
    lines.append(
        ("passes", tuple(_count(g, links, "passes", rows)
                         for g, rows in zip(groups, passing, strict=True)))
    )  # fmt: skip
    wrong = [[r for r in g.rows if errored(r)] for g in groups]
    lines.append(
        ("error: in no rate", tuple(_count(g, links, "error", rows)
                                    for g, rows in zip(groups, wrong, strict=True)))
    )  # fmt: skip
    if any(g.apart for g in groups):
        cells = tuple(_count(g, links, "kept apart", list(g.apart)) for g in groups)
        lines.append(("kept apart: untouched, their twins, or graded anew otherwise", cells))
    if any(g.planned for g in groups):
        lines.append(("planned, without a record", tuple(Cell(str(g.absent)) for g in groups)))
    return Table(
        "Verdict beside grade, in episodes", "verdict, grade", tuple(g.name for g in groups),
        tuple(lines),
    )  # fmt: skip


def _count(group: Group, links: Links, words: str, rows: list[Row]) -> Cell:
    return links.cell(str(len(rows)), f"{group.name}: {words}", rows)


def _patterns(groups: Sequence[Group], links: Links) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """How often each pattern was found, of the episodes in which it could be told."""
    for name, words in WORDS.items():
        cells = []
        for group in groups:
            told = [row for row in group.judged if getattr(row, name) is not None]
            found = [row for row in told if getattr(row, name)]
            title = f"{group.name}: {name}"
            text = f"{len(found)}/{len(told)}" if told else "cannot be told"
            cells.append(links.cell(text, title, found))
        if any(cell.text != "cannot be told" for cell in cells):
            yield f"{name}: {words}", tuple(cells)


def _mark(group: Group) -> Iterator[Mark]:
    rates = false_approvals(group.graded)
    found = rates.excluded
    if found.rate is not None and found.interval is not None:
        yield Mark(
            group.name,
            rate_text(found),
            found.rate,
            found.interval.low,
            found.interval.high,
            rates.as_reject.rate,
            rates.as_approval.rate,
        )
