"""TeamBench's results as its runners write them (github.com/ybkim95/TeamBench, d185aef):
small files of the same shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.errors import RecordError
from rolewall.records import RecordMapping, read_dataset

if TYPE_CHECKING:
    from conftest import Command, Put

RUN = {
    "condition": "full", "task_id": "P1_policy_config", "seed": 0, "run_id": "2026_a",
    "run_dir": "shared/runs/2026_a", "pass": True, "partial_score": 0.75, "elapsed_sec": 41.9,
    "failure_modes": ["bad_attestation"], "error": None,
}  # fmt: skip
ABLATION = {
    "model": "m-1", "tasks": ["P1_policy_config"], "seeds": [0], "completed": "2026-02-26",
    "metrics": {"tni": 0.14}, "per_condition": {"full": {"passes": 1, "total": 1}},
}  # fmt: skip
CAMPAIGN = {
    "model": "m-1", "task_id": "S1_hidden_spec", "seed": 2, "run_id": "r", "pass": False,
    "partial_score": None, "agent_verdict": "pass", "total_turns": 9, "elapsed_sec": 3.5,
    "token_usage": {"total_tokens": 5}, "failure_modes": [],
}  # fmt: skip
AGENT = {
    "task_id": "S1_hidden_spec", "run_id": "r", "model": "m-1", "seed": 1,
    "agent_verdict": "fail", "grader_verdict": "fail", "elapsed_sec": 3.5,
    "score": {"pass": False, "secondary": {"partial_score": 0.5}, "failure_modes": []},
}  # fmt: skip
SUMMARY = {
    "condition": "prompt_only", "model": "m-1", "task": "P1_policy_config", "seed": 0,
    "started_at": "2026-04-24T17:39:22", "error": None, "elapsed_sec": 127.37, "pass": True,
    "orchestrator_result": {"task_id": "P1_policy_config", "verdict": "pass"},
    "score": {"pass": True, "secondary": {"partial_score": 1.0}},
}  # fmt: skip


def put_json(put: Put, found: object, indent: int | None = 2) -> Any:
    return put(json.dumps(found, indent=indent), "results.json")


@pytest.mark.parametrize("indent", [2, None])
def test_an_ablation_has_grades_and_no_verdicts(put: Put, indent: int | None) -> None:
    theirs = ["full", "oracle", "restricted", "team_no_plan", "team_no_verify", "prompt_only",
              "enforced_shared_history", "topo_iterative"]  # fmt: skip
    runs = [{**RUN, "condition": name} for name in theirs]
    found = read_dataset(put_json(put, {**ABLATION, "runs": runs}, indent))
    assert [row.condition for row in found.rows] == [
        "enforced", "solo", "restricted", "no-plan", "no-verify", "prompt-only-open",
        "enforced-shared-history", "topo_iterative",
    ]  # fmt: skip
    row = found.rows[0]
    assert (row.task, row.trial, row.grade, row.score, row.seconds, row.source.model) == (
        "P1_policy_config", 0, "pass", 0.75, 41.9, "m-1")  # fmt: skip
    assert (row.verdict, row.verified, found.origin) == ("missing", False, "teambench")
    assert any("hold no verdicts" in note for note in found.notes)


def test_the_gate_has_nothing_to_decide_on_there(put: Put, gate: Command) -> None:
    done = gate(put_json(put, {**ABLATION, "runs": [RUN]}))
    assert done.code == 2
    assert "verifier" in done.text


def test_older_ablations_nest_the_score_and_leave_keys_out(put: Put) -> None:
    run = {"task_id": "t", "condition": "oracle", "seed": 1, "pass": False,
           "secondary": {"partial_score": 0.67}}  # fmt: skip
    (row,) = read_dataset(put_json(put, {"model": "m", "runs": [run]})).rows
    assert (row.score, row.seconds, row.grade) == (0.67, None, "fail")


def test_a_campaign_has_verdicts(put: Put, gate: Command) -> None:
    broken = {"model": "m-1", "task_id": "t", "seed": 0, "pass": False, "error": "503\nlater"}
    path = put_json(put, {"campaign_dir": "c", "results": [CAMPAIGN, broken]})
    approved, errored = read_dataset(path).rows
    assert (approved.verdict, approved.grade, approved.condition, approved.verified) == (
        "approve", "fail", "enforced", True)  # fmt: skip
    assert (errored.error, errored.verdict) == ("503", "missing")
    assert gate(path).code == 3


def test_the_agent_runner_and_what_it_writes_of_a_broken_task(put: Put) -> None:
    path = put_json(put, {"results": [AGENT, {"task_id": "t", "error": "boom"}], "model": "m-1"})
    judged, broken = read_dataset(path).rows
    assert (judged.verdict, judged.grade, judged.score, judged.trial) == ("missing", "fail", 0.5, 1)
    assert (broken.error, broken.grade, broken.source.model) == ("boom", "error", "m-1")


@pytest.mark.parametrize("found", [SUMMARY, [SUMMARY, {**SUMMARY, "condition": "enforced"}]])
def test_summaries_of_runs(put: Put, found: Any) -> None:
    row = read_dataset(put_json(put, found)).rows[0]
    assert (row.condition, row.verdict, row.grade, row.score, row.seconds) == (
        "prompt-only-open", "approve", "pass", 1.0, 127.37)  # fmt: skip


def test_a_mapping_stands_above_the_defaults(put: Put) -> None:
    path = put_json(put, {"results": [{**CAMPAIGN, "agent_verdict": "unknown"}]})
    with pytest.raises(RecordError, match=r"json:1: .*'unknown'.*--value verdict:unknown=WORD"):
        read_dataset(path)
    mapping = RecordMapping(
        values={"verdict": {"unknown": "missing"}}, constants={"condition": "no-plan"}
    )
    (row,) = read_dataset(path, mapping).rows
    assert (row.verdict, row.condition) == ("missing", "no-plan")


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ([RUN, RUN], ":2: two records of one episode.*trial 0"),
        ([{**RUN, "pass": "yes"}], ":1: not a value of `grade`; got 'yes'"),
        ([{**RUN, "pass": None}], ":1: no `grade`"),
        ([{**RUN, "seed": -1}], ":1: not a value of `trial`"),
        ([{**RUN, "condition": "enforced"}, RUN], ":2: two records of one episode"),
        ([{"id": 1}], "no records that are known here"),
        ([1], "no records that are known here"),
        ([{**AGENT, "verdict": "pass"}], ":1: a run that says two things.*agent_verdict"),
        ([AGENT, {**AGENT, "orchestrator_result": {"verdict": "pass"}}], ":2: .*two things"),
        ([{**AGENT, "grader_verdict": "pass"}], ":1: a run that says two things"),
        ([{**AGENT, "pass": True}], ":1: a run that says two things"),
        ([{**AGENT, "task": "another"}], ":1: a run that says two things"),
        ([{**AGENT, "Trust": "untrusted"}], ":1: a column that is nearly `trust`"),
        ([{**AGENT, "condition": "oracle", "agent_verdict": "pass"}], ":1: a verdict, and no ver"),
    ],
)
def test_refused_at_its_run(put: Put, runs: list[Any], words: str) -> None:
    with pytest.raises(RecordError, match=f"(?s)results.json.*{words}"):
        read_dataset(put_json(put, {**ABLATION, "runs": runs}))


def test_no_run_is_no_error_of_reading(put: Put, gate: Command) -> None:
    assert gate(put_json(put, {**ABLATION, "runs": []})).code == 4


def fails(number: int, **more: Any) -> dict[str, Any]:
    runs = [{"task_id": f"t{n}", "seed": 0, "agent_verdict": "fail", "pass": False, **more}
            for n in range(number)]  # fmt: skip
    return {"results": runs}


def test_a_fail_may_be_no_verdict_and_never_holds_unsaid(put: Put, gate: Command) -> None:
    path = put_json(put, fails(40))
    done = gate(path)
    assert done.code == 4
    assert "so do 40 of 40 runs: read as missing" in done.text
    said = gate(path, "--value", "verdict:fail=reject")
    assert said.code == 0
    assert "read as missing" not in said.text
    assert gate(put_json(put, fails(40, condition="team_no_verify"))).code == 2


def test_two_lists_of_runs_are_refused(put: Put) -> None:
    found = {**fails(1), "runs": [{**RUN, "task_id": "u"}]}
    for both in (found, {**found, "runs": []}, {**found, "results": []}):
        with pytest.raises(RecordError, match=r"two lists of runs; got '`runs` and `results`'"):
            read_dataset(put_json(put, both))
    assert len(read_dataset(put_json(put, {**found, "runs": {"total": 1}})).rows) == 1


def test_what_is_said_twice_and_alike_is_one_thing(put: Put) -> None:
    run = {**AGENT, "task": AGENT["task_id"], "pass": False, "verdict": "fail",
           "orchestrator_result": {"verdict": "fail", "task_id": AGENT["task_id"]}}  # fmt: skip
    (row,) = read_dataset(put_json(put, {"results": [run]})).rows
    assert (row.task, row.grade, row.verdict) == ("S1_hidden_spec", "fail", "missing")


def test_whom_a_run_is_of_and_its_trust_are_read_and_the_rest_is_named(
    put: Put, gate: Command
) -> None:
    more = {"team": "m0", "verifier": "v", "trust": "untrusted", "cost": 3, "edits": 2}
    found = read_dataset(put_json(put, fails(40, **more)))
    row = found.rows[0]
    assert (row.source.team, row.source.verifier, row.trust) == ("m0", "v", "untrusted")
    assert "keys not used: cost, edits" in found.notes
    assert gate(put_json(put, fails(40, **more)), "--value", "verdict:fail=reject").code == 4
    assert not any("not used" in note for note in read_dataset(put_json(put, fails(2))).notes)
