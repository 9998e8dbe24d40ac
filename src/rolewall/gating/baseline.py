"""No worse than the baseline: the false-approval rate here less the baseline's, by a margin.

Where both judged the same frozen candidates, each is a pair, and the difference is the
verifier's. Elsewhere each failed on work of its own: the difference of the two rates then
describes both the work and the verifier.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from rolewall.decision import Baseline, Bound, BoundStatus, Measure, Rules
from rolewall.errors import InputError
from rolewall.gating.admit import Side
from rolewall.gating.measures import (
    difference,
    fewest,
    of_rate,
    with_further,
)
from rolewall.gating.shift import Pair, Shift
from rolewall.gating.weigh import at_most
from rolewall.rows import Row
from rolewall.tally import FalseApprovals, false_approvals
from rolewall.terminal import counted

__all__ = ["Held", "hold_to_baseline"]

NAME = "false approvals above the baseline"
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


@dataclass(frozen=True)
class _Words:
    of: str  # on what the difference was seen
    further: str  # so many of which would hold


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
        notes.append(f"not in the baseline: {_few(common.new)}")
    lost = [*common.gone, *([f"{counted(alone, 'failing candidate')}"] if pairs and alone else [])]
    if lost and rules.allow_partial:
        notes.append(f"{LOST}: {_few(lost)}")
    return Held(bound, baseline, tuple(notes), _refusal(there, lost, rules))


def _refusal(there: Side, lost: Sequence[str], rules: Rules) -> tuple[int, str] | None:
    if there.refusal is not None:
        code, words = there.refusal
        return code, f"the baseline: {words}"
    if lost and not rules.allow_partial:
        return 4, (f"{LOST}: {_few(lost)}; run that too, or pass --allow-partial to leave it out")
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
        got=_few(common.gone),
        expected=f"some of {_few(common.new)}, in the same version",
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
    seen, feared = Shift(said), Shift(pairs)
    status = at_most(margin, seen.measure(confidence), feared.measure(confidence))
    needed = None
    if status == "undecided":
        needed = fewest(lambda size: feared.measure(confidence, size).high <= margin)
    measures = seen.measure(confidence), feared.measure(confidence)
    words = _Words(
        f"{counted(len(pairs), 'pair')} on failing candidates",
        "pairs in all, of different tasks, would hold if the further ones agree",
    )
    bound = _bound(margin, status, *measures, needed, words)
    rates = [false_approvals([pair[side] for pair in pairs], confidence) for side in (0, 1)]
    return bound, Baseline(place, "paired", len(pairs), rates[0].excluded, rates[1].excluded)


def _unpaired(
    common: _Common, margin: float, confidence: float, place: str
) -> tuple[Bound, Baseline]:
    here = false_approvals(common.here, confidence)
    there = false_approvals(common.there, confidence)
    seen = difference(of_rate(here.excluded), of_rate(there.excluded))
    feared = difference(of_rate(here.as_approval), of_rate(there.as_approval))
    status = at_most(margin, seen, feared)
    needed = _needed(here, there, margin, confidence) if status == "undecided" else None
    words = _Words(
        f"{counted(here.as_approval.total, 'episode')} of failing work here and"
        f" {there.as_approval.total} in the baseline",
        "here in all, of different tasks, would hold if no further one is approved or left"
        " without a verdict",
    )
    bound = _bound(margin, status, seen, feared, needed, words)
    return bound, Baseline(place, "unpaired", 0, here.excluded, there.excluded)


def _needed(
    here: FalseApprovals, there: FalseApprovals, margin: float, confidence: float
) -> int | None:
    """How much failing work here would do; None where the baseline itself has too little."""
    before = of_rate(there.as_approval)
    if before.value is None:
        return None

    def holds(size: int) -> bool:
        return difference(with_further(here.as_approval, size, confidence), before).high <= margin

    return fewest(holds)


def _bound(
    margin: float,
    status: BoundStatus,
    seen: Measure,
    feared: Measure,
    needed: int | None,
    words: _Words,
) -> Bound:
    allowed = f"{_points(margin)} are allowed ({words.of})"
    if status == "holds":
        high = _points(max(seen.high, feared.high))
        reasons = [f"the difference is at most {high} points, and {allowed}"]
    elif status == "failed":
        reasons = [f"the difference is at least {_points(seen.low)} points, and {allowed}"]
    elif seen.high <= margin:
        reasons = [f"silence may hide more false approvals than {allowed}"]
    else:
        reasons = [f"not enough to decide: the difference may be {_points(seen.high)} points,"
                   f" and {allowed}"]  # fmt: skip
    if status == "undecided":
        reasons.append(
            "no amount of failing work here alone would hold: the baseline has too little"
            if needed is None
            else f"{needed} {words.further}"
        )
    return Bound(NAME, margin, status, tuple(reasons), seen, feared, needed)


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f}"


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


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
