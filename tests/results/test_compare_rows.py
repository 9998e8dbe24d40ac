"""Comparing rows: what is not known, margins and their words, two runs, plans."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from statsmodels.stats.multitest import multipletests

from rolewall.compare import compare, compare_runs
from rolewall.comparing import (
    Asked,
    PlanFile,
    default_asked,
    deviations,
    margins_of,
    read_plan,
)
from rolewall.comparing.outcomes import event
from rolewall.errors import InputError, NotEnoughEvidence
from rolewall.rows import Row, Source
from rolewall.rundir import PlanRef, RunInfo, TaskRef
from rolewall.terminal import plain

BOTH = ("prompt-only", "enforced")
PLAN = """
schema_version: 1
plan: walls
conditions: [prompt-only, enforced]
primary: [pass, any-cross-role-edit]
equivalence: {pass: 0.2}
tasks: [t0, t1, t2]
trials: 1
seed: 7
"""


def row(task: str = "t0", condition: str = "enforced", trial: int = 0, **more: Any) -> Row:
    fields: dict[str, Any] = {
        "verdict": "approve", "grade": "pass", "attempts": 0, "edits": 0, "landed": 0,
        **more,
    }  # fmt: skip
    return Row(task, condition, trial, **fields)


def both(tasks: int, trials: int = 1, **second: Any) -> list[Row]:
    return [
        row(f"t{n}", name, trial, **(second if name == "enforced" else {}))
        for n in range(tasks)
        for name in BOTH
        for trial in range(trials)
    ]


def text_of(found: Any) -> str:
    return "\n".join([*(plain(s) for s in found.sheets()), *found.lines()])


def test_edits_that_are_not_known_are_not_taken_for_none() -> None:
    rows = both(4, attempts=None, edits=None)
    (contrast,) = compare(rows, BOTH).contrasts
    assert [o.name for o in contrast.outcomes] == ["pass", "approve and fail"]
    assert [u.name for u in contrast.untested] == ["any cross-role edit"]
    assert contrast.secondary == ()
    text = text_of(compare(rows, BOTH))
    assert "not tested: any cross-role edit: attempts are not recorded" in text
    assert "distinct cross-role edits: not known" in text


def test_pairs_in_which_an_outcome_is_not_known_are_left_out_of_it_alone() -> None:
    rows = both(6)
    rows[0] = replace(rows[0], attempts=None)
    passed, _, edits = compare(rows, BOTH).contrasts[0].outcomes
    assert (passed.pairs, passed.unknown) == (6, 0)
    assert (edits.pairs, edits.unknown) == (5, 1)


def test_without_a_verifier_there_is_no_false_approval_to_compare() -> None:
    rows = both(4, verdict="missing", verified=False)
    (contrast,) = compare(rows, BOTH).contrasts
    assert [u.name for u in contrast.untested] == ["approve and fail"]
    assert contrast.descriptive[1].false_approvals is None
    assert contrast.descriptive[1].missing == 0
    assert "descriptive, enforced: no verifier" in text_of(compare(rows, BOTH))


def test_distinct_edits_come_second_and_calls_never() -> None:
    rows = both(8, attempts=400, edits=2)
    found = compare(rows, BOTH)
    (count,) = found.contrasts[0].secondary
    assert (count.first_total, count.second_total, count.difference) == (0, 16, 2.0)
    assert count.p == pytest.approx(2 / 2**8)
    assert count.interval is None  # all tasks differ equally
    assert "400" not in text_of(found)
    ratio = compare(rows, tuple(reversed(BOTH))).contrasts[0].outcomes[2].ratio
    assert ratio is not None and ratio.ratio == 0.0


def test_no_difference_shown_is_not_the_same() -> None:
    found = compare(both(60), BOTH)
    assert [o.finding for o in found.contrasts[0].outcomes] == ["no difference shown"] * 3
    assert "indistinguishable" not in text_of(found)


def test_indistinguishable_needs_a_margin_that_is_met() -> None:
    met = compare(both(100), BOTH, default_asked((), {"pass": 0.1}))
    assert met.contrasts[0].outcomes[0].finding.endswith("indistinguishable within ±10")
    assert "pass: indistinguishable, within ±10 points (α = 0.05; 90 % interval [" in text_of(met)
    missed = compare(both(10), BOTH, default_asked((), {"pass": 0.1}))
    assert missed.contrasts[0].outcomes[0].finding == "no difference shown"
    assert "pass: not shown to be within ±10 points" in text_of(missed)
    assert "indistinguishable" not in text_of(missed)


def test_trials_of_one_task_show_nothing_within_a_margin() -> None:
    found = compare(both(1, trials=60), BOTH, default_asked((), {"pass": 0.2}))
    ((_, claim),) = found.contrasts[0].claims
    assert not claim.shown and claim.interval is None
    assert "fewer than two tasks" in text_of(found)


def test_what_differs_is_never_indistinguishable() -> None:
    """A difference can be shown and be small; two conditions are then not the same."""
    rows = both(400)
    rows = [
        replace(r, grade="fail") if r.condition == "enforced" and int(r.task[1:]) < 12 else r
        for r in rows
    ]
    found = compare(rows, BOTH, default_asked((), {"pass": 0.1}))
    assert found.contrasts[0].outcomes[0].finding == "difference, smaller than 10 points"
    text = text_of(found)
    assert "indistinguishable" not in text
    assert "pass: the difference is within ±10 points (α" in text


def test_a_margin_that_no_plan_fixed_says_so() -> None:
    asked = default_asked((), {"pass": 0.1}, {"pass": 0.1})
    free = compare(both(60), BOTH, asked)
    assert text_of(free).count("; margin not fixed by a plan") == 2
    planned = compare(both(60), BOTH, replace(asked, planned=True))
    assert "not fixed by a plan" not in text_of(planned)


def test_a_very_small_p_is_given_as_a_bound() -> None:
    found = compare(both(60, grade="fail"), BOTH)
    line = next(x for x in text_of(found).splitlines() if x.startswith("pass "))
    assert "< 1e-11" in line and "< 1e-10" in line
    assert "e-18" not in text_of(found)


# ---- missing verdicts

GRADE = {"approve-and-fail": "fail", "reject-and-pass": "pass"}
WRONG = {"approve-and-fail": "approve", "reject-and-pass": "reject"}
RIGHT = {"approve-and-fail": "reject", "reject-and-pass": "approve"}


def judged(key: str, first: Iterable[str], second: Iterable[str]) -> list[Row]:
    """Work of the grade that makes a verdict of ``key`` wrong, so judged."""
    return [
        row(f"t{n}", name, verdict=verdict, grade=GRADE[key])
        for name, verdicts in zip(BOTH, (first, second), strict=True)
        for n, verdict in enumerate(verdicts)
    ]


def _only(key: str, **margins: Any) -> Asked:
    return Asked(primary=(event(key, "outcome"),), **margins)


@pytest.mark.parametrize("key", GRADE)
def test_silence_does_not_win(key: str) -> None:
    """Equally good where they judge; the second says nothing of half of the work."""
    wrong, right = WRONG[key], RIGHT[key]
    first = [wrong, right, right] * 20
    second = [v if n % 2 else "missing" for n, v in enumerate(first)]
    margins = {"equivalence": {key: 0.3}, "not_worse": {key: 0.05}}
    found = compare(judged(key, first, second), BOTH, _only(key, **margins))
    (outcome,) = found.contrasts[0].outcomes
    assert outcome.p < 0.01 and outcome.hidden and not outcome.differs
    assert outcome.finding == "not shown: silence may hide it"
    assert outcome.as_wrong and outcome.as_wrong.second_events == 40
    assert [c.shown for c in outcome.claims] == [False, False]
    assert all(c.hidden and c.p_seen <= 0.05 for c in outcome.claims)
    text = text_of(found)
    assert f"{outcome.name}, missing as wrong" in text
    assert text.count("silence may hide it") == 3
    assert "missing verdict 0/60 30/60" in " ".join(text.split())


@pytest.mark.parametrize("key", GRADE)
def test_what_silence_cannot_explain_is_found(key: str) -> None:
    """The silent one errs more all the same; or what it was silent of does not matter."""
    wrong, right = WRONG[key], RIGHT[key]
    first = [right] * 60
    second = [*[wrong] * 30, *["missing"] * 5, *[right] * 25]
    worse = compare(judged(key, first, second), BOTH, _only(key)).contrasts[0].outcomes[0]
    assert worse.finding == "difference" and not worse.hidden
    few = [*[right] * 58, "missing", "missing"]
    better = compare(judged(key, [wrong] * 30 + first[30:], few), BOTH, _only(key))
    assert better.contrasts[0].outcomes[0].finding == "difference"
    elsewhere = judged(key, first, second[:30] + first[30:])
    elsewhere = [
        replace(r, verdict="missing", grade="pass" if r.grade == "fail" else "fail")
        if int(r.task[1:]) >= 50
        else r
        for r in elsewhere
    ]
    found = compare(elsewhere, BOTH, _only(key)).contrasts[0].outcomes[0]
    assert found.as_wrong is None and found.decisive == found.p


def test_a_finding_holds_in_both_readings_whatever_the_verdicts() -> None:
    """Each reading is the comparison of rows in which missing verdicts were so written."""
    random = Random(4)
    found_any = 0
    for key, trials, silence in product(GRADE, (1, 3), (0.05, 0.4)):
        for _ in range(12):
            rows = [
                replace(r, verdict=_drawn(random, r, key, silence), grade=GRADE[key])
                for r in both(25, trials)
            ]
            margins = {"equivalence": {key: 0.4}, "not_worse": {key: 0.3}}
            one = compare(rows, BOTH, _only(key, **margins)).contrasts[0].outcomes[0]
            told = [replace(r, verdict=WRONG[key]) if r.verdict == "missing" else r for r in rows]
            other = compare(told, BOTH, _only(key, **margins)).contrasts[0].outcomes[0]
            if one.as_wrong:
                assert one.as_wrong.p == other.p
                assert one.as_wrong.difference == other.difference
            for claim, told_claim in zip(one.claims, other.claims, strict=True):
                assert claim.p == max(claim.p_seen, told_claim.p)
                if claim.shown:
                    assert told_claim.p <= claim.alpha
            if one.differs:
                found_any += 1
                assert other.p <= 0.05 and one.difference * other.difference > 0
    assert found_any > 5


def _drawn(random: Random, row: Row, key: str, silence: float) -> str:
    if random.random() < (silence if row.condition == "enforced" else 0.05):
        return "missing"
    return (
        WRONG[key]
        if random.random() < (0.2 if row.condition == "enforced" else 0.6)
        else RIGHT[key]
    )


def test_not_worse_looks_at_one_side() -> None:
    """Work that passes more often, and is falsely approved less, is not worse."""
    rows = both(60)
    rows = [replace(r, grade="fail") if r.condition == "prompt-only" else r for r in rows]
    asked = default_asked((), {}, {"pass": 0.1, "approve-and-fail": 0.1})
    found = compare(rows, BOTH, asked)
    assert [c.shown for _, c in found.contrasts[0].claims] == [True, True]
    assert "pass: enforced is not worse by 10 points or more" in text_of(found)
    back = compare(rows, tuple(reversed(BOTH)), asked)
    assert [c.shown for _, c in back.contrasts[0].claims] == [False, False]


def test_claims_share_an_adjustment_of_their_own() -> None:
    asked = default_asked(
        (), {"pass": 0.1, "approve-and-fail": 0.08}, {"any-cross-role-edit": 0.06}
    )
    claims = [c for _, c in compare(both(60), BOTH, asked).contrasts[0].claims]
    known = multipletests([c.p for c in claims], method="holm")[1]
    assert [c.p_holm for c in claims] == pytest.approx(list(known))


@pytest.mark.parametrize("words", ["pass", "pass=2", "pass=x", "speed=0.1", "pass=nan", "=0.1"])
def test_a_margin_is_an_outcome_and_a_fraction(words: str) -> None:
    with pytest.raises(InputError, match="--equivalence"):
        margins_of([words], "--equivalence")
    with pytest.raises(InputError, match="twice"):
        margins_of(["pass=0.1", "pass=0.2"], "--equivalence")


def test_two_teams_of_one_condition_are_not_silently_merged() -> None:
    rows = [*both(3), *(replace(r, source=Source(team="other")) for r in both(3))]
    with pytest.raises(InputError, match="one team at a time"):
        compare(rows, BOTH)


def test_two_runs_pair_on_task_and_trial_whatever_their_team() -> None:
    first = [row(f"t{n}", source=Source(team="old", team_digest="a")) for n in range(5)]
    second = [replace(r, grade="fail", source=Source(team="new", team_digest="b")) for r in first]
    found = compare_runs(first, [*second, replace(second[0], task="more")], ("old", "new"))
    (contrast,) = found.contrasts
    assert (contrast.first, contrast.second, contrast.pairs) == ("old", "new", 5)
    assert contrast.outcomes[0].difference == -1.0
    assert contrast.left_out[0].reason == "no episode under old"
    other_code = [replace(r, source=replace(r.source, code="x")) for r in second]
    with pytest.raises(NotEnoughEvidence, match="the code differs"):
        compare_runs(first, other_code, ("old", "new"))


def test_of_frozen_candidates_judgement_is_compared() -> None:
    """Two teams met the same work in a calibration: whether it passes is no outcome."""
    grades = ("fail", "pass") * 6
    old = [
        row("t0", "calibrate-plain", n, grade=grade, candidate=f"c{n}", source=Source(team="old"))
        for n, grade in enumerate(grades)
    ]
    new = [
        replace(r, verdict="reject" if r.grade == "fail" else "approve", source=Source(team="new"))
        for r in old
    ]
    found = compare_runs(old, new, ("old", "new"))
    (contrast,) = found.contrasts
    assert [o.name for o in contrast.outcomes] == [
        "approve and fail", "reject and pass", "any cross-role edit",
    ]  # fmt: skip
    assert contrast.frozen and contrast.outcomes[0].first_only == 6
    text = text_of(found)
    assert "the same frozen work" in text and "change which work fails" not in text
    other = [replace(r, candidate="x") for r in new]
    with pytest.raises(NotEnoughEvidence, match="the candidate differs"):
        compare_runs(old, other, ("old", "new"))


def test_conditions_of_two_models_are_no_pairs() -> None:
    rows = [
        replace(r, source=Source(model="m1" if r.condition == "enforced" else "m2"))
        for r in both(3)
    ]
    with pytest.raises(NotEnoughEvidence, match="the model differs"):
        compare(rows, BOTH)


# ---- plans


def plan_of(tmp_path: Path, text: str = PLAN) -> PlanFile:
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    return read_plan(path)


def info_of(made_with: PlanFile, **more: Any) -> RunInfo:
    fields: dict[str, Any] = {
        "created": 1_800_000_000.0, "rolewall": "1", "python": "3", "team": "fixers",
        "team_digest": "a", "tasks": [TaskRef(id=f"t{n}", digest="d") for n in range(3)],
        "conditions": BOTH, "trials": 1, "backend": "bubblewrap", "image": "host",
        "planned": 6, "seed": 7, "plan": made_with.ref, **more,
    }  # fmt: skip
    return RunInfo.model_validate(fields)


def strayed(plan: PlanFile, rows: list[Row], info: RunInfo | None, names: Any = BOTH) -> str:
    found = compare(rows, names, plan.asked())
    return "\n".join(deviations(plan, rows, names, found.contrasts, info))


def test_what_went_as_planned_has_no_deviation(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert strayed(plan, both(3), info_of(plan)) == ""
    found = compare(both(3), BOTH, plan.asked()).against(plan, ())
    assert found.lines() == [f"plan walls sha256:{plan.digest}: no deviation"]
    assert found.json()["plan"]["text"] == PLAN
    assert [o.name for o in found.contrasts[0].outcomes] == ["pass", "any cross-role edit"]


@pytest.mark.parametrize(
    ("rows", "info", "says"),
    [
        (both(3), {"plan": None}, "run.json has no plan"),
        (both(3), {"plan": PlanRef(name="walls", sha256="0" * 64, text="")}, "was changed after"),
        (both(3), {"seed": 8}, "seed 8, planned 7"),
        (both(2), {}, "planned tasks without an episode: t2"),
        (both(4), {}, "tasks that were not planned: t3"),
        (both(3)[:-1], {}, "fewer episodes under enforced than planned: 2 for 3"),
        (both(3, trials=2), {}, "more episodes under enforced than planned: 6 for 3"),
        ([*both(3), row(condition="solo")], {}, "other conditions in the data: solo"),
        (both(3, attempts=None), {}, "any cross-role edit could not be tested"),
        (
            [*both(2), *(replace(r, grade="error") for r in both(3)[4:])],
            {},
            "1 episode or pair left out",
        ),
    ],
)
def test_a_deviation_is_named(
    tmp_path: Path, rows: list[Row], info: dict[str, Any], says: str
) -> None:
    plan = plan_of(tmp_path)
    assert says in strayed(plan, rows, info_of(plan, **info))


def test_other_conditions_and_no_run_are_deviations(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert "there is no run.json" in strayed(plan, both(3), None)
    names = tuple(reversed(BOTH))
    assert "planned prompt-only, enforced" in strayed(plan, both(3), info_of(plan), names)


def test_data_from_before_the_plan_are_a_deviation(tmp_path: Path) -> None:
    late = plan_of(tmp_path, PLAN + "registered: 2027-06-01T00:00:00Z\n")
    assert "before the plan was registered" in strayed(late, both(3), info_of(late))
    early = plan_of(tmp_path, PLAN + "registered: '2026-06-01T00:00:00+02:00'\n")
    assert strayed(early, both(3), info_of(early)) == ""


def test_what_could_not_be_tested_stays_in_the_family(tmp_path: Path) -> None:
    """Whether it can be is seen in the data, so that the family may not hang on it."""
    rows = [replace(r, grade="fail") if r.condition == "enforced" else r for r in both(8)]
    unknown = [replace(r, attempts=None) for r in rows]
    asked = plan_of(tmp_path).asked()
    whole = compare(rows, BOTH, asked).contrasts[0].outcomes[0]
    less = compare(unknown, BOTH, asked).contrasts[0].outcomes[0]
    assert less.p_holm == whole.p_holm == pytest.approx(2 * whole.p)
    free = compare(unknown, BOTH).contrasts[0].outcomes[0]
    assert free.p_holm == pytest.approx(3 * free.p)
    margins = {"approve-and-fail": 0.9, "any-cross-role-edit": 0.9}
    asked = default_asked((), {}, margins)
    ((_, claim),) = (
        compare([replace(r, attempts=None) for r in both(8)], BOTH, asked).contrasts[0].claims
    )
    assert claim.p_holm == pytest.approx(2 * claim.p)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a mapping"),
        (PLAN + "looks: 3\n", "looks"),
        (PLAN.replace("schema_version: 1", "schema_version: 2"), "schema_version"),
        (PLAN.replace("prompt-only, enforced", "enforced"), "conditions"),
        (PLAN.replace("prompt-only, enforced", "enforced, enforced"), "twice"),
        (PLAN.replace("pass, any", "speed, any"), "no such outcome"),
        (PLAN.replace("{pass: 0.2}", "{pass: 2}"), "equivalence.pass"),
        (PLAN.replace("{pass: 0.2}", "{approve-and-fail: 0.2}"), "not a primary outcome"),
        (PLAN.replace("[t0, t1, t2]", "0"), "tasks"),
        (PLAN + "stopping: when-it-is-significant\n", "stopping"),
        (PLAN + "registered: yesterday\n", "registered"),
        (PLAN + "registered: '2026-06-01T00:00:00'\n", "registered"),
        (PLAN + "seed: 8\n", "duplicate"),
        (PLAN + "alpha: .nan\n", "alpha"),
    ],
)
def test_a_plan_that_is_none_is_refused_with_its_place(
    tmp_path: Path, text: str, says: str
) -> None:
    with pytest.raises(InputError, match=r"plan\.yaml") as caught:
        plan_of(tmp_path, text)
    assert says in str(caught.value)
