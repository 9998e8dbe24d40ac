"""A reward is a grade where it says something of the work, and an error where it does not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rolewall.graders import HarborSpec
from rolewall.graders.harbor import HarborGrader
from rolewall.graders.links import remove_leading_out
from rolewall.sandbox import Completed, Output

LONG = "n" * 100  # of which a record keeps no more


def ran(stdout: str = "", stderr: str = "", code: int = 0, *, timed_out: bool = False) -> Completed:
    out, err = (Output(text.encode(), len(text), False) for text in (stdout, stderr))
    return Completed(("/tests/test.sh",), code, out, err, 0.0, 1.0, timed_out=timed_out)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "verifier").mkdir()
    return tmp_path


def concluded(logs: Path, done: Completed, *fetches: str) -> tuple[str, str, float | None]:
    found = HarborGrader(HarborSpec(fetches=fetches)).conclude(done, logs)
    return found.grade, found.why, found.score


@pytest.mark.parametrize(
    ("files", "grade", "score"),
    [
        ({"reward.txt": "1"}, "pass", 1.0),
        ({"reward.txt": " 1.0\n"}, "pass", 1.0),
        ({"reward.txt": "0"}, "fail", 0.0),
        ({"reward.txt": "0.999"}, "fail", 0.999),
        ({"reward.txt": "2"}, "pass", 2.0),
        ({"reward.txt": "-1"}, "fail", -1.0),
        ({"reward.json": '{"reward": 1}'}, "pass", 1.0),
        ({"reward.json": '{"reward": 0.25, "speed": 3}'}, "fail", 0.25),
        ({"reward.json": '{"tests": 1, "style": 0.5}'}, "fail", 0.5),
        ({"reward.json": '{"tests": 1, "style": 1}'}, "pass", 1.0),
        ({"reward.json": json.dumps({LONG + "a": 0.5, LONG + "b": 1})}, "fail", 0.5),
        ({"reward.json": json.dumps({LONG + "a": 1, LONG + "b": 0.5})}, "fail", 0.5),
        ({"reward.json": json.dumps({LONG + "a": 1, LONG + "b": 1})}, "pass", 1.0),
        ({"reward.json": '{"reward": 0}', "reward.txt": "1"}, "fail", 0.0),
        ({"reward.json": '{"reward": true}', "reward.txt": "1"}, "error", None),
        ({"reward.json": "{}"}, "error", None),
        ({"reward.json": "[1]"}, "error", None),
        ({"reward.json": '{"reward": 1e999}'}, "error", None),
        ({"reward.txt": "nan"}, "error", None),
        ({"reward.txt": "inf"}, "error", None),
        ({"reward.txt": "one"}, "error", None),
        ({"reward.txt": ""}, "error", None),
        ({"reward.txt": "1" * 70_000}, "error", None),
        ({}, "error", None),
    ],
)
def test_a_reward_of_one_is_a_pass(
    logs: Path, files: dict[str, str], grade: str, score: float | None
) -> None:
    for name, text in files.items():
        (logs / "verifier" / name).write_text(text)
    found = concluded(logs, ran(code=1))
    assert (found[0], found[2]) == (grade, score)
    assert bool(found[1]) is (grade != "pass")


@pytest.mark.parametrize("what", ["a link", "a FIFO", "a directory", "its directory a link"])
def test_what_is_no_file_is_no_reward(logs: Path, tmp_path: Path, what: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "reward.txt").write_text("1")
    reward = logs / "verifier" / "reward.txt"
    makes: dict[str, Callable[[], object]] = {
        "a link": lambda: reward.symlink_to("../elsewhere/reward.txt"),
        "a FIFO": lambda: os.mkfifo(reward),
        "a directory": reward.mkdir,
    }
    if what in makes:
        makes[what]()
    else:
        reward.parent.rmdir()
        reward.parent.symlink_to("elsewhere")
    assert concluded(logs, ran())[0] == "error"


BASH = "/tests/test.sh: line 5: uvx: command not found\n"
LACKS = {
    "bash": (BASH, "uvx"),
    "dash": ("/tests/test.sh: 5: uvx: not found\n", "uvx"),
    "another script of the tests": ("/tests/more.sh: line 1: ./curl: command not found\n", "curl"),
    "pytest that breaks": (
        "INTERNALERROR> Traceback (most recent call last):\nINTERNALERROR>   File 'x'\n"
        "INTERNALERROR> PackageNotFoundError: pluggy\nmore\n",
        "broke: PackageNotFoundError: pluggy",
    ),
    "pytest that does not start": (
        'Traceback (most recent call last):\n  File "/usr/local/bin/pytest", line 3, in <module>\n'
        "    from py import x\nModuleNotFoundError: No module named 'py'\n",
        "broke: ModuleNotFoundError: No module named 'py'",
    ),
    "pytest that is cut off": ('  File "/usr/bin/pytest", line 3\n    from py', "/usr/bin/pytest"),
    "pytest without a plug-in": ("pytest: error: unrecognized arguments: --ctrf x\n", "--ctrf"),
    "no pytest": ("/usr/bin/python3: No module named pytest\n", "pytest"),
    "the network": ("curl: (6) Could not resolve host: astral.sh\n", "no network"),
    "packages": ("E: Could not open lock file /var/lib/apt: Permission denied\n", "no network"),
}


@pytest.mark.parametrize("case", LACKS)
@pytest.mark.parametrize("reward", ["0", "1"])
def test_a_small_reward_for_want_of_a_tool_is_no_fail(logs: Path, case: str, reward: str) -> None:
    said, why = LACKS[case]
    (logs / "verifier" / "reward.txt").write_text(reward)
    grade, reason, _ = concluded(logs, ran(stderr=said, code=1), "curl")
    assert grade == ("pass" if reward == "1" else "error")
    assert reward == "1" or why in reason


@pytest.mark.parametrize(
    "said",
    [
        "/workspace/run.sh: line 5: uvx: command not found\n",
        "bash: line 1: uvx: command not found\n",
        "curl: (6) Could not resolve host: example.org\n",  # and no test fetches anything
        "AssertionError: unrecognized\n",
    ],
)
def test_what_the_work_lacks_is_its_own_fault(logs: Path, said: str) -> None:
    (logs / "verifier" / "reward.txt").write_text("0")
    assert concluded(logs, ran(stderr=said, code=1))[0] == "fail"


def test_tests_that_did_not_end_have_judged_nothing(logs: Path) -> None:
    (logs / "verifier" / "reward.txt").write_text("1")
    assert concluded(logs, ran(code=143, timed_out=True)) == (
        "error", "the grader ran out of time", None
    )  # fmt: skip
    assert concluded(logs, ran(code=127))[0] == "error"


def test_links_within_the_work_stay_by_either_of_its_names(tmp_path: Path) -> None:
    for name, target in {
        "inside": "/app/a", "also": "/workspace/a", "out": "/tests/x", "near": "/application/a",
        "over": "/app/../tests/x", "self": "/app",
    }.items():  # fmt: skip
        (tmp_path / name).symlink_to(target)
    (tmp_path / "a").write_text("a")
    assert sorted(remove_leading_out(tmp_path, "/app")) == [b"near", b"out", b"over"]
    (tmp_path / "again").symlink_to("/app/a")
    assert sorted(remove_leading_out(tmp_path)) == [b"again", b"inside", b"self"]
