"""Teamwork necessity, planning and verification value: as published, or not shown."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from scipy.stats import ttest_1samp

from rolewall.indices import FEWEST_TASKS, index_notes, indices, interval_over_tasks
from rolewall.rows import Row, Source

Rates = dict[str, tuple[float, ...]]
FIVE = ("enforced", "solo", "restricted", "no-plan", "no-verify")


def row(task: str, condition: str, trial: int, passed: bool, **more: Any) -> Row:
    more.setdefault("verified", condition in ("enforced", "no-plan"))
    return Row(task, condition, trial, "approve" if more["verified"] else "missing",
               "pass" if passed else "fail", **more)  # fmt: skip


def table(passes: dict[str, tuple[int, ...]], trials: int = 4) -> list[Row]:
    """Condition → for each task, how many of its trials pass."""
    return [
        row(f"t{task:02}", condition, trial, trial < count)
        for condition, counts in passes.items()
        for task, count in enumerate(counts)
        for trial in range(trials)
    ]


TEN = {
    "enforced":   (4, 3, 2, 4, 1, 2, 3, 4, 0, 2),
    "solo":       (4, 4, 3, 4, 2, 3, 4, 3, 2, 2),
    "restricted": (0, 1, 1, 2, 1, 1, 0, 1, 0, 2),
    "no-plan":    (3, 3, 1, 2, 1, 1, 3, 3, 0, 2),
    "no-verify":  (4, 2, 2, 4, 1, 1, 3, 3, 0, 1),
}  # fmt: skip


def test_the_published_formulas() -> None:
    necessity, planning, verification = indices(table(TEN))
    kept = [(e, s, r) for e, s, r in zip(*(TEN[c] for c in FIVE[:3]), strict=True) if s > r]
    wanted = sum((e / 4 - r / 4) / max(0.05, s / 4 - r / 4) for e, s, r in kept) / len(kept)
    assert len(kept) == 9
    assert necessity.name == "teamwork necessity index" and necessity.tasks == 9
    assert necessity.value == pytest.approx(wanted)
    assert necessity.left_out == {"where solo is not more than 0.05 better than restricted": 1}
    assert (planning.name, verification.name) == ("planning value", "verification value")
    assert planning.value == pytest.approx((25 - 19) / 40)
    assert verification.value == pytest.approx((25 - 21) / 40)
    for index in (necessity, planning, verification):
        assert index.value is not None and index.interval is not None and not index.why
        assert index.interval.low < index.value < index.interval.high
        assert index.score == "pass rate"


def test_the_lines_for_people_name_tasks_kept_and_left_out() -> None:
    necessity, planning, _ = index_notes(table(TEN))
    assert necessity.startswith("teamwork necessity index +0.") and "over 9 tasks" in necessity
    assert necessity.endswith(
        "; 1 task left out: 1 where solo is not more than 0.05 better than restricted"
    )
    assert planning.startswith("planning value +0.150 [") and planning.endswith("over 10 tasks")


def test_only_what_has_its_conditions_is_there() -> None:
    def names(*conditions: str) -> list[str]:
        return [index.name for index in indices(table({c: TEN[c] for c in conditions}))]

    assert names("enforced") == names("enforced", "solo") == names("solo", "no-plan") == []
    assert index_notes([]) == []
    assert names("enforced", "no-verify") == ["verification value"]
    assert names("enforced", "restricted", "solo") == ["teamwork necessity index"]


def test_what_means_nothing_is_not_shown() -> None:
    few = {name: counts[: FEWEST_TASKS - 1] for name, counts in TEN.items()}
    for index in indices(table(few)):
        assert index.value is None and index.interval is None
        assert "7 tasks, and it needs 8" in index.text()
        assert index.json()["value"] is None
    # With a single trial the tasks kept are chosen by the chance they are measured by.
    once = {name: tuple(min(1, n) for n in counts) for name, counts in TEN.items()}
    necessity, planning, _ = indices(table(once, trials=1))
    assert necessity.value is None and necessity.tasks == 0
    assert necessity.left_out == {"without 3 graded trials under each condition": 10}
    assert planning.value is not None


def test_solo_no_better_anywhere_is_said_and_divides_by_nothing() -> None:
    same = dict.fromkeys(FIVE[:3], TEN["restricted"])
    (necessity,) = indices(table(same))
    assert necessity.value is None and necessity.tasks == 0
    assert "10 tasks left out: 10 where solo is not more than 0.05 better" in necessity.text()


def test_errors_enter_no_index() -> None:
    rows = table(TEN)
    broken = [r for r in rows if r.task != "t00" or r.condition != "no-plan"]
    broken += [row("t00", "no-plan", n, False, error="BoxError") for n in range(4)]
    _, planning, verification = indices(broken)
    assert planning.tasks == 9 and verification.tasks == 10
    assert planning.left_out == {"without 1 graded trial under each condition": 1}
    rows = [replace(r, error="BoxError") if r.task in ("t01", "t02") else r for r in table(TEN)]
    assert [i.tasks for i in indices(rows)] == [7, 8, 8]
    assert indices(rows)[1].left_out == {"without 1 graded trial under each condition": 2}
    every = indices([replace(r, error="BoxError") for r in table(TEN)])
    assert {i.value for i in every} == {None} and {i.tasks for i in every} == {0}


def scored(score: Callable[[Row], float | None]) -> list[Row]:
    return [replace(r, score=score(r)) for r in table(TEN)]


def test_partial_scores_are_used_where_every_episode_has_one() -> None:
    half = indices(scored(lambda r: 0.75 if r.grade == "pass" else 0.25))
    assert {i.score for i in half} == {"partial score"}
    assert half[1].value == pytest.approx((25 - 19) / 40 / 2)
    for missing in (None, 1.5, -0.1):
        mixed = scored(lambda r, m=missing: m if r.name == "t03:enforced:2" else 0.5)  # type: ignore[misc]
        assert {i.score for i in indices(mixed)} == {"pass rate"}
        assert indices(mixed)[1].value == pytest.approx((25 - 19) / 40)


def test_what_differs_is_not_compared() -> None:
    rows = table(TEN)
    other = [replace(r, version="b" if r.condition == "no-plan" and r.task == "t01" else "a")
             for r in rows]  # fmt: skip
    assert indices(other)[1].left_out == {"that differ between conditions": 1}
    teams = [replace(r, source=Source(team=r.condition)) for r in rows]
    assert all("several teams" in i.text() and i.value is None for i in indices(teams))


def test_the_interval_is_students_with_two_tasks_added() -> None:
    values = [0.25, 0.0, 0.5, -0.25, 0.0, 0.75, 0.25, 0.0]
    found = interval_over_tasks(values, about=0.0)
    oracle = ttest_1samp([*values, 1.0, -1.0], 0.0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high))
    agreed = interval_over_tasks([0.0] * 8, about=0.0)
    assert agreed.high == -agreed.low > 0.3  # never without width
    whole = interval_over_tasks([1.0] * 30, about=0.0)
    assert whole.low < 1.0 == whole.high
    index = interval_over_tasks([1.0] * 30, about=None, most=math.inf)
    assert index.low < 1.0 < index.high


@pytest.mark.parametrize("trials", [3, 10])
def test_intervals_cover_what_they_say(trials: int) -> None:
    """Tasks drawn anew each time: half of what solo gains is what the team gains."""
    chance = random.Random(trials)

    def mean(rate: float) -> float:
        return sum(chance.random() < rate for _ in range(trials)) / trials

    held = {"necessity": 0, "value": 0}
    repeats = 300
    for _ in range(repeats):
        ratios: list[float] = []
        gains: list[float] = []
        while len(ratios) < 12:
            low = 0.5 * chance.random()
            high = low + 0.2 + 0.3 * chance.random()
            team, solo, restricted = mean((low + high) / 2), mean(high), mean(low)
            gains.append(team - restricted)
            if solo - restricted > 0.05:
                ratios.append((team - restricted) / (solo - restricted))
        found = interval_over_tasks(ratios, about=None, most=math.inf)
        held["necessity"] += found.low <= 0.5 <= found.high
        found = interval_over_tasks(gains, about=0.0)
        held["value"] += found.low <= 0.175 <= found.high
    assert min(held.values()) >= 0.93 * repeats, held


def test_show_and_compare_print_them_below_the_table(builder: Any, cli: Callable[..., Any]) -> None:
    for task in range(FEWEST_TASKS):
        for condition in ("enforced", "no-plan"):
            builder.add(task=f"t{task}", condition=condition, verdict="approve", grade="pass")
    run = builder.finish()
    words = "planning value +0.000 [-0.337, +0.337], pass rate, mean over 8 tasks"
    shown, compared = cli("show", run), cli("compare", run)
    assert shown.code == compared.code == 0, shown.err + compared.err
    assert words in shown.out and words in compared.out
    for command in ("show", "compare"):
        (index,) = cli(command, run, "--json").json["indices"]
        assert (index["name"], index["value"], index["tasks"]) == ("planning value", 0.0, 8)
