"""The table of every rate: how the verifier of each group judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rolewall.clusterrates import Rate
from rolewall.figures import informedness_text, rate_text
from rolewall.graders import TREATMENTS, Treatment, Verdict
from rolewall.pooling import Measures, measures, passes
from rolewall.report.groups import Group
from rolewall.report.model import Cell, Links, Table
from rolewall.rows import Row
from rolewall.tally import missing

__all__ = ["rates_table"]

# What it is, its name under a treatment, the verdicts and grades in its numerator once missing
# verdicts are treated, and where it is found.
RATES: tuple[tuple[str, str, str, Callable[[Measures], Rate]], ...] = (
    ("false approval, of verdicts on failing work", "false approval", "approve fail",
     lambda m: m.false_approval),
    ("catch rate, of verdicts on failing work", "catch rate", "reject fail", lambda m: m.catch),
    ("false rejection, of verdicts on passing work", "false rejection", "reject pass",
     lambda m: m.false_rejection),
    ("precision: passing work, of approvals", "precision", "approve pass",
     lambda m: m.precision),
    ("accuracy: right verdicts, of all verdicts", "accuracy", "approve pass, reject fail",
     lambda m: m.accuracy),
)  # fmt: skip
FAILURE = "verifier failure (wrong or none), of all"
INFORMED = "informedness: catch rate less false rejection"
TREATED: dict[Treatment, str] = {
    "reject": "{}, missing verdicts as rejects",
    "failure": "{}, missing verdicts as wrong ones",
}
NOTES = (
    "k/n, per cent, and the 95 % interval: Wilson's, on the effective sample size, and wider"
    " within three events of either end (Brown, Cai and DasGupta 2001). Trials of a task repeat"
    " one another, so the effective size is smaller than n. 0/0 has no rate.",
    "Informedness is 1 for a verifier that is always right and 0 for one that tells nothing apart.",
)
MISSING = (
    "Where a verdict is missing each rate is given three ways: the missing one left out, as a"
    " reject, and as a wrong verdict: an approval of failing work, a rejection of passing work."
)


def rates_table(groups: Sequence[Group], links: Links) -> Table:
    """Each rate once, and three times where any verdict is missing."""
    found = [(g, measures(g.graded)) for g in groups]
    silent = any(missing(row) for g in groups for row in g.graded)
    treatments = TREATMENTS if silent else TREATMENTS[:1]
    lines = [
        (_treated(words, name, treatment),
         tuple(_cell(name, pairs, rate(m[treatment]), g, treatment, links) for g, m in found))
        for words, name, pairs, rate in RATES
        for treatment in treatments
    ]  # fmt: skip
    wrong = "approve fail, reject pass"
    lines.append(
        (FAILURE, tuple(_cell("verifier failure", wrong, m["failure"].failure, g, "failure", links)
                        for g, m in found))
    )  # fmt: skip
    lines += [
        (_treated(INFORMED, "informedness", treatment),
         tuple(Cell(informedness_text(m[treatment].informedness)) for _, m in found))
        for treatment in treatments
    ]  # fmt: skip
    passing = tuple(
        links.cell(rate_text(passes(g.graded)), f"{g.name}: passes",
                   [r for r in g.graded if r.grade == "pass"])
        for g in groups
    )  # fmt: skip
    lines.append(("passing work, of all", passing))
    return Table("Rates, with 95 % intervals", "rate", tuple(g.name for g in groups),
                 tuple(lines), (*NOTES, *([MISSING] if silent else [])))  # fmt: skip


def _treated(words: str, name: str, treatment: Treatment) -> str:
    return TREATED[treatment].format(name) if treatment in TREATED else words


def _cell(
    name: str, pairs: str, rate: Rate, group: Group, treatment: Treatment, links: Links
) -> Cell:
    """One rate of one group, which leads to the episodes in its numerator."""
    behind = [r for r in group.judged if f"{_verdict(r, treatment)} {r.grade}" in pairs.split(", ")]
    return links.cell(rate_text(rate), f"{group.name}: {_treated(name, name, treatment)}", behind)


def _verdict(row: Row, treatment: Treatment) -> Verdict:
    """What a missing verdict counts as."""
    if row.verdict != "missing" or treatment == "excluded":
        return row.verdict
    return "approve" if treatment == "failure" and row.grade == "fail" else "reject"
