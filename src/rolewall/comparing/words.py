"""One condition against another as a table and the lines below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rolewall.comparing.effects import Claim, CountOutcome, Outcome
from rolewall.comparing.fourfold import Reading
from rolewall.figures import rate_text
from rolewall.frozen import APART
from rolewall.paired import LEAST_P
from rolewall.pooling import FalseApprovals
from rolewall.terminal import Sheet, counted

if TYPE_CHECKING:
    from rolewall.comparing.contrast import Contrast, Descriptive

__all__ = ["contrast_sheet", "p_words"]

COLUMNS = ("outcome", "first", "second", "difference", "first only", "second only", "finding",
           "test", "p", "p (Holm)")  # fmt: skip
MOST_NAMED = 20  # of what was left out, in the text; JSON has all
MISSING = "missing verdict"


def contrast_sheet(contrast: Contrast) -> Sheet:
    return Sheet(
        title=f"{contrast.second} against {contrast.first}: {counted(contrast.pairs, 'pair')}",
        columns=(COLUMNS[0], contrast.first, contrast.second, *COLUMNS[3:]),
        rows=tuple(_rows(contrast)),
        notes=tuple(_notes(contrast)),
        numeric=frozenset({1, 2, 4, 5, 8, 9}),
        empty="no outcome is known in any pair",
        measures=True,
    )


def _rows(contrast: Contrast) -> Iterator[tuple[str, ...]]:
    for o in contrast.outcomes:
        yield (*_effect(o), o.finding, o.test, _p(o.p), _p(o.p_holm, 10 * LEAST_P))
        if o.as_wrong:
            yield (*_effect(o.as_wrong), "", o.as_wrong.test, _p(o.as_wrong.p), "")
    silent = any(d.missing for d in contrast.descriptive)
    if silent and MISSING not in [o.name for o in contrast.outcomes]:
        shares = (f"{d.missing}/{d.judged}" if d.judged else "-" for d in contrast.descriptive)
        yield (MISSING, *shares, "", "", "", "descriptive", "", "", "")


def _effect(o: Reading) -> tuple[str, ...]:
    low, high = 100 * o.interval.low, 100 * o.interval.high
    return (
        o.name,
        f"{o.first_events}/{o.pairs}",
        f"{o.second_events}/{o.pairs}",
        f"{100 * o.difference:+.1f} [{low:+.1f}, {high:+.1f}]",
        str(o.first_only),
        str(o.second_only),
    )


def _p(p: float, small: float = LEAST_P) -> str:
    return f"{p:.3g}" if p > small else f"< {small:.0e}"


def p_words(p: float, small: float = LEAST_P) -> str:
    """``= 0.012``; below ``small``, where it is but a bound, ``< 1e-11``."""
    return f"= {_p(p)}" if p > small else _p(p, small)


def _notes(contrast: Contrast) -> list[str]:
    lines = ["difference: second minus first in percentage points, with its 95 % interval"]
    lines += [line for o in contrast.outcomes for line in _about(o)]
    lines += [_claim(contrast, o, c) for o, c in contrast.claims]
    lines += [_count(contrast, c) for c in contrast.secondary]
    lines += [f"not tested: {u.name}: {u.reason}" for u in contrast.untested]
    lines += [_described(d) for d in contrast.descriptive]
    if contrast.frozen:
        lines.append("both judged the same frozen work: what differs is judgement")
    elif any(d.false_approvals for d in contrast.descriptive):
        lines.append(
            "descriptive: given a failing grade, and the conditions change which work fails"
        )
    apart = Counter(x.reason for x in contrast.left_out if x.reason in APART)
    lines += [f"left out: {counted(n, 'candidate')}: {why}" for why, n in apart.items()]
    named = [x for x in contrast.left_out if x.reason not in APART]
    shown = named[:MOST_NAMED]
    lines += [f"left out: {x.task} trial {x.trial}: {x.reason}" for x in shown]
    if further := len(named) - len(shown):
        lines.append(f"left out: {further} more; --json names all")
    return lines


def _about(o: Outcome) -> list[str]:
    """What the table has no room for."""
    lines = []
    if o.as_wrong:
        lines.append(
            f"{o.name}: verdicts are missing: found is what is found with them as wrong verdicts"
            " too; p (Holm) is from the larger p, or 1 where the two point apart"
        )
    if o.ratio:
        high = "∞" if o.ratio.high is None else f"{o.ratio.high:.2f}"
        silent = ", missing verdicts not as wrong" if o.as_wrong else ""
        lines.append(
            f"{o.name}: ratio of episodes {o.ratio.ratio:.2f} [{o.ratio.low:.2f}, {high}]{silent}"
        )
    if o.effective_pairs < o.pairs:
        lines.append(
            f"{o.name}: {counted(o.pairs, 'pair')} of {counted(o.tasks, 'task')} "
            f"count as {o.effective_pairs:.1f}"
        )
    if o.unknown:
        lines.append(f"{o.name}: not known in {counted(o.unknown, 'pair')}, which are left out")
    return lines


def _claim(contrast: Contrast, o: Outcome, c: Claim) -> str:
    words = f"{o.name}: {_claimed(contrast, o, c)}"
    unplanned = "" if c.planned else "; margin not fixed by a plan"
    if c.interval is None:
        return f"{words}: fewer than two tasks{unplanned}"
    low, high = 100 * c.interval.low, 100 * c.interval.high
    level = 100 * (1 - 2 * c.alpha)
    return (
        f"{words} (α = {c.alpha:g}; {level:g} % interval [{low:+.1f}, {high:+.1f}]; "
        f"p {p_words(c.p)}, Holm over all claims {_p(c.p_holm, 10 * LEAST_P)}){unplanned}"
    )


def _claimed(contrast: Contrast, o: Outcome, c: Claim) -> str:
    points = f"{100 * c.margin:g} points"
    if c.kind == "equivalence":
        said = f"within ±{points}"
        if c.shown:
            alike = o.p_holm > o.alpha and not o.hidden
            return f"indistinguishable, {said}" if alike else f"the difference is {said}"
        fails = f"not shown to be {said}"
    else:
        said = f"worse by {points} or more"
        if c.shown:
            return f"{contrast.second} is not {said}"
        fails = f"may be {said}"
    return f"{fails}: silence may hide it" if c.hidden else fails


def _count(contrast: Contrast, c: CountOutcome) -> str:
    interval = f" [{c.interval.low:+.2f}, {c.interval.high:+.2f}]" if c.interval else ""
    unknown = f"; not known in {counted(c.unknown, 'pair')}" if c.unknown else ""
    return (
        f"secondary, {c.name} an episode: {contrast.first} {c.first_total / c.pairs:.2f}, "
        f"{contrast.second} {c.second_total / c.pairs:.2f}, difference {c.difference:+.2f}"
        f"{interval}; {c.test}, p {p_words(c.p)}, not adjusted{unknown}"
    )


def _described(d: Descriptive) -> str:
    if d.false_approvals is None:
        judged = "no verifier"
    else:
        judged = f"{_false_approvals(d.false_approvals)}; {counted(d.missing, 'missing verdict')}"
    edits = "not known" if d.distinct_edits is None else str(d.distinct_edits)
    return (
        f"descriptive, {d.condition}: {judged}; distinct cross-role edits: {edits},"
        f" in {counted(d.episodes, 'episode')}"
    )


def _false_approvals(rates: FalseApprovals) -> str:
    excluded = rate_text(rates.excluded)
    if not rates.missing:
        return f"false approvals {excluded} of failing work"
    return (
        f"false approvals of failing work: missing excluded {excluded},"
        f" as reject {rate_text(rates.as_reject)}, as failure {rate_text(rates.as_approval)}"
    )
