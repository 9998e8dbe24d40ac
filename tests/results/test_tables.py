from __future__ import annotations

import json
from typing import Any

import pytest
from statsmodels.stats.proportion import proportion_confint

from rolewall.graders.accounting import account
from rolewall.pooling import false_approvals
from rolewall.tables import result_table
from rolewall.tally import repaired
from rolewall.terminal import plain

MIX = (
    [("approve", "pass")] * 5 + [("approve", "fail")] * 4 + [("reject", "pass")] * 2
    + [("reject", "fail")] * 6 + [("missing", "fail")] * 3 + [("missing", "pass")]
)  # fmt: skip


def test_a_row_agrees_with_the_accounting(many: Any) -> None:
    row = result_table(many(MIX), team="fixers").rows[0]
    known = account(MIX)
    assert (row.episodes, row.errors, row.missing, row.approved) == (21, 0, 4, 9)
    for mine, theirs in (
        (row.passed, known.passed),
        (row.false_approvals.excluded, known.false_approval),
        (row.false_approvals.as_reject, known.false_approval_missing_as_reject),
        (row.false_approvals.as_approval, known.false_approval_missing_as_approval),
        (row.false_approvals.verifier_failure, known.verifier_failure),
    ):
        assert mine.interval is not None
        assert (mine.events, mine.total) == (theirs.count, theirs.of)
        assert mine.rate == pytest.approx(theirs.rate)
        assert (mine.interval.low, mine.interval.high) == pytest.approx((theirs.low, theirs.high))


def test_errors_are_shown_and_enter_no_rate(many: Any, record: Any) -> None:
    broken = record(task="z", verdict="approve", grade="fail", status="error",
                    error={"kind": "BoxError", "message": "x"})  # fmt: skip
    table = result_table([*many(MIX), broken], team="fixers")
    row = table.rows[0]
    assert (row.episodes, row.errors, row.false_approvals.excluded.events) == (22, 1, 4)
    assert "errors under enforced: 1 BoxError" in plain(table.sheet())


def test_zero_episodes_says_so() -> None:
    table = result_table([], team="fixers", conditions=["enforced"], planned=4)
    text = plain(table.sheet())
    assert "no episode was evaluated" in text and "0 of 4 planned" in text
    assert table.json()["episodes"] == 0


def test_a_condition_without_episodes_is_a_row(many: Any) -> None:
    table = result_table(many(MIX), team="x", conditions=["prompt-only", "enforced"])
    assert [(r.condition, r.episodes) for r in table.rows] == [("prompt-only", 0), ("enforced", 21)]
    assert "0/0 -" in plain(table.sheet())
    assert table.json()["conditions"][0]["passed"]["rate"] is None


def test_the_interval_is_printed_with_its_counts(many: Any) -> None:
    low, high = proportion_confint(4, 10, method="wilson")
    text = plain(result_table(many(MIX), team="x").sheet())
    assert f"4/10 40.0% [{100 * low:.1f}, {100 * high:.1f}]" in text
    for words in ("excluded 4/10", "as reject 4/13", "as verifier failure, of all 10/21"):
        assert words in text


def test_cross_role_edits_are_episodes_and_distinct(record: Any) -> None:
    change = {"zone": "workspace", "path": "a", "change": "modified", "cross_role": True}
    phase = {"index": 0, "role": "verifier", "round": 1, "started": 0.0, "ended": 1.0,
             "outcome": "done", "returncode": 0, "changes": [change, change],
             "changed": {"cross_role": 2, "landed": 1},
             "attempts": {"unattributed": 1}}  # fmt: skip
    blocked = {"verifier": {"edit_attempted": 900, "edit_blocked": 900, "distinct_edits": 3}}
    records = [
        record(task="a", attempts=blocked),
        record(task="b", phases=[phase]),
        record(task="c"),
    ]
    edits = result_table(records, team="x").rows[0].edits
    assert (edits.attempted_episodes, edits.blocked_episodes, edits.landed_episodes) == (2, 1, 1)
    assert (edits.distinct, edits.landed_distinct, edits.unattributed) == (4, 1, 1)
    text = plain(result_table(records, team="x").sheet())
    assert "900" not in text


def test_caches_alone_are_no_landed_edit(record: Any) -> None:
    change = {"zone": "workspace", "path": "__pycache__", "change": "created", "cross_role": True}
    phase = {"index": 0, "role": "verifier", "round": 1, "started": 0.0, "ended": 1.0,
             "outcome": "done", "returncode": 0, "attempts": {"incidental": 4}}  # fmt: skip
    cache = [{**change, "incidental": True}]
    quiet = record(phases=[{**phase, "changes": cache, "changed": {"cross_role": 1}}])
    edited = record(
        phases=[{**phase, "changes": [change], "changed": {"cross_role": 1, "landed": 1}}]
    )
    assert result_table([quiet], team="x").rows[0].edits.landed_episodes == 0
    assert result_table([edited], team="x").rows[0].edits.landed_episodes == 1


def test_a_repair_by_the_verifier_is_counted(record: Any) -> None:
    def grade(word: str) -> dict[str, str]:
        return {"grade": word, "trust": "outside"}

    row = {"round": 1, "phase": 0, "verdict": "approve",
           "grade_before": grade("fail"), "grade_after": grade("pass")}  # fmt: skip
    fixed = record(verdicts=[row])
    honest = record(verdicts=[{**row, "grade_before": grade("pass")}])
    assert repaired(fixed) and not repaired(honest)
    assert result_table([fixed], team="x").rows[0].repaired == 1


def test_trust_and_isolation_stand_in_the_row(record: Any) -> None:
    records = [record(task="a"), record(task="b", trust="untrusted", isolated=False)]
    row = result_table(records, team="x").rows[0]
    assert (row.trust, row.verdict_isolated) == (("outside", "untrusted"), False)
    assert "outside, untrusted" in plain(result_table(records, team="x").sheet())


def test_json_is_json(many: Any) -> None:
    data = json.loads(json.dumps(result_table(many(MIX), team="x").json(), allow_nan=False))
    assert data["conditions"][0]["counts"]["approve_fail"] == 4


@pytest.mark.pain(21)
def test_published_counts_give_the_published_rates(record: Any) -> None:
    """TeamBench's pooled table: 49.4 % [45.9, 52.9] with missing verdicts excluded."""
    low, high = proportion_confint(384, 384 + 394, method="wilson")
    records = [
        record(task=f"t{n}", verdict="approve" if n < 384 else "reject", grade="fail")
        for n in range(384 + 394)
    ]
    rate = false_approvals(records).excluded
    assert rate.interval is not None and rate.rate == pytest.approx(0.494, abs=5e-4)
    assert (rate.interval.low, rate.interval.high) == pytest.approx((low, high))
    assert (rate.interval.low, rate.interval.high) == pytest.approx((0.459, 0.529), abs=5e-4)


def both(many: Any) -> Any:
    records = [*many(MIX), *many(MIX, condition="prompt-only")]
    return result_table(records, team="x", conditions=["prompt-only", "enforced"]).sheet()


def test_on_eighty_columns_it_is_one_line_a_measure(many: Any) -> None:
    table, *notes = plain(both(many), 80).partition("attempted, blocked")
    lines = table.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[-1] for line in lines[1:3]] == ["enforced", "21"]
    assert lines[1].split() == ["condition", "prompt-only", "enforced"]
    assert sum("4/10 40.0%" in line for line in lines) == 1
    assert "4/10 40.0%" in notes[-1]


def test_a_wide_terminal_shows_one_line_a_condition(many: Any) -> None:
    lines = plain(both(many), 200).splitlines()
    assert lines[1].startswith("condition") and lines[1].endswith("isolated")
    assert [line.split()[0] for line in lines[2:4]] == ["prompt-only", "enforced"]


@pytest.mark.parametrize("columns", [80, 200])
def test_the_units_stand_in_one_line_below(many: Any, columns: int) -> None:
    legend = "attempted, blocked, landed: episodes with at least one (distinct pairs/entries)"
    assert plain(both(many), columns).splitlines().count(legend) == 1
    assert len(legend) <= 80


def test_phases_that_failed_are_counted_below(record: Any) -> None:
    phase = {"index": 0, "role": "verifier", "round": 1, "started": 0.0, "ended": 1.0,
             "returncode": None}  # fmt: skip
    outcomes = ["failed", "timeout", "failed", "done", "blocked"]
    records = [record(task=o + str(n), phases=[{**phase, "outcome": o}])
               for n, o in enumerate(outcomes)]  # fmt: skip
    table = result_table(records, team="x")
    assert "under enforced 3 phases failed (2 failed, 1 timeout)" in plain(table.sheet())
    assert table.json()["conditions"][0]["phases_failed"] == {"failed": 2, "timeout": 1}
    assert "failed" not in plain(result_table(records[3:], team="x").sheet())
