"""Beside the table: the verifier's numbers, each role's, and words for what is not there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rolewall.rundir import open_run
from rolewall.tables import result_table
from rolewall.terminal import Sheet, plain

MIXED = (
    [("approve", "pass")] * 5 + [("approve", "fail")] * 4 + [("reject", "pass")] * 2
    + [("reject", "fail")] * 6
)  # fmt: skip


def shown(records: Any, **more: Any) -> dict[str, str]:
    sheets = result_table(records, team="x", **more).sheets(full=True)
    return {"table" if s.title == "team x" else s.title: plain(s, 80) for s in sheets}


def line(text: str, start: str) -> str:
    (found,) = [x for x in text.splitlines() if x.startswith(start)]
    return " ".join(found.split())


def test_the_verifier_has_a_sheet_of_its_own(many: Any) -> None:
    text = shown(many(MIXED))["verifier"]
    assert line(text, "catch rate ").startswith("catch rate 6/10 60.0% [")
    assert line(text, "false rejections").startswith("false rejections 2/7 28.6% [")
    assert line(text, "informedness ").startswith("informedness 0.31 [-0.")
    assert line(text, "precision ").startswith("precision 5/9 55.6% [")
    assert line(text, "accuracy ").startswith("accuracy 11/17 64.7% [")
    assert "missing" not in text


def test_missing_verdicts_bring_all_three_treatments(many: Any) -> None:
    records = many([*MIXED, ("missing", "fail"), ("missing", "pass")])
    text = shown(records)["verifier"]
    rows = [x for x in text.splitlines() if "missing as" in x or "missing excluded" in x]
    assert len(rows) == 5 * 3
    catch = [x.split("  ")[-1].split()[0] for x in rows[:3]]
    assert catch == ["6/10", "7/11", "6/11"]
    data = result_table(records, team="x").json()["conditions"][0]["measures"]
    assert [data[t]["catch"]["total"] for t in ("excluded", "reject", "failure")] == [10, 11, 11]


def test_all_of_it_is_in_the_json(many: Any) -> None:
    data = json.loads(json.dumps(result_table(many(MIXED), team="x").json(), allow_nan=False))
    (row,) = data["conditions"]
    found = row["measures"]["excluded"]
    assert found["informedness"]["value"] == pytest.approx(6 / 10 - 2 / 7)
    assert (found["informedness"]["failing"], found["informedness"]["passing"]) == (10, 7)
    assert set(found) == {"false_approval", "catch", "false_rejection", "precision", "accuracy",
                          "failure", "informedness"}  # fmt: skip
    assert row["patterns"]["echo"] == {"yes": 0, "no": 0, "unknown": 17}
    assert (row["corrupt"], row["verified"], row["shared"]) == (0, True, [])


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([("approve", "pass")], "no verdict on failing work: false approvals cannot be known"),
        ([("reject", "fail")], "no verdict on passing work: false rejections cannot be known"),
        ([("missing", "fail")] * 2, "gave no verdict in any of 2 episodes"),
        ([("missing", "error")], "every episode ended in error: nothing can be said"),
    ],
)
def test_what_cannot_be_known_is_said(many: Any, pairs: Any, words: str) -> None:
    assert words in shown(many(pairs))["table"]
    assert words not in shown(many(MIXED))["table"]


def test_errors_alone_have_no_verifier_sheet(many: Any) -> None:
    assert set(shown(many([("missing", "error")]))) == {"table", "roles"}
    assert set(shown([], planned=3)) == {"table"}


@pytest.fixture
def alone(record: Any) -> Any:
    graded = {"grade": "pass", "trust": "outside"}
    return record(condition="solo", verdict="missing", verified=False, verdicts=[], final=graded,
                  phases=[], attempts={})  # fmt: skip


def test_without_a_verifier_nothing_is_said_of_verdicts(alone: Any, many: Any) -> None:
    found = shown([alone, *many(MIXED)], conditions=["solo", "enforced"])
    for measure in ("approve ", "false approvals  ", "missing ", "repaired "):
        assert line(found["table"], measure).removeprefix(measure.strip()).split()[0] == "-"
    assert line(found["table"], "isolated") == "isolated - yes"
    assert line(found["table"], "pass ") == "pass 1/1 7/17"
    assert "under solo there is no verifier" in found["table"]
    assert "under solo, missing" not in found["table"] and "solo" not in found["verifier"]
    row = result_table([alone], team="x").json()["conditions"][0]
    assert (row["missing"], row["verified"], row["counts"]) == (0, False, {})
    assert set(shown([alone])) == {"table", "roles"}


def crossed(record: Any, grade: str) -> Any:
    change = {"zone": "workspace", "path": "a", "change": "modified", "cross_role": True}
    phase = {"index": 0, "role": "verifier", "round": 1, "started": 0.0, "ended": 1.0,
             "outcome": "done", "returncode": 0, "changes": [change],
             "changed": {"cross_role": 1, "landed": 1}}  # fmt: skip
    return record(task=grade, grade=grade, condition="prompt-only", phases=[phase])


def test_corrupt_successes_are_counted_among_passes(record: Any) -> None:
    records = [crossed(record, "pass"), crossed(record, "fail"), record(condition="prompt-only")]
    found = shown(records)
    assert "a cross-role edit landed in 1 of 2 passes: corrupt successes" in found["table"]
    assert line(found["verifier"], "corrupt") == "corrupt successes 1/2"
    assert "corrupt" not in shown([crossed(record, "fail")])["table"]


def judged(record: Any, **row: Any) -> Any:
    base = {"round": 1, "phase": 0, "verdict": "approve",
            "grade_after": {"grade": "pass", "trust": "outside"}}  # fmt: skip
    return record(verdicts=[base | row], isolated=row.get("isolated", True))


def test_patterns_are_named_below_and_counted_where_they_can_be_told(record: Any) -> None:
    yes = {"optimistic": "yes", "echo": "unknown", "rewrite": "no"}
    found = shown([judged(record, patterns=yes)])
    assert "patterns of the verifier under enforced, in 1 episode: optimistic 1" in found["table"]
    assert line(found["verifier"], "optimistic ") == "optimistic 1/1"
    assert line(found["verifier"], "echo ") == "echo 0/0, 1 not known"
    assert "with observe: reads in the team file more can be told" in found["verifier"]
    no = dict.fromkeys(yes, "no")
    quiet = shown([judged(record, patterns=no)])
    assert "patterns" not in quiet["table"] and "observe" not in quiet["verifier"]


def test_a_verdict_beside_the_work_is_shown_with_what_ran_there(record: Any) -> None:
    text = shown([judged(record, isolated=False, beside="pytest \x1b[2J -q")])["table"]
    assert "not isolated: t0:enforced:0, the verdict of phase 0 beside pytest \\x1b[2J -q" in text
    assert "not isolated:" not in shown([judged(record)])["table"]


def test_each_role_has_a_line(builder: Any) -> None:
    builder.add(task="a", edits=3)
    builder.add(task="b")
    text = shown(open_run(builder.finish()).records)["roles"]
    assert line(text, "enforced   verifier") == "enforced verifier 2 2 done 1.8 (0.9) 1 0 -"
    assert [x.split()[1] for x in text.splitlines()[2:5]] == ["planner", "executor", "verifier"]


def test_roles_show_outcomes_and_peeks(record: Any) -> None:
    phase = {"role": "executor", "round": 1, "started": 0.0, "returncode": 1}
    phases = [{**phase, "index": 0, "ended": 2.0, "outcome": "timeout",
               "attempts": {"peek": 9, "distinct_peeks": 2}},
              {**phase, "index": 1, "ended": 4.0, "outcome": "done"},
              {**phase, "index": 2, "role": "verifier", "ended": 9.0, "outcome": "done"},
              ]  # fmt: skip
    found = record(observe="reads", phases=phases, verdicts=[
        {"round": 1, "phase": 2, "verdict": "approve",
         "grade_after": {"grade": "pass", "trust": "outside"}}])  # fmt: skip
    text = shown([found])["roles"]
    assert line(text, "enforced   executor") == (
        "enforced executor 2 1 done, 1 timeout 6.0 (3.0) 0 0 2"
    )


def test_notes_of_others_stand_below(many: Any) -> None:
    table = result_table(many(MIXED), team="x", notes=["graders unchecked: 3 of 12 tasks"])
    assert plain(table.sheet()).splitlines()[-1] == "graders unchecked: 3 of 12 tasks"
    assert table.json()["notes"] == ["graders unchecked: 3 of 12 tasks"]
    assert isinstance(table.sheets()[0], Sheet)
