"""Kind → domain → variant: all that is planted, the same each time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.blame.planted.downstream import capability, execution, grader, planning, verification
from tests.blame.planted.draft import Draft, draft, plan_of
from tests.blame.planted.lay import Lot, Planted
from tests.blame.planted.upstream import authority, prerequisite, stale
from tests.blame.planted.worlds import DOMAINS

__all__ = ["KINDS", "several", "singles"]

KINDS: dict[str, tuple[Callable[[Draft], Planted], int]] = {
    "prerequisite": (prerequisite, 9),
    "authority": (authority, 9),
    "stale": (stale, 8),
    "planning": (planning, 9),
    "execution": (execution, 9),
    "verification": (verification, 9),
    "grader": (grader, 9),
    "capability": (capability, 9),
}
"""What is planted, and how many of each."""

TWICE = ("totals", "manifest", "hosts")
"""Domains whose work can be done a second time."""


def singles() -> list[tuple[Planted, Planted]]:
    """Each episode with one fault, and its twin without."""
    pairs = []
    for offset, (kind, (plant, count)) in enumerate(KINDS.items()):
        for variant in range(count):
            domain = list(DOMAINS)[(variant * 5 + variant // 6 + offset) % len(DOMAINS)]
            if kind == "verification" and variant % 6 == 5:
                domain = TWICE[variant // 6 % len(TWICE)]
            one, twin = (plant(draft(kind, domain, variant, fault)) for fault in (True, False))
            pairs.append((one, twin))
    return pairs


def several() -> list[tuple[Planted, Planted]]:
    """Episodes with two faults, each of which alone would fail, and twins without."""
    pairs = []
    for variant, both in enumerate(TWO):
        domain = list(DOMAINS)[variant * 5 % len(DOMAINS)]
        one, twin = (both(draft("several", domain, variant, fault)) for fault in (True, False))
        pairs.append((one, twin))
    return pairs


def _with(one: Planted, other: Planted, draft: Draft) -> Planted:
    """``one`` with the fault that ``other`` has in its grader or executor."""
    work = {**one.work, **{k: v for k, v in other.work.items() if k in ("skip", "alter")}}
    stage = "undecided" if draft.fault else ""
    truth = other.truth or one.truth
    return replace(one, work=work, stage=stage, truth=truth, program=other.program)


def _plan_and_work(draft: Draft) -> Planted:
    jobs = draft.world.jobs
    plan = {"handoff": {"schema_version": 1, **plan_of([*jobs[:2], *jobs[3:]], draft.rng)}}
    given = {"plan": plan, "work": {"skip": [jobs[0]]}} if draft.fault else {}
    return draft.episode("undecided", Lot(executor="script"), **given)


def _prerequisite_and_work(draft: Draft) -> Planted:
    one = prerequisite(draft)
    return _with(one, replace(one, work=_skips(draft, 2)), draft)


def _plan_and_grader(draft: Draft) -> Planted:
    return _with(planning(replace(draft, variant=0)), _graders(draft), draft)


def _work_and_grader(draft: Draft) -> Planted:
    one = execution(replace(draft, variant=1))
    return _with(one, replace(_graders(draft), work=one.work), draft)


def _authority_and_grader(draft: Draft) -> Planted:
    return _with(authority(replace(draft, variant=0)), _graders(draft), draft)


def _capability_and_work(draft: Draft) -> Planted:
    one = capability(replace(draft, variant=0))
    return _with(one, replace(one, work=_skips(draft, 1)), draft)


def _stale_and_work(draft: Draft) -> Planted:
    one = stale(replace(draft, variant=0))
    return _with(one, replace(one, work=_skips(draft, 0)), draft)


def _stamp_and_grader(draft: Draft) -> Planted:
    return _with(verification(replace(draft, variant=0)), _graders(draft), draft)


def _skips(draft: Draft, job: int) -> dict[str, object]:
    return {"skip": [draft.world.jobs[job]]} if draft.fault else {}


def _graders(draft: Draft) -> Planted:
    return replace(grader(replace(draft, variant=2)), work={})


TWO = [
    _plan_and_work,
    _prerequisite_and_work,
    _plan_and_grader,
    _work_and_grader,
    _authority_and_grader,
    _capability_and_work,
    _stale_and_work,
    _stamp_and_grader,
]
