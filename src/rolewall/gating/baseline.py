"""No worse than the baseline: the false-approval rate here less the baseline's, by a margin.

Where both judged the same frozen candidates, each is a pair, and the difference is the
verifier's. Elsewhere each failed on work of its own: the difference of the two rates then
describes both the work and the verifier.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from rolewall.decision import Baseline, Bound, Measure
from rolewall.errors import InputError
from rolewall.gaterules import Rules
from rolewall.gating.admit import Side
from rolewall.gating.measures import difference
from rolewall.gating.shift import Pair, Shift
from rolewall.gating.weigh import at_most
from rolewall.gating.words import APPROVALS, SHIFT, Further, of_shift
from rolewall.pooling import false_approvals
from rolewall.rows import Row
from rolewall.stats import fewest
from rolewall.terminal import counted, listed

__all__ = ["Held", "hold_to_baseline"]

NAMED = 3
LOST = "not here, or not the same as in the baseline"
UNPAIRED = (
    "the difference from the baseline is descriptive: each failed on work of its own, so that"
    " it may come from the work as well as from the verifier; `rolewall calibrate` gives both"
    " the same"
)


@dataclass(frozen=True)
class Held:
    """What came of it. ``refusal`` says why the two may not be held to each other, with the
    exit code."""

    bound: Bound
    baseline: Baseline
    notes: tuple[str, ...] = ()
    refusal: tuple[int, str] | None = None


@dataclass
class _Common:
    """The rows of tasks that both sides have in one version."""

    tasks: set[str]
    here: list[Row]
    there: list[Row]
    gone: list[str]  # the baseline's alone, or changed since
    new: list[str]


def hold_to_baseline(here: Side, there: Side, rules: Rules, margin: float, place: str) -> Held:
    """Hold ``here`` to ``there``. Raises InputError when no task is common to both.

    ``rules.allow_partial`` lets the baseline have tasks, or candidates, that are not here.
    """
    common = _common(here, there)
    if here.rows and there.rows and not common.tasks:
        _nothing_common(common, place)
    pairs, alone = _pairs(common) if _frozen(common) else ([], 0)
    if pairs:
        bound, baseline = _paired(pairs, margin, rules.confidence, place)
        notes = []
    else:
        bound, baseline = _unpaired(common, margin, rules.confidence, place)
        notes = [UNPAIRED]
    notes += _sources(here.rows, there.rows)
    if common.new:
        notes.append(f"not in the baseline: {listed(common.new, NAMED)}")
    lost = [*common.gone, *([f"{counted(alone, 'failing candidate')}"] if pairs and alone else [])]
    if lost and rules.allow_partial:
        notes.append(f"{LOST}: {listed(lost, NAMED)}")
    return Held(bound, baseline, tuple(notes), _refusal(there, lost, rules))


def _refusal(there: Side, lost: Sequence[str], rules: Rules) -> tuple[int, str] | None:
    if there.refusal is not None:
        code, words = there.refusal
        return code, f"the baseline: {words}"
    if lost and not rules.allow_partial:
        return 4, (
            f"{LOST}: {listed(lost, NAMED)}; run that too, or pass --allow-partial to leave it out"
        )
    return None


def _common(here: Side, there: Side) -> _Common:
    def agree(task: str) -> bool:
        versions = {here.versions.get(task), there.versions.get(task)}
        return None not in versions and len(versions - {""}) <= 1

    both = {task for task in here.versions if agree(task)}
    return _Common(
        tasks=both,
        here=[row for row in here.graded if row.task in both],
        there=[row for row in there.graded if row.task in both],
        gone=sorted(set(there.versions) - both),
        new=sorted(set(here.versions) - both),
    )


def _nothing_common(common: _Common, place: str) -> NoReturn:
    raise InputError(
        "the baseline has no task in common with what is gated",
        place=place,
        got=listed(common.gone, NAMED),
        expected=f"some of {listed(common.new, NAMED)}, in the same version",
    )


def _frozen(common: _Common) -> bool:
    rows = [*common.here, *common.there]
    return bool(rows) and all(row.candidate for row in rows)


def _pairs(common: _Common) -> tuple[list[Pair], int]:
    """Failing candidates that both judged, and how many only the baseline did."""
    mine, theirs = _by_candidate(common.here), _by_candidate(common.there)
    pairs: list[Pair] = []
    alone = 0
    for candidate, found in theirs.items():
        here = mine.get(candidate, [])
        pairs += zip(here, found, strict=False)
        alone += max(0, len(found) - len(here))
    return pairs, alone


def _by_candidate(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda r: r.trial):
        if row.grade == "fail":
            found[row.task, row.candidate].append(row)
    return found


def _paired(
    pairs: Sequence[Pair], margin: float, confidence: float, place: str
) -> tuple[Bound, Baseline]:
    said = [pair for pair in pairs if "missing" not in (pair[0].verdict, pair[1].verdict)]
    among, worst = Shift(said), Shift(pairs)

    def both(further: int) -> tuple[Measure, Measure]:
        return among.measure(confidence, further), worst.measure(confidence, further)

    words = Further(
        f"{counted(len(pairs), 'pair')} on failing candidates",
        "pairs in all",
        "one candidate",
        "both judging it alike",
    )
    rates = [false_approvals([pair[side] for pair in pairs], confidence) for side in (0, 1)]
    baseline = Baseline(place, "paired", len(pairs), rates[0].excluded, rates[1].excluded)
    return _bound(margin, both, len(pairs), words), baseline


def _unpaired(
    common: _Common, margin: float, confidence: float, place: str
) -> tuple[Bound, Baseline]:
    here = false_approvals(common.here, confidence)
    there = false_approvals(common.there, confidence)

    def both(further: int) -> tuple[Measure, Measure]:
        """A missing verdict of the baseline is, at worst, a false approval that it had not."""
        return (
            difference(here.excluded.further(further), there.excluded),
            difference(here.as_approval.further(further), there.as_reject),
        )

    words = Further(
        f"{counted(here.as_approval.total, 'episode')} of failing work here and"
        f" {there.as_approval.total} in the baseline",
        "here in all",
        "one trial",
        f"none of them {APPROVALS.further}",
    )
    baseline = Baseline(place, "unpaired", 0, here.excluded, there.excluded)
    return _bound(margin, both, here.as_approval.total, words), baseline


def _bound(
    margin: float, both: Callable[[int], tuple[Measure, Measure]], total: int, words: Further
) -> Bound:
    """``both``: the difference as it was seen, and as it is feared, with so many further
    episodes or pairs; ``total`` are there."""
    seen, feared = both(0)
    status = at_most(margin, seen, feared)
    more = None
    if status == "undecided":
        more = fewest(lambda number: at_most(margin, *both(number)) == "holds")
    in_all = None if more is None else (total + more, more)
    reasons = of_shift(margin, status, seen, feared, words, in_all)
    return Bound(SHIFT, margin, status, tuple(reasons), seen, feared, in_all[0] if in_all else None)


def _sources(here: Sequence[Row], there: Sequence[Row]) -> Iterator[str]:
    """In what the two were made differently, beside the verifier."""
    if not here or not there:
        return
    one, other = here[0].source, there[0].source
    for what, a, b in (
        ("team file", one.team_digest, other.team_digest),
        ("backend", one.backend, other.backend),
        ("version of rolewall's code", one.code, other.code),
    ):
        if a != b:
            yield f"the baseline was made with another {what}"
