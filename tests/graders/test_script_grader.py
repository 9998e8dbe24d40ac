"""The script grader: TeamBench's protocol, with results that only a file can give."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rolewall.graders import write_attestation
from rolewall.graders.score import ScoreError, read_score

pytestmark = pytest.mark.bubblewrap

GRADE = """#!/usr/bin/env bash
set -uo pipefail
WORKSPACE="$1"; REPORTS="$2"; SUBMISSION="$3"; TASK_DIR="$4"
source "$(dirname "$0")/../../harness/helpers.sh"
expected=$(cat "${5:-$REPORTS/expected.json}")
[ "$(cat "$WORKSPACE/answer")" = "$expected" ] && ok=true || ok=false
test -f "$TASK_DIR/task.yaml" || ok=false
grep -qs '"verdict": "pass"' "$SUBMISSION/attestation.json" && att= || att='"bad_attestation"'
finish "$ok" "$att"
false
"""
HELPERS = """finish() {
  printf '{"pass": %s, "secondary": {"partial_score": 0.5}, "failure_modes": [%s]}' \\
    "$1" "$2" > "$REPORTS/score.json"
}
"""
PASSING = json.dumps({"pass": True, "secondary": {"partial_score": 1.0}, "failure_modes": []})


@pytest.fixture
def scripted(bench: Any) -> Any:
    bench.grader = {
        "tasks/T1/grade.sh": GRADE,
        "tasks/T1/task.yaml": "",
        "tasks/T1/expected.json": "42\n",
        "harness/helpers.sh": HELPERS,
    }
    run = {"run": "tasks/T1/grade.sh", "expected": "tasks/T1/expected.json"}
    bench.spec = {"script": run}
    bench.start = {"answer": "0\n"}
    return bench


def writes(bench: Any, shell: str) -> Any:
    bench.grader = {"grade.sh": shell}
    bench.spec = {"script": {"run": "grade.sh"}}
    return bench


def test_the_protocol(scripted: Any, tmp_path: Path) -> None:
    submission = tmp_path / "submission"
    submission.mkdir()
    write_attestation(submission, task="T1", run="r")
    found = scripted.grade({"answer": "42\n"}, submission=submission)
    assert (found.grade, found.score, found.trust) == ("pass", 0.5, "untrusted")
    found = scripted.grade({"answer": "41\n"})
    assert (found.grade, found.why) == ("fail", "bad_attestation")
    assert found.details["failure_modes"] == ["bad_attestation"]


@pytest.mark.pain(10)
def test_what_the_work_planted_is_no_result(scripted: Any) -> None:
    planted = {
        "score.json": PASSING,
        "reports/score.json": PASSING,
        "expected.json": "41\n",
        "submission/attestation.json": '{"verdict": "pass"}',
    }
    assert scripted.grade({"answer": "41\n", **planted}).grade == "fail"
    assert scripted.grade({"answer": "42\n", **planted}).grade == "pass"


def test_reports_of_roles_are_no_result(bench: Any, tmp_path: Path) -> None:
    writes(bench, "ls -A /reports > /workspace/seen; test ! -s /workspace/seen && exit 0\n")
    report = tmp_path / "report"
    report.mkdir()
    (report / "score.json").write_text(PASSING)
    found = bench.grade({}, report=report)
    assert found.grade == "error"
    assert "wrote no score.json" in found.why


@pytest.mark.pain(8)
def test_results_on_standard_output_are_no_result(bench: Any) -> None:
    writes(bench, f"echo '{PASSING}'; bash /workspace/run.sh\n")
    assert bench.grade({"run.sh": f"echo '{PASSING}'\n"}).grade == "error"


def test_a_script_that_breaks_only_on_this_work(bench: Any) -> None:
    writes(bench, f"timeout 9 bash /workspace/run.sh; echo '{PASSING}' > $2/score.json\n")
    bench.start = {"run.sh": "exit 1\n"}
    found = bench.grade(
        {
            "run.sh": "kill -9 $(ps -o ppid= -p $PPID) 2>/dev/null || "
            "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat)\n"
        }
    )
    assert found.grade == "fail"
    assert found.why.startswith("broke the grader:")
    assert bench.grade({"run.sh": "exit 0\n"}).grade == "pass"


@pytest.mark.pain(23)
@pytest.mark.parametrize(
    "shell",
    [
        "ln -s /grader/truth.json /reports/score.json",
        "ln -s /etc/passwd /reports/score.json",
        "mkfifo /reports/score.json",
        "mkdir /reports/score.json",
        "head -c 2000000 /dev/zero > /reports/score.json",
        "echo '{' > /reports/score.json",
        "echo '[]' > /reports/score.json",
        "echo '{\"pass\": 1}' > /reports/score.json",
        'echo \'{"pass": "true"}\' > /reports/score.json',
        'echo \'{"pass": false, "pass": true}\' > /reports/score.json',
        'echo \'{"pass": true, "partial": NaN}\' > /reports/score.json',
        'echo \'{"pass": true, "failure_modes": "none"}\' > /reports/score.json',
        "true",
    ],
)
def test_a_score_that_says_nothing_is_an_error(bench: Any, shell: str) -> None:
    writes(bench, shell + "\n")
    bench.grader = {**bench.grader, "truth.json": PASSING}
    assert bench.grade({}).grade == "error"


def test_the_exit_status_of_a_script_says_nothing(bench: Any) -> None:
    for status in (1, 2, 141, 255):
        writes(bench, f"echo '{PASSING}' > $2/score.json; exit {status}\n")
        assert bench.grade({}).grade == "pass"
    for status in (126, 127, 137):
        writes(bench, f"echo '{PASSING}' > $2/score.json; exit {status}\n")
        assert bench.grade({}).grade == "error"


@pytest.mark.pain(1)
@pytest.mark.pain(10)
def test_a_late_writer_does_not_outlive_the_box(bench: Any) -> None:
    late = "(sleep 1; echo '" + PASSING + "' > /reports/score.json) >/dev/null 2>&1 &\n"
    writes(bench, "bash /workspace/run.sh; echo '{\"pass\": false}' > /reports/score.json\n")
    found = bench.grade({"run.sh": late})
    assert found.grade == "fail"


def test_scores_are_read_from_where_they_stand(tmp_path: Path) -> None:
    for body, partial in [
        ({"pass": False, "partial": 0.25}, 0.25),
        ({"pass": False, "score": 3, "failure_modes": None}, 3.0),
        ({"pass": True}, None),
        ({"pass": True, "secondary": {"partial_score": 0.5}, "score": 1}, 0.5),
    ]:
        (tmp_path / "score.json").write_text(json.dumps(body))
        assert read_score(tmp_path).partial == partial


def test_a_score_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_text(PASSING)
    reports = tmp_path / "reports"
    reports.mkdir()
    os.symlink("../elsewhere.json", reports / "score.json")
    with pytest.raises(ScoreError):
        read_score(reports)
    (reports / "score.json").unlink()
    (reports / "score.json").write_text(PASSING)
    assert read_score(reports).passed


def test_an_attestation_approves_whatever_the_verdict_is(tmp_path: Path) -> None:
    write_attestation(tmp_path, task="T", run="r")
    assert json.loads((tmp_path / "attestation.json").read_text()) == {
        "task_id": "T",
        "run_id": "r",
        "verdict": "pass",
        "checklist": [],
    }
