"""The first question: can I trust the verifier?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rolewall.errors import InputError
from rolewall.figures import percent, rate_text
from rolewall.gate import Rules, decide
from rolewall.report.calibrated import calibrated
from rolewall.report.groups import Group
from rolewall.report.model import Cell, Links, Plot, Section, Table
from rolewall.report.plots import Mark, rates_plot
from rolewall.rows import Row
from rolewall.rundir import Run
from rolewall.tally import (
    FalseApprovals,
    Informedness,
    Measures,
    Rate,
    errored,
    false_approvals,
    measures,
    passes,
)
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

Measured = tuple[Group, FalseApprovals, Measures]
RateOf = Callable[[FalseApprovals, Measures], Rate]
WRONG = "approve fail, reject pass, missing pass, missing fail"
# What it is, the verdicts and grades in its numerator, and where it is found.
RATES: tuple[tuple[str, str, RateOf], ...] = (
    ("false approval, of verdicts on failing work", "approve fail", lambda f, m: f.excluded),
    ("… missing verdicts as rejects", "approve fail", lambda f, m: f.as_reject),
    ("… missing verdicts as false approvals", "approve fail, missing fail",
     lambda f, m: f.as_approval),
    ("verifier failure (wrong or none), of all", WRONG, lambda f, m: f.verifier_failure),
    ("catch rate, of verdicts on failing work", "reject fail", lambda f, m: m.catch),
    ("false rejection, of verdicts on passing work", "reject pass",
     lambda f, m: m.false_rejection),
    ("precision: passing work, of approvals", "approve pass", lambda f, m: m.precision),
    ("accuracy: right verdicts, of all verdicts", "approve pass, reject fail",
     lambda f, m: m.accuracy),
)  # fmt: skip
PATTERNS = "Patterns of the verifier, in episodes, by what it did"
WORDS = {
    "optimistic": "approved what it neither read nor ran",
    "echo": "repeated the executor's report",
    "rewrite": "edited the work",
}
NOTES = (
    "k/n, per cent, and Wilson's interval; where trials of a task repeat one another, on the"
    " effective number of episodes. 0/0 has no rate.",
    "Informedness is 1 for a verifier that is always right and 0 for one that tells nothing apart.",
)


def trust_section(
    groups: Sequence[Group], run: Run | None, links: Links, limit: float | None
) -> Section:
    """``limit`` is the false-approval rate that the gate is asked to accept.

    Raises InputError where it is no such rate.
    """
    rules = None if limit is None else Rules(max_false_approval=limit)
    judged = [g for g in groups if g.verified and g.graded]
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
        parts.append(_rates(judged, links))
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
        yield f"{name}: {_approvals(group)}"


def _approvals(group: Group) -> str:
    graded = group.graded
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
    asked = f"Gate at {percent(rules.max_false_approval or 0.0)}, {group.name}"
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
        found = [[r for r in g.graded if (r.verdict, r.grade) == (verdict, grade)] for g in groups]
        cells = tuple(
            _count(g, links, words, rows) if g.verified else NONE
            for g, rows in zip(groups, found, strict=True)
        )
        lines.append((words, cells))
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
        lines.append(("kept apart: untouched, or graded anew otherwise", cells))
    if any(g.planned for g in groups):
        lines.append(("planned, without a record", tuple(Cell(str(g.absent)) for g in groups)))
    return Table(
        "Verdict beside grade, in episodes", "verdict, grade", tuple(g.name for g in groups),
        tuple(lines),
    )  # fmt: skip


def _count(group: Group, links: Links, words: str, rows: list[Row]) -> Cell:
    return links.cell(str(len(rows)), f"{group.name}: {words}", rows)


def _rates(groups: Sequence[Group], links: Links) -> Table:
    found = [(g, false_approvals(g.graded), measures(g.graded)["excluded"]) for g in groups]
    lines = [(words, tuple(_cell(words, pairs, rate, one, links) for one in found))
             for words, pairs, rate in RATES]  # fmt: skip
    informed = tuple(Cell(_informed(m.informedness)) for _, _, m in found)
    passing = tuple(
        links.cell(rate_text(passes(g.graded)), f"{g.name}: passes",
                   [r for r in g.graded if r.grade == "pass"])
        for g in groups
    )  # fmt: skip
    lines += [("informedness: catch rate less false rejection", informed),
              ("passing work, of all", passing)]  # fmt: skip
    return Table("Rates, with 95 % intervals", "rate", tuple(g.name for g in groups),
                 tuple(lines), NOTES)  # fmt: skip


def _cell(words: str, pairs: str, rate: RateOf, found: Measured, links: Links) -> Cell:
    """One rate of one group, which leads to the episodes in its numerator."""
    group, false, measured = found
    behind = [r for r in group.graded if f"{r.verdict} {r.grade}" in pairs.split(", ")]
    return links.cell(rate_text(rate(false, measured)), f"{group.name}: {words}", behind)


def _patterns(groups: Sequence[Group], links: Links) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """How often each pattern was found, of the episodes in which it could be told."""
    for name, words in WORDS.items():
        cells = []
        for group in groups:
            told = [row for row in group.graded if getattr(row, name) is not None]
            found = [row for row in told if getattr(row, name)]
            title = f"{group.name}: {name}"
            text = f"{len(found)}/{len(told)}" if told else "cannot be told"
            cells.append(links.cell(text, title, found))
        if any(cell.text != "cannot be told" for cell in cells):
            yield f"{name}: {words}", tuple(cells)


def _informed(found: Informedness) -> str:
    if found.value is None or found.interval is None:
        return "-"
    return f"{found.value:+.2f} [{found.interval.low:+.2f}, {found.interval.high:+.2f}]"


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
