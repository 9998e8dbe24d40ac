"""A decision as Markdown, for the summary of a GitHub step."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from rolewall.decision import Decision, Measure
from rolewall.figures import rate_text
from rolewall.terminal import counted, escape

__all__ = ["summary"]

SIGNS = {"holds": "✅", "failed": "❌", "undecided": "⚠️", "refused": "⛔"}
PUNCTUATION = re.compile(r"([\\`*_{}\[\]()#+\-!|~.:@/])")


def summary(decision: Decision) -> str:
    """The text, with nothing in it that a name could use to be more than a name."""
    return "\n".join(_lines(decision)) + "\n"


def _lines(decision: Decision) -> Iterator[str]:
    sign = SIGNS[decision.status]
    yield f"### {sign} rolewall gate: {decision.status}"
    yield ""
    yield from (f"- {_plain(reason)}" for reason in decision.reasons)
    yield ""
    if decision.bounds:
        yield "| bound | limit | seen | missing verdicts as wrong | |"
        yield "|---|---|---|---|---|"
        for bound in decision.bounds:
            yield (
                f"| {_plain(bound.name)} | {bound.limit:g} | {_measure(bound.seen)}"
                f" | {_measure(bound.feared)} | {SIGNS[bound.status]} {bound.status} |"
            )
        yield ""
    if decision.rules is not None:
        yield from _facts(decision)
    if decision.notes:
        yield ""
        yield from (f"> {_plain(note)}  " for note in decision.notes)


def _facts(decision: Decision) -> Iterator[str]:
    yield (
        f"Condition {_plain(decision.condition)}: {counted(decision.episodes, 'episode')},"
        f" {counted(decision.errors, 'error')}, {decision.absent} planned and absent."
    )
    if decision.numbers:
        found = decision.numbers
        yield f"False approvals: {_plain(rate_text(found.excluded))}."
        if found.missing:
            yield f"With missing verdicts as rejects: {_plain(rate_text(found.as_reject))};"
            yield f"as false approvals: {_plain(rate_text(found.as_approval))}."
    if decision.false_rejections:
        yield f"False rejections: {_plain(rate_text(decision.false_rejections))}."
    if decision.needed is not None:
        yield f"Pieces of failing work that would decide: {decision.needed} in all."
    for words in decision.unstated():
        yield f"{words.capitalize()}."
    if words := decision.reading():
        yield f"{_plain(words)}."


def _measure(measure: Measure) -> str:
    if measure.value is None:
        return "\\-"
    value, low, high = map(measure.figure, (measure.value, measure.low, measure.high))
    return _plain(f"{value} [{low}, {high}]")


def _plain(text: object) -> str:
    """``text`` as itself: no control character, no tag, no Markdown."""
    return PUNCTUATION.sub(r"\\\1", html.escape(escape(text), quote=False))
