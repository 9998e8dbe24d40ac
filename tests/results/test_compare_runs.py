"""``rolewall compare`` on runs and records that are there already."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rolewall.cli import cli as group
from rolewall.cli import explain
from rolewall.compare import compare
from rolewall.rows import row_of
from rolewall.terminal import escape

BOTH = ("prompt-only", "enforced")
HEAD = "task,condition,trial,verdict,grade,attempts,edits"
PLAN = {
    "schema_version": 1,
    "plan": "walls",
    "conditions": BOTH,
    "tasks": 6,
    "equivalence": {"pass": 0.1},
}


def table(path: Path, lines: list[str], head: str = HEAD) -> Path:
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


def some(condition: str, grade: str = "pass", tasks: int = 6, attempts: int = 0) -> list[str]:
    return [
        f"t{n},{condition},0,approve,{grade},{attempts},{min(attempts, 1)}" for n in range(tasks)
    ]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Ran]


@pytest.fixture
def cli() -> Cli:
    """The command in this process, where nothing is run: many words cost little so."""

    def call(*arguments: object) -> Ran:
        done = CliRunner().invoke(group, list(map(str, arguments)), standalone_mode=False)
        error = done.exception
        if isinstance(error, Exception):
            code, message = explain(error)
            return Ran(code, done.stdout, f"{done.stderr}rolewall: {escape(message)}\n")
        code = done.return_value if isinstance(done.return_value, int) else done.exit_code
        return Ran(code, done.stdout, done.stderr)

    return call


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return table(
        tmp_path / "records.csv",
        [*some("enforced", "fail"), *some("prompt-only", attempts=3)],
    )


@pytest.fixture
def run(builder: Any) -> Path:
    for n in range(4):
        for condition in BOTH:
            builder.add(task=f"t{n}", condition=condition, edits=n)
    found: Path = builder.finish(conditions=list(BOTH))
    return found


def test_a_run_is_compared_as_the_same_rows_are(cli: Cli, run: Path, builder: Any) -> None:
    done = cli("compare", run, "--json")
    assert done.code == 0, done.err
    known = compare(tuple(map(row_of, builder.records)), BOTH)
    assert done.json["comparison"] == json.loads(json.dumps(known.json()))
    assert done.json["run"] == str(run) and done.json["table"]["episodes"] == 8
    assert "enforced against prompt-only: 4 pairs" in done.err


def test_records_are_compared_by_the_conditions_they_have(cli: Cli, records: Path) -> None:
    done = cli("compare", records, "--json")
    assert done.code == 0, done.err
    (contrast,) = done.json["comparison"]["contrasts"]
    assert (contrast["first"], contrast["second"]) == BOTH
    assert contrast["outcomes"][0]["p"] == 2 / 2**6
    assert done.json["table"] is None and done.json["records"] == str(records)
    other = cli("compare", records, "--conditions", "enforced,prompt-only")
    assert other.code == 0 and "prompt-only against enforced: 6 pairs" in other.out


def test_the_effect_stands_before_the_p_value(cli: Cli, records: Path) -> None:
    words = cli("compare", records).out.splitlines()
    first = [line.split()[0] for line in words if line.strip()]
    assert first.index("difference") < first.index("first") < first.index("p")


def test_their_words_are_mapped(cli: Cli, tmp_path: Path) -> None:
    lines = [f"{t},{arm},LGTM,{ok}" for t in "abc" for arm, ok in (("a", 1), ("b", 0))]
    path = table(tmp_path / "theirs.csv", lines, "case,arm,review,ok")
    mapping = ("--map", "task=case", "--map", "condition=arm", "--map", "verdict=review",
               "--map", "grade=ok", "--value", "verdict:LGTM=approve", "--value", "grade:1=pass",
               "--value", "grade:0=fail")  # fmt: skip
    done = cli("compare", path, *mapping, "--json")
    assert done.code == 0, done.err
    contrast = done.json["comparison"]["contrasts"][0]
    assert [o["difference"] for o in contrast["outcomes"]] == [-1.0, 1.0]
    assert [u["name"] for u in contrast["untested"]] == ["any cross-role edit"]


def test_two_files_are_compared_with_each_other(cli: Cli, tmp_path: Path) -> None:
    old = table(tmp_path / "old.csv", [*some("enforced", "fail"), *some("solo")])
    new = table(tmp_path / "new.csv", some("enforced"))
    several = cli("compare", old, new)
    assert several.code == 2 and "--condition" in several.err
    done = cli("compare", old, new, "--condition", "enforced", "--json")
    assert done.code == 0, done.err
    (contrast,) = done.json["comparison"]["contrasts"]
    assert (contrast["first"], contrast["second"]) == ("old.csv", "new.csv")
    assert contrast["outcomes"][0]["difference"] == 1.0
    assert [r["records"] for r in done.json["runs"]] == [str(old), str(new)]


def test_names_of_tasks_and_files_stay_text(cli: Cli, tmp_path: Path) -> None:
    bad = "a\x1b[31m"
    path = table(tmp_path / "\x1b]0;x.csv", [f"{bad},enforced,0,approve,pass,0,0"])
    other = table(tmp_path / "other.csv", some("enforced", tasks=1))
    done = cli("compare", path, other)
    assert "\x1b" not in done.out + done.err


@pytest.mark.parametrize(
    ("lines", "code", "says"),
    [
        ([], 4, "no episode"),
        (some("enforced"), 2, "at least two"),
        ([*some("enforced"), *some("x", tasks=0)], 2, "at least two"),
        ([*some("enforced")[:3], *some("prompt-only")[3:]], 4, "no episode pairs"),
        ([*some("enforced"), *some("prompt-only"), some("enforced")[0]], 2, "t0"),
        ([*some("enforced"), *some("prompt-only", "nan")], 2, "nan"),
        ([*some("enforced"), *some("prompt-only", "error")], 4, "no episode pairs"),
    ],
)
def test_junk_has_its_word_and_its_code(
    cli: Cli, tmp_path: Path, lines: list[str], code: int, says: str
) -> None:
    done = cli("compare", table(tmp_path / "records.csv", lines))
    wanted = 3 if "error" in str(lines) else code
    assert done.code == wanted, done.err
    assert says in done.out + done.err
    assert "Traceback" not in done.err


def test_one_class_and_all_missing_are_still_paired(cli: Cli, tmp_path: Path) -> None:
    silent = [line.replace("approve", "missing") for line in some("enforced")]
    path = table(tmp_path / "records.csv", [*silent, *some("prompt-only")])
    done = cli("compare", path)
    assert done.code == 0 and "6 missing verdicts" in done.out
    assert "no difference shown" in done.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--trials", "3"), "--trials"),
        (("--out", "x"), "--out"),
        (("--condition", "enforced"), "--condition"),
        (("--conditions", "enforced,solo"), "no such condition"),
        (("--conditions", "enforced"), "at least two"),
        (("--equivalence", "speed=0.1"), "no such outcome"),
        (("--equivalence", "pass=7"), "--equivalence"),
        (("--plan", "none.yaml"), "none.yaml"),
        (("more.csv", "most.csv"), "too many"),
        (("more.csv", "--conditions", "a,b"), "--conditions"),
    ],
)
def test_what_says_nothing_here_is_refused(
    cli: Cli, records: Path, words: tuple[str, ...], says: str
) -> None:
    done = cli("compare", records, *words)
    assert done.code == 2 and says in done.err, done.err
    assert done.out == ""


def test_a_path_that_is_nothing_to_compare_says_what_was_looked_for(
    cli: Cli, tmp_path: Path
) -> None:
    team = tmp_path / "team.yaml"
    team.write_text("team: a\nroles: {verifier: {agent: {script: v.yaml}}}\n")
    assert "--tasks" in cli("compare", team).err
    (tmp_path / "empty").mkdir()
    for path in (team, tmp_path / "empty", tmp_path / "gone"):
        done = cli("compare", path)
        assert done.code == 2 and str(path) in done.err and done.err.count("\n") == 1


def test_a_plan_fixes_what_is_tested_and_deviations_are_said(
    cli: Cli, records: Path, tmp_path: Path
) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(json.dumps(PLAN))
    done = cli("compare", records, "--plan", path, "--json")
    assert done.code == 0, done.err
    held = done.json["comparison"]["plan"]
    assert held["name"] == "walls" and held["text"] == path.read_text()
    assert held["deviations"] == [
        "there is no run.json: nothing shows that the plan was made before the data"
    ]
    claims = done.json["comparison"]["contrasts"][0]["outcomes"][0]["claims"]
    assert [c["margin"] for c in claims] == [0.1]
    assert "plan walls sha256:" in done.err and "deviations" in done.err
    both = cli("compare", records, "--plan", path, "--equivalence", "pass=0.1")
    assert both.code == 2 and "the plan fixes the margins" in both.err
