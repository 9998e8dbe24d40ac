from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from rolewall.compare import Comparison
from rolewall.compare import compare as compare_rows
from rolewall.errors import InputError, NotEnoughEvidence
from rolewall.record import AttemptCounts, EpisodeRecord
from rolewall.rows import row_of
from rolewall.terminal import plain

BOTH = ("prompt-only", "enforced")
EDITS = {"verifier": AttemptCounts(edit_attempted=4, edit_allowed=4, distinct_edits=2)}


def compare(records: Sequence[EpisodeRecord], conditions: Sequence[str]) -> Comparison:
    return compare_rows(tuple(map(row_of, records)), conditions)


def pairs(record: Any, cells: list[tuple[str, str]], trials: int = 1) -> list[Any]:
    """For each (grade prompt-only, grade enforced) and trial, the two episodes."""
    return [
        record(task=f"t{n}", condition=condition, trial=trial, grade=grade)
        for n, grades in enumerate(cells)
        for condition, grade in zip(BOTH, grades, strict=True)
        for trial in range(trials)
    ]


CELLS = (
    [("pass", "fail")] * 8 + [("fail", "pass")] + [("pass", "pass")] * 6 + [("fail", "fail")] * 5
)


def test_effect_discordant_counts_and_exact_test(record: Any) -> None:
    outcome = compare(pairs(record, CELLS), BOTH).contrasts[0].outcomes[0]
    assert (outcome.name, outcome.pairs, outcome.tasks) == ("pass", 20, 20)
    assert (outcome.first_events, outcome.second_events) == (14, 7)
    assert (outcome.first_only, outcome.second_only) == (8, 1)
    assert outcome.difference == pytest.approx(-0.35)
    assert outcome.interval.low < -0.35 < outcome.interval.high < 0
    assert outcome.test == "exact McNemar"
    assert outcome.p == pytest.approx(mcnemar([[6, 8], [1, 5]], exact=True).pvalue)


def test_holm_is_over_the_three_primary_outcomes(record: Any) -> None:
    outcomes = compare(pairs(record, CELLS), BOTH).contrasts[0].outcomes
    assert [o.name for o in outcomes] == [
        "pass", "approve and fail", "any cross-role edit",
    ]  # fmt: skip
    known = multipletests([o.p for o in outcomes], method="holm")[1]
    assert [o.p_holm for o in outcomes] == pytest.approx(list(known))


def test_repeats_are_tested_by_task(record: Any) -> None:
    outcome = compare(pairs(record, CELLS, trials=3), BOTH).contrasts[0].outcomes[0]
    assert (outcome.pairs, outcome.tasks, outcome.test) == (60, 20, "sign-flip by task")
    once = compare(pairs(record, CELLS), BOTH).contrasts[0].outcomes[0]
    assert outcome.p == pytest.approx(once.p)
    assert outcome.effective_pairs < 30
    assert outcome.difference == pytest.approx(once.difference)


def test_cross_role_edits_are_counted_as_episodes(record: Any) -> None:
    records = [
        record(task=f"t{n}", condition=c, attempts=EDITS if c == "enforced" else {})
        for n in range(6)
        for c in BOTH
    ]
    contrast = compare(records, BOTH).contrasts[0]
    edits = contrast.outcomes[2]
    assert (edits.first_events, edits.second_events, edits.difference) == (0, 6, 1.0)
    assert [d.distinct_edits for d in contrast.descriptive] == [0, 12]


def test_what_cannot_be_paired_is_left_out_with_the_reason(record: Any) -> None:
    good = pairs(record, [("pass", "pass")] * 3)
    lone = record(task="lone", condition="enforced")
    failed = record(task="broken", condition="enforced", status="error",
                    error={"kind": "BoxError", "message": "gone"})  # fmt: skip
    twin = record(task="broken", condition="prompt-only")
    moved = [
        record(task="moved", condition=c, digests={**good[0].digests, "task": c}) for c in BOTH
    ]
    ungraded = [record(task="ungraded", condition=c, grade="error") for c in BOTH]
    contrast = compare([*good, lone, failed, twin, *moved, *ungraded], BOTH).contrasts[0]
    assert contrast.pairs == 3
    assert {x.task: x.reason for x in contrast.left_out} == {
        "lone": "no episode under prompt-only",
        "broken": "error under enforced: BoxError",
        "moved": "the task differs between prompt-only and enforced",
        "ungraded": "error under prompt-only: grader",
    }
    text = plain(contrast.sheet())
    assert "left out: lone trial 0: no episode under prompt-only" in text


def test_no_pair_is_not_enough_evidence(record: Any) -> None:
    with pytest.raises(NotEnoughEvidence, match="no episode pairs"):
        compare([], BOTH)
    with pytest.raises(NotEnoughEvidence, match="no episode under prompt-only"):
        compare([record()], BOTH)


@pytest.mark.parametrize("conditions", [(), ("enforced",), ("enforced", "enforced")])
def test_conditions_must_differ(record: Any, conditions: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="--conditions"):
        compare([record()], conditions)


def test_three_conditions_share_one_adjustment(record: Any) -> None:
    records = pairs(record, CELLS)
    records += [
        record(task=r.task, condition="third", verdict=r.verdict, grade=r.grade)
        for r in records[::2]
    ]
    found = compare(records, (*BOTH, "third"))
    flat = [o for c in found.contrasts for o in c.outcomes]
    known = multipletests([o.p for o in flat], method="holm")[1]
    assert [o.p_holm for o in flat] == pytest.approx(list(known))


def text_of(found: Comparison) -> str:
    return "".join(plain(sheet) for sheet in found.sheets())


def test_rates_of_failing_work_are_descriptive(record: Any) -> None:
    found = compare(pairs(record, CELLS), BOTH)
    text = text_of(found)
    assert "descriptive, enforced: false approvals 13/13" in text
    assert "indistinguishable" not in (text + json.dumps(found.json())).lower()
    assert all(d["descriptive"] for d in found.json()["contrasts"][0]["descriptive"])
    assert "-35.0 [" in text
