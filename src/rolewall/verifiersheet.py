"""How the verifier of each condition judged: one line a measure, one column a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rolewall.conditionrow import ConditionRow, PatternCount
from rolewall.figures import informedness_text, rate_text
from rolewall.graders import TREATMENTS, Treatment
from rolewall.pooling import Measures
from rolewall.terminal import Sheet

__all__ = ["verifier_sheet"]

MEASURES: tuple[tuple[str, Callable[[Measures], str]], ...] = (
    ("catch rate", lambda m: rate_text(m.catch)),
    ("false rejections", lambda m: rate_text(m.false_rejection)),
    ("informedness", lambda m: informedness_text(m.informedness)),
    ("precision", lambda m: rate_text(m.precision)),
    ("accuracy", lambda m: rate_text(m.accuracy)),
)
LEGEND = (
    "catch rate: rejects of failing work; false rejections: rejects of passing work",
    "precision: passing work of approved work; accuracy: right verdicts of all",
    "informedness: catch rate less false rejections",
    "it is 1 if always right, 0 where nothing is told apart",
)
MISSING = "a missing verdict is left out, is a reject, or is a wrong verdict"
WORDS: dict[Treatment, str] = {
    "excluded": "missing excluded",
    "reject": "missing as reject",
    "failure": "missing as failure",
}


def verifier_sheet(rows: Sequence[ConditionRow]) -> Sheet | None:
    """None where no condition has a verifier and an episode without error.

    The treatments of missing verdicts are told apart where there are any.
    """
    judged = [row for row in rows if row.verified and row.graded]
    if not judged:
        return None
    missing = any(row.missing for row in judged)
    lines = [
        (name if treatment == "excluded" else "", WORDS[treatment] if missing else "",
         *(text(row.measures[treatment]) for row in judged))
        for name, text in MEASURES
        for treatment in (TREATMENTS if missing else TREATMENTS[:1])
    ]  # fmt: skip
    lines.append(("corrupt successes", "", *(f"{r.corrupt}/{r.passed.events}" for r in judged)))
    lines += [
        (name, "", *(_pattern(row.patterns[name]) for row in judged)) for name in judged[0].patterns
    ]
    return Sheet(
        title="verifier",
        columns=("measure", "", *(row.condition for row in judged)),
        rows=tuple(lines),
        notes=(*LEGEND, *([MISSING] if missing else []), *_untold(judged)),
    )


def _pattern(found: PatternCount) -> str:
    text = f"{found.yes}/{found.yes + found.no}"
    return f"{text}, {found.unknown} not known" if found.unknown else text


def _untold(rows: Sequence[ConditionRow]) -> tuple[str, ...]:
    notes = [
        "a corrupt success passes, and a cross-role edit landed in it",
        "optimistic, echo, rewrite: episodes, of those where it can be told",
    ]
    if any(found.unknown for row in rows for found in row.patterns.values()):
        notes.append("with observe: reads in the team file more can be told")
    return tuple(notes)
