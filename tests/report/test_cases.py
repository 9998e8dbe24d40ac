"""Runs and records of every kind: a clear word, the right exit code, no broken picture."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Cli

Report = Callable[..., Any]
Here = Callable[..., Any]
ERROR = {"grade": "error", "status": "error", "error": {"kind": "BoxError", "message": "gone"}}


@pytest.mark.parametrize(
    ("episodes", "code", "said"),
    [
        ([], 4, "enforced: no episode was evaluated. This is not a pass."),
        ([ERROR, ERROR], 4, "enforced: all of 2 episodes ended in error"),
        ([{"verdict": "missing"}], 0, "the verifier gave no verdict in any of 1 episode"),
        ([{"verdict": "approve"}], 0, "there was no failing work; whether it approves broken"),
        ([{"verdict": "reject"}], 0, "It approved nothing at all, which is no skill."),
        ([{"grade": "fail"}], 0, "There was no passing work; whether it approves what is right"),
        ([{"verdict": "reject", "grade": "fail"}], 0, "approved 0 of 1 piece of failing work"),
    ],
)
def test_a_run_of_one_kind_is_said_to_be_one(
    builder: Any, report: Report, episodes: list[dict[str, Any]], code: int, said: str
) -> None:
    for number, fields in enumerate(episodes):
        builder.add(task=f"t{number}", **fields)
    page = report(builder.finish(), code=code)
    assert said in page.text
    assert "What did enforcement change?" in page.text


def test_an_unfinished_run_says_what_is_absent(builder: Any, report: Report) -> None:
    builder.add(grade="fail")
    page = report(builder.finish(trials=3, planned=3))
    assert "Incomplete: 1 of 3 planned episodes have a record." in page.text
    cell = page.table("Verdict beside grade")["planned, without a record"]["enforced"]
    assert "".join(cell.itertext()) == "2"


def test_graders_that_are_unchecked_or_weak_are_named(builder: Any, report: Report) -> None:
    marks = {"a": "A", "b": "C", "c": None}
    for task in marks:
        builder.add(task=task)
    digests = {record.task: record.digests["task"] for record in builder.records}
    tasks = [{"id": t, "digest": digests[t], "checked": mark} for t, mark in marks.items()]
    text = report(builder.finish(tasks=tasks)).text
    assert (
        "Graders unchecked: 1 of 3 tasks: c (rolewall check-grader --backend bubblewrap PATH)."
        in text
    )
    assert "Graders found weak: 1 of 3 tasks: b (C)." in text


def test_conditions_that_do_not_pair_are_named(builder: Any, report: Report) -> None:
    builder.add(task="a")
    builder.add(task="b", condition="prompt-only")
    page = report(builder.finish())
    assert "No episode pairs enforced with prompt-only: no episode under" in page.text


def test_a_table_of_another_harness_has_numbers_and_no_timeline(
    tmp_path: Path, report: Report
) -> None:
    table = tmp_path / "theirs.csv"
    table.write_text(
        "id,arm,attempt,decision,outcome\n"
        + "".join(
            f"t{n},{arm},0,LGTM,{'fail' if arm == 'a' else 'pass'}\n"
            for n in range(4)
            for arm in "ab"
        )
    )
    options = [word for pair in ("task=id", "condition=arm", "trial=attempt", "verdict=decision",
                                 "grade=outcome") for word in ("--map", pair)]  # fmt: skip
    page = report(table, *options, "--value", "verdict:LGTM=approve")
    assert (tmp_path / "theirs.csv.report.html").is_file()
    assert "a: approved 4 of 4 pieces of failing work that it judged" in page.text
    assert "no ledger, no timeline, no diffs" in page.text
    assert "attempts are not stated in these records" in page.text
    assert not page.all("details") and len(page.all("article")) == 8
    assert "in full" not in page.text and "One by one" in page.text
    assert "b against a, over 4 pairs:" in page.answers


def test_verifiers_of_several_sources_are_never_pooled(tmp_path: Path, report: Report) -> None:
    table = tmp_path / "two.jsonl"
    rows = [
        {
            "task": f"t{n}",
            "condition": "c",
            "trial": 0,
            "verdict": verdict,
            "grade": "fail",
            "team": team,
        }
        for n in range(3)
        for team, verdict in (("x", "approve"), ("y", "reject"))
    ]
    table.write_text("\n".join(map(json.dumps, rows)))
    page = report(table)
    assert "x, c: approved 3 of 3" in page.text and "y, c: approved 0 of 3" in page.text


@pytest.mark.parametrize("without", [0, 1, 40, 41])
def test_rows_without_a_verifier_hide_none_that_have_one(
    tmp_path: Path, report: Report, without: int
) -> None:
    """Whichever are more, and whatever stands in one table under one condition."""
    lines = [f"t{n},,{('pass', 'fail')[n % 2]},no" if n < without else f"t{n},approve,fail,yes"
             for n in range(41)]  # fmt: skip
    table = tmp_path / "mixed.csv"
    table.write_text("\n".join(["task,verdict,grade,verified", *lines]))
    page = report(table, "--max-false-approval", "0.1")
    trust = page.answers[: 3 if 0 < without < 41 else 2 if without == 0 else 1]
    grid = page.table("Verdict beside grade")
    said = f"unstated: approved {41 - without} of {41 - without} piece"
    assert trust[0].startswith(said) == (without < 41)
    if without == 41:
        assert "no verifier takes part, so there is no verdict" in trust[0]
        return
    (false,) = grid["approved, fails: false approval"].values()
    assert page.behind(false)[0] == 41 - without
    (cell,) = page.table("Rates")["false approval, of verdicts on failing work"].values()
    assert "".join(cell.itertext()).startswith(f"{41 - without}/{41 - without} 100.0%")
    (rejected,) = grid["no verdict, fails"].values()
    assert "".join(rejected.itertext()) == "0"  # nobody was asked
    if without:
        assert f"in {without} of 41 episodes no verifier takes part" in trust[1]
        assert "no decision: there is no verifier to decide on" in trust[2]
        (cell,) = grid["no verifier: in no rate of verdicts"].values()
        assert page.behind(cell)[0] == without
    else:
        assert "Gate at 10.0%, unstated: failed" in trust[1]


def test_a_verifiers_rows_that_all_ended_in_error_are_said_to_be(
    tmp_path: Path, report: Report
) -> None:
    table = tmp_path / "mixed.csv"
    table.write_text("task,verdict,grade,verified,error\na,,pass,no,\nb,approve,fail,yes,lost\n")
    (first, *_) = report(table).answers
    assert first == (
        "unstated: in 1 of 1 episode no verifier takes part; those that have one ended in error,"
        " which says nothing of it."
    )


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--max-false-approval", "2"], 2, "out of range"),
        (["--max-false-approval", "nan"], 2, "out of range"),
        (["-o", "."], 2, "not a file"),
        (["-o", "{run}/run.json"], 2, "in a run directory"),
        (["--map", "task=id"], 2, "run"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    builder: Any, here: Here, words: list[str], code: int, said: str
) -> None:
    builder.add()
    path = builder.finish()
    before = (path / "run.json").read_bytes()
    done = here(path, *(word.format(run=path) for word in words))
    assert (done.code, said in done.err) == (code, True), done.err
    assert not (path / "report.html").exists() and (path / "run.json").read_bytes() == before


@pytest.mark.parametrize("evidence", ["audit.jsonl", "manifests/02-verifier-workspace.jsonl"])
def test_evidence_that_was_changed_is_refused(builder: Any, here: Here, evidence: str) -> None:
    directory = builder.add(edits=2, landed=True)
    path = builder.finish()
    assert here(path).code == 0
    (directory / evidence).write_text((directory / evidence).read_text().replace("app", "apq"))
    done = here(path)
    assert done.code == 2 and evidence.rpartition("/")[2] in done.err


@pytest.mark.parametrize("evidence", ["audit.jsonl", "manifests", "../../blobs.git"])
def test_evidence_that_is_gone_is_said_to_be(builder: Any, report: Report, evidence: str) -> None:
    directory = builder.add(edits=2, landed=True)
    path = builder.finish()
    (directory / evidence).rename(directory.parents[2] / "taken")
    text = report(path).text
    assert any(words in text for words in ("or gone", "absent", "its content was not kept"))


def test_a_link_in_its_place_is_replaced_and_never_followed(
    builder: Any, here: Here, tmp_path: Path
) -> None:
    builder.add()
    path = builder.finish()
    other = tmp_path / "precious"
    other.write_text("kept")
    (path / "report.html").symlink_to(other)
    assert here(path).code == 0
    assert other.read_text() == "kept" and not (path / "report.html").is_symlink()


@pytest.mark.root
def test_a_report_that_cannot_be_written_is_exit_3(builder: Any, cli: Cli) -> None:
    builder.add()
    path = builder.finish()
    done = cli("report", path, "-o", "/proc/report.html")
    assert done.code == 3 and "cannot write" in done.err
    assert not os.path.exists("/proc/report.html")


def test_below_1_mb_whatever_the_run(builder: Any, bare: Any, report: Report) -> None:
    """What is left out is said, with the way to it; the numbers are of all."""
    long = "<&>\u202e" * 400
    graded = {"grade": "fail", "trust": "outside", "why": long}
    verdict = {"round": 1, "phase": 0, "verdict": "approve", "why": long,
               "claims": [{"command": long, "seen": "no"}] * 20,
               "grade_before": graded, "grade_after": graded}  # fmt: skip
    for number in range(60):
        bare(builder, task=f"{number:03}{long[:200]}", grade="fail", verdicts=[verdict])
    page = report(builder.finish())
    assert "To see one: `rolewall show RUN TASK:CONDITION:TRIAL`" in page.text
    assert 3 < len(page.all("article")) < 30 and "approved 60 of 60" in page.text


def test_thousands_of_records_with_long_names_are_below_1_mb(
    tmp_path: Path, report: Report
) -> None:
    table = tmp_path / "many.jsonl"
    rows = [
        {"task": f"{n % 60}" + "<&\u202e>" * 40, "condition": f"{n % 40}" + "<&>" * 40,
         "trial": n // 120, "verdict": ("approve", "reject", "missing")[n % 3],
         "grade": ("pass", "fail")[n % 2]}
        for n in range(3000)
    ]  # fmt: skip
    table.write_text("\n".join(map(json.dumps, rows)))
    page = report(table)
    assert "left out" in page.text and "Conditions without columns of their own" in page.text
    assert "3000 episodes of 60 tasks." in page.text


def test_a_calibration_has_its_own_tables(builder: Any, bare: Any, report: Report) -> None:
    """Two mutants and their twins beside one style of report; one mutant is missed."""
    shown = [("mutant", "boundary", "approve"), ("solution", "", "approve"),
             ("mutant", "value", "reject"), ("solution", "", "approve"),
             ("untouched", "", "reject"), ("solution", "", "reject")]  # fmt: skip
    planned = []
    for trial, (kind, fault, verdict) in enumerate(shown):
        one = {"id": f"{kind}{trial}", "kind": kind, "fault": fault, "sha256": "0" * 64,
               "pair": trial // 2, "bad": shown[trial & ~1][0], "twin": trial ^ 1}  # fmt: skip
        planned.append({**one, "task": "t0", "trial": trial})
        bare(builder, task="t0", condition="calibrate-plain", trial=trial, verdict=verdict,
             grade="pass" if kind == "solution" else "fail",
             candidate={**one, "report": "plain"})  # fmt: skip
    asked = {"mutants": 2, "salt": "5" * 64, "reports": ("plain",), "candidates": planned,
             "tasks": [{"task": "t0", "mutants": 2, "untouched": True}]}  # fmt: skip
    page = report(
        builder.finish(kind="calibration", calibration=asked), "--max-false-approval", "0.1"
    )
    caught = page.table("caught, by kind of fault")
    assert {name: "".join(line["plain"].itertext()) for name, line in caught.items()} == {
        "boundary": "0/1", "value": "1/1", "untouched": "1/1",
    }  # fmt: skip
    assert page.behind(caught["boundary"]["plain"]) == (1, ["t0:calibrate-plain:0"])
    first = page.table("verifier of team fixers, alone")["caught"]["plain"]
    assert "".join(first.itertext()).startswith("1/2 50.0%")
    assert page.behind(first) == (1, ["t0:calibrate-plain:2"])
    assert "beside a plain report: caught 1/2 50.0%" in page.answers[0]
    wrongly = page.table("verifier of team fixers, alone")["falsely rejected"]["plain"]
    assert "".join(wrongly.itertext()).startswith("0/2 ")  # nor do their twins count
    assert not any("href" in part.attrib for part in wrongly.iter())
    rates = page.table("Rates")["false approval, of verdicts on failing work"]["calibrate-plain"]
    assert "".join(rates.itertext()).startswith("1/2 ")  # untouched workspaces stand apart
    assert "candidate: mutant, boundary, plain report" in page.text
    assert "[ ]: 95 % interval; mutants: 2 episodes of 1 task count as" in page.text
    assert (
        "Graders unchecked: 1 of 1 task: t0 (rolewall check-grader --backend bubblewrap PATH)."
        in page.text
    )
