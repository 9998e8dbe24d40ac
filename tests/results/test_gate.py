from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pytest

from rolewall.errors import InputError
from rolewall.gate import Decision, Rules, decide_dataset
from rolewall.gate import decide as decide_rows
from rolewall.record import EpisodeRecord, ErrorRecord
from rolewall.records import read_dataset
from rolewall.rows import row_of

TEN = Rules(max_false_approval=0.10)
REJECTED, APPROVED, SILENT = ("reject", "fail"), ("approve", "fail"), ("missing", "fail")
GOOD = ("approve", "pass")
VERSION = {"task": "x", "team": hashlib.sha256(b"team").hexdigest(),
           "code": hashlib.sha256(b"code").hexdigest()}  # fmt: skip


def decide(records: Sequence[EpisodeRecord], rules: Rules, *condition: str) -> Decision:
    return decide_rows(tuple(map(row_of, records)), rules, *condition)


def test_none_false_in_thirty_five_holds(many: Any) -> None:
    decision = decide(many([REJECTED] * 35), TEN)
    assert (decision.status, decision.exit_code, decision.needed) == ("holds", 0, None)


def test_none_false_in_thirty_four_is_undecided_and_says_thirty_five(many: Any) -> None:
    decision = decide(many([REJECTED] * 34), TEN)
    assert (decision.status, decision.exit_code, decision.needed) == ("undecided", 4, 35)
    assert "35 in all" in " ".join(decision.lines())


def test_a_lower_bound_above_the_limit_fails(many: Any) -> None:
    decision = decide(many([APPROVED] * 10 + [REJECTED] * 10), TEN)
    assert (decision.status, decision.exit_code) == ("failed", 1)


def test_a_rate_below_the_limit_is_not_enough(many: Any) -> None:
    decision = decide(many([APPROVED] + [REJECTED] * 19), TEN)
    assert (decision.status, decision.exit_code) == ("undecided", 4)
    assert decision.needed is not None and decision.needed > 35


@pytest.mark.pain(5)
def test_no_episode_is_never_a_pass() -> None:
    decision = decide([], TEN)
    assert (decision.status, decision.exit_code, decision.needed) == ("undecided", 4, 35)


@pytest.mark.pain(5)
def test_passing_work_alone_decides_nothing(many: Any) -> None:
    decision = decide(many([GOOD] * 100), TEN)
    assert (decision.exit_code, decision.needed) == (4, 35)


@pytest.mark.pain(21)
def test_a_silent_verifier_does_not_hold(many: Any) -> None:
    records = many([REJECTED] * 60 + [SILENT] * 30)
    decision = decide(records, TEN)
    assert (decision.status, decision.exit_code) == ("undecided", 4)
    assert "no verdict on 30 of 90" in decision.reasons[0]
    assert decide(many([REJECTED] * 60), TEN).exit_code == 0


def test_silence_alone_does_not_fail(many: Any) -> None:
    assert decide(many([SILENT] * 100), TEN).exit_code == 4


def test_errors_above_the_limit_refuse_before_anything_else(many: Any) -> None:
    records = many([REJECTED] * 40 + [("missing", "error")], trust="untrusted")
    decision = decide(records, TEN)
    assert (decision.status, decision.exit_code, decision.errors) == ("refused", 3, 1)
    assert "1 episode ended in error" in decision.reasons[0]


def test_errors_within_the_limit_enter_no_rate(many: Any) -> None:
    records = many([REJECTED] * 40 + [("approve", "fail")])
    broken = records[-1].model_copy(
        update={"status": "error", "error": ErrorRecord(kind="BoxError", message="x")}
    )
    decision = decide([*records[:-1], broken], Rules(0.10, max_errors=1))
    assert decision.exit_code == 0
    assert decision.numbers is not None and decision.numbers.excluded.total == 40


def test_untrusted_grades_are_never_gated(many: Any) -> None:
    decision = decide(many([REJECTED] * 50, trust="untrusted"), TEN)
    assert (decision.status, decision.exit_code) == ("refused", 4)
    assert "untrusted" in decision.reasons[0]
    assert decide(many([REJECTED] * 50, trust="in-process"), TEN).exit_code == 0


def test_verdicts_beside_the_work_are_refused_when_asked(many: Any) -> None:
    records = many([REJECTED] * 50, isolated=False)
    assert decide(records, Rules(0.10, require_isolated=True)).exit_code == 4
    assert decide(records, TEN).exit_code == 0
    assert decide(many([REJECTED] * 50), Rules(0.10, require_isolated=True)).exit_code == 0


def test_two_conditions_must_be_told_apart(many: Any) -> None:
    both = many([REJECTED] * 40) + many([APPROVED] * 40, condition="prompt-only")
    with pytest.raises(InputError, match="enforced, prompt-only"):
        decide(both, TEN)
    assert decide(both, TEN, "enforced").exit_code == 0
    assert decide(both, TEN, "prompt-only").exit_code == 1


@pytest.mark.parametrize(
    ("what", "more"),
    [
        ("teams", {"team": "others"}),
        ("backends", {"backend": "docker"}),
        ("images", {"task": "t0", "trial": 1, "image": "python:3.12"}),
        ("versions of a task", {"task": "t0", "trial": 1, "digests": VERSION}),
    ],
)
def test_two_sources_never_pool(many: Any, record: Any, what: str, more: dict[str, str]) -> None:
    with pytest.raises(InputError, match=what):
        decide([*many([REJECTED] * 3), record(**{"task": "other", **more})], TEN)


def test_tasks_may_bring_images_of_their_own(record: Any) -> None:
    records = [record(task=f"t{n}", image=f"image{n}", verdict="reject", grade="fail")
               for n in range(35)]  # fmt: skip
    assert decide(records, TEN).exit_code == 0


@pytest.mark.parametrize("limit", [0.0, 1.0, -0.1, 1.5, float("nan"), float("inf")])
def test_the_limit_lies_between_zero_and_one(limit: float) -> None:
    with pytest.raises(InputError, match="max-false-approval"):
        Rules(max_false_approval=limit)


def test_repeats_of_few_tasks_do_not_count_as_many(record: Any) -> None:
    repeats = [record(task=f"t{n % 5}", trial=n // 5, verdict="reject", grade="fail")
               for n in range(100)]  # fmt: skip
    decision = decide(repeats, TEN)
    assert decision.exit_code == 4
    assert decision.reasons[-1].startswith("trials of one task repeat one another")
    (said,) = [line for line in decision.lines() if line.startswith("[ ]: 95 % interval")]
    assert "failing work: 100 episodes of 5 tasks count as" in said


def test_what_is_so_of_every_bound_is_said_once(record: Any) -> None:
    """Three bounds wait for other tasks, and one line says that; the JSON of each has it."""
    pairs = [("reject", "fail"), ("approve", "pass")]
    few = [record(task=f"t{n % 3}", trial=n, verdict=verdict, grade=grade)
           for n, (verdict, grade) in enumerate(pairs * 9)]  # fmt: skip
    decision = decide(few, Rules(0.1, max_false_rejection=0.1, max_missing=0.1))
    said = [line for line in decision.lines() if "repeat one another" in line]
    assert len(said) == 1 and not said[0].startswith("false")
    assert decision.lines().count("no verdict is missing") == 1
    bounds = decision.json()["bounds"]
    assert all("repeat one another" in bound["reasons"][-1] for bound in bounds)
    assert {"excluded", "as_reject", "as_approval"} <= set(decision.json()["false_approvals"])


def test_trials_that_do_not_repeat_are_not_counted_as_less(many: Any) -> None:
    lines = decide(many([("reject", "fail")] * 35), TEN).lines()
    assert [line for line in lines if line.startswith("[ ]")] == ["[ ]: 95 % interval"]
    wide = decide(many([("reject", "fail")] * 35), Rules(0.1, confidence=0.9)).lines()
    assert "[ ]: 90 % interval" in wide


def test_an_incomplete_run_is_refused(builder: Any) -> None:
    for n in range(40):
        builder.add(task=f"t{n}", verdict="reject", grade="fail")
    run = read_dataset(builder.finish(planned=41))
    decision = decide_dataset(run, TEN)
    assert (decision.status, decision.exit_code, decision.absent) == ("refused", 4, 1)
    assert decide_dataset(run, Rules(0.10, allow_partial=True)).exit_code == 0


def test_a_condition_is_complete_by_itself(builder: Any) -> None:
    for n in range(40):
        builder.add(task=f"t{n}", verdict="reject", grade="fail")
    run = read_dataset(builder.finish(conditions=["enforced", "prompt-only"], planned=80))
    assert decide_dataset(run, TEN, "enforced").exit_code == 0
    assert decide_dataset(run, TEN, "prompt-only").exit_code == 4
    with pytest.raises(InputError, match="no such condition"):
        decide_dataset(run, TEN, "solo")


@pytest.mark.pain(20)
@pytest.mark.pain(21)
def test_json_says_what_the_text_says(many: Any) -> None:
    decision = decide(many([REJECTED] * 30 + [APPROVED] + [SILENT]), TEN)
    data = decision.json()
    assert data["status"] == decision.status and data["exit_code"] == decision.exit_code
    rates = data["false_approvals"]
    assert (rates["excluded"]["events"], rates["excluded"]["total"]) == (1, 31)
    assert (rates["as_reject"]["events"], rates["as_reject"]["total"]) == (1, 32)
    assert (rates["as_approval"]["events"], rates["as_approval"]["total"]) == (2, 32)
    assert (rates["verifier_failure"]["events"], rates["verifier_failure"]["total"]) == (2, 32)
    assert any("1/31" in line for line in decision.lines())


def test_two_versions_of_the_code_never_pool(many: Any, record: Any) -> None:
    other = {**VERSION, "task": hashlib.sha256(b"z").hexdigest(), "code": "0" * 64}
    with pytest.raises(InputError, match="versions of rolewall's code"):
        decide([*many([REJECTED] * 3), record(task="z", digests=other)], TEN)


@pytest.mark.parametrize(
    ("same", "word"), [("key", "one key"), ("ledger_head", "one ledger"), ("trial", "one episode")]
)
def test_a_record_counts_once(record: Any, same: str, word: str) -> None:
    first = record(task="a", verdict="reject", grade="fail")
    task = "a" if same == "trial" else "b"
    copy = record(task=task, verdict="reject", grade="fail", seed=99,
                  **({} if same == "trial" else {same: getattr(first, same)}))  # fmt: skip
    with pytest.raises(InputError, match=f"two records of {word}"):
        decide([first, copy], TEN)
    other = record(task="c", verdict="reject", grade="fail")
    assert decide([first, other], TEN).episodes == 2


def test_what_is_not_bounded_is_said(many: Any, record: Any) -> None:
    graded = {"grade": "pass", "trust": "outside"}
    row = {"round": 1, "phase": 0, "verdict": "approve", "grade_after": graded,
           "grade_before": {**graded, "grade": "fail"}}  # fmt: skip
    repaired = record(task="fixed", verdicts=[row])
    decision = decide([*many([REJECTED] * 35 + [("reject", "pass")]), repaired], TEN)
    text = "\n".join(decision.lines())
    assert "false rejections (reject∧pass), given passing work: 1/2 50.0%" in text
    assert "repaired by a verifier: 1 episode\n" in text
    assert "bounds false approvals alone" in text
    data = decision.json()
    assert (data["false_rejections"]["events"], data["repaired"]) == (1, 1)
    assert ([b["name"] for b in data["bounds"]], data["phases_failed"]) == (
        ["false approvals"],
        {},
    )


def test_agents_that_failed_are_named(record: Any) -> None:
    phase = {"index": 0, "role": "verifier", "round": 1, "started": 0.0, "ended": 1.0,
             "outcome": "failed", "returncode": 127}  # fmt: skip
    records = [record(task=f"t{n}", verdict="reject", grade="fail", phases=[phase])
               for n in range(35)]  # fmt: skip
    decision = decide(records, TEN)
    assert decision.exit_code == 0
    assert any(line.startswith("35 phases failed (35 failed)") for line in decision.lines())
    assert decision.json()["phases_failed"] == {"failed": 35}


def test_small_limits_are_printed_as_they_are(many: Any) -> None:
    decision = decide(many([REJECTED] * 5), Rules(max_false_approval=0.0004))
    assert "not enough to decide on 0.04%" in decision.reasons[0]
    decision = decide(many([APPROVED] * 5), Rules(max_false_approval=0.0004))
    assert "is above 0.04%" in decision.reasons[0]


def test_a_try_that_an_agent_could_end_in_an_error_is_an_error_that_stays(many: Any) -> None:
    again = many([REJECTED] * 35)
    error = ErrorRecord(kind="ModelUnavailable", message="status 429")
    again[3] = again[3].model_copy(update={"tries": (error,)})
    decision = decide(again, TEN)
    assert decision.exit_code == 3 and "1 earlier try" in " ".join(decision.lines())
    assert decide(again, Rules(max_false_approval=0.10, max_errors=1)).exit_code == 0
    engine = ErrorRecord(kind="BackendUnavailable", message="the engine was down")
    again[3] = again[3].model_copy(update={"tries": (engine,)})
    assert decide(again, TEN).exit_code == 0
