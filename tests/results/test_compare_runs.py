"""``rolewall compare`` on runs and records that are there already."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.compare import compare
from rolewall.rows import row_of

if TYPE_CHECKING:
    from conftest import Here

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


@pytest.fixture
def cli(here: Here) -> Here:
    return here


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


def test_a_run_is_compared_as_the_same_rows_are(cli: Here, run: Path, builder: Any) -> None:
    done = cli("compare", run, "--json")
    assert done.code == 0, done.err
    known = compare(tuple(map(row_of, builder.records)), BOTH)
    assert done.json["comparison"] == json.loads(json.dumps(known.json()))
    assert done.json["run"] == str(run) and done.json["table"]["episodes"] == 8
    assert "enforced against prompt-only: 4 pairs" in done.err


def test_records_are_compared_by_the_conditions_they_have(cli: Here, records: Path) -> None:
    done = cli("compare", records, "--json")
    assert done.code == 0, done.err
    (contrast,) = done.json["comparison"]["contrasts"]
    assert (contrast["first"], contrast["second"]) == BOTH
    assert contrast["outcomes"][0]["p"] == 2 / 2**6
    assert done.json["table"] is None and done.json["place"] == str(records)
    other = cli("compare", records, "--conditions", "enforced,prompt-only")
    assert other.code == 0 and "prompt-only against enforced: 6 pairs" in other.out


def test_the_effect_stands_before_the_p_value(cli: Here, records: Path) -> None:
    words = cli("compare", records).out.splitlines()
    first = [line.split()[0] for line in words if line.strip()]
    assert first.index("difference") < first.index("first") < first.index("p")


def test_their_words_are_mapped(cli: Here, tmp_path: Path) -> None:
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


def test_two_files_are_compared_with_each_other(cli: Here, tmp_path: Path) -> None:
    old = table(tmp_path / "old.csv", [*some("enforced", "fail"), *some("no-plan")])
    new = table(tmp_path / "new.csv", some("enforced"))
    several = cli("compare", old, new)
    assert several.code == 2 and "--condition" in several.err
    done = cli("compare", old, new, "--condition", "enforced", "--json")
    assert done.code == 0, done.err
    (contrast,) = done.json["comparison"]["contrasts"]
    assert (contrast["first"], contrast["second"]) == ("old.csv", "new.csv")
    assert contrast["outcomes"][0]["difference"] == 1.0
    assert [r["place"] for r in done.json["runs"]] == [str(old), str(new)]


def test_names_of_tasks_and_files_stay_text(cli: Here, tmp_path: Path) -> None:
    bad = "a\x1b[31m"
    path = table(tmp_path / "\x1b]0;x.csv", [f"{bad},enforced,0,approve,pass,0,0"])
    other = table(tmp_path / "other.csv", some("enforced", tasks=1))
    done = cli("compare", path, other)
    assert "\x1b" not in done.out + done.err


@pytest.mark.parametrize(
    ("lines", "code", "says"),
    [
        ([], 4, "no episode"),
        (some("enforced"), 2, "at least two conditions"),
        ([*some("enforced")[:3], *some("prompt-only")[3:]], 4, "no episode pairs"),
        ([*some("enforced"), *some("prompt-only"), some("enforced")[0]], 2, "t0"),
        ([*some("enforced"), *some("prompt-only", "nan")], 2, "nan"),
        ([*some("enforced"), *some("prompt-only", "error")], 4, "no episode pairs"),
    ],
)
def test_junk_has_its_word_and_its_code(
    cli: Here, tmp_path: Path, lines: list[str], code: int, says: str
) -> None:
    done = cli("compare", table(tmp_path / "records.csv", lines))
    wanted = 3 if "error" in str(lines) else code
    assert done.code == wanted, done.err
    assert says in done.out + done.err
    assert "Traceback" not in done.err


def test_errors_are_said_and_as_many_as_may_be_let_pass(cli: Here, tmp_path: Path) -> None:
    """As for the gate: nobody gains by an error, and one of many need not spoil the rest."""
    broken = some("enforced", "error", tasks=2)
    path = table(tmp_path / "records.csv", [*some("enforced")[2:], *broken, *some("prompt-only")])
    said = "2 episodes ended in error, left out with what they pair with:"
    each = "prompt-only 0 of 6, enforced 2 of 6"
    for words, code in (((), 3), (("--max-errors", "1"), 3), (("--max-errors", "2"), 0)):
        done = cli("compare", path, *words, "--json")
        assert done.code == code, done.err
        assert f"{said} {each}" in done.err and ("at most" in done.err) == (code == 3)
        assert done.json["errors"] == {"prompt-only": 0, "enforced": 2}
        assert done.json["comparison"]["contrasts"][0]["pairs"] == 4
    other = table(tmp_path / "other.csv", some("enforced"))
    two = cli("compare", path, other, "--condition", "enforced", "--json")
    assert two.code == 3 and two.json["errors"] == {"records.csv": 2, "other.csv": 0}
    all_may = table(tmp_path / "all.csv", [*some("enforced", "error"), *some("prompt-only")])
    assert cli("compare", all_may, "--max-errors", "6").code == 4
    whole = cli("compare", table(path, [*some("enforced"), *some("prompt-only")]))
    assert whole.code == 0 and "error" not in whole.out


def test_one_condition_is_told_from_an_option_that_nobody_gave(
    cli: Here, tmp_path: Path, builder: Any
) -> None:
    plain = table(tmp_path / "one.csv", ["a,approve,fail"], "task,verdict,grade")
    done = cli("compare", plain)
    assert done.code == 2 and "all episodes are of one condition" in done.err
    assert "got 'unstated'" in done.err and "--map condition=COLUMN" in done.err
    assert "--conditions" not in done.err and str(plain) in done.err
    named = cli("compare", table(tmp_path / "two.csv", some("enforced")))
    assert named.code == 2 and "got 'enforced'" in named.err and "--map" not in named.err
    builder.add(task="a", condition="enforced")
    run = cli("compare", builder.finish(conditions=["enforced"]))
    assert run.code == 2 and "rolewall compare TEAM" in run.err


def test_a_table_is_not_read_as_a_team_first(
    cli: Here, records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("{team: a, roles: {}}", '{"team": "a", "roles": {}}', "# x\n\nteam: a\nroles: {}"):
        team = tmp_path / "team.yaml"
        team.write_text(text)
        assert "a team file" in cli("compare", team).err

    def never(*_: object) -> None:
        raise AssertionError("parsed as YAML")

    monkeypatch.setattr("rolewall._files.load_yaml", never)
    assert cli("compare", records).code == 0


def test_one_class_and_all_missing_are_still_paired(cli: Here, tmp_path: Path) -> None:
    silent = [line.replace("approve", "missing") for line in some("enforced")]
    path = table(tmp_path / "records.csv", [*silent, *some("prompt-only")])
    done = cli("compare", path)
    assert done.code == 0 and "6 missing verdicts" in done.out
    words = " ".join(done.out.split())
    assert "any cross-role edit missing verdict prompt-only 6/6 0/6 0/6 0/6" in words
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
    cli: Here, records: Path, words: tuple[str, ...], says: str
) -> None:
    done = cli("compare", records, *words)
    assert done.code == 2 and says in done.err, done.err
    assert done.out == ""


def test_a_path_that_is_nothing_to_compare_says_what_was_looked_for(
    cli: Here, tmp_path: Path
) -> None:
    team = tmp_path / "team.yaml"
    team.write_text("team: a\nroles: {verifier: {agent: {script: v.yaml}}}\n")
    assert "--tasks" in cli("compare", team).err
    (tmp_path / "empty").mkdir()
    for path in (team, tmp_path / "empty", tmp_path / "gone"):
        done = cli("compare", path)
        assert done.code == 2 and str(path) in done.err and done.err.count("\n") == 1


def test_a_plan_fixes_what_is_tested_and_deviations_are_said(
    cli: Here, records: Path, tmp_path: Path
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
    assert [(c["margin"], c["planned"]) for c in claims] == [(0.1, True)]
    assert "margin not fixed by a plan" not in done.err
    free = cli("compare", records, "--equivalence", "pass=0.1", "--json")
    (claim,) = free.json["comparison"]["contrasts"][0]["outcomes"][0]["claims"]
    assert claim["planned"] is False and "margin not fixed by a plan" in free.err
    assert "plan walls sha256:" in done.err and "deviations" in done.err
    both = cli("compare", records, "--plan", path, "--equivalence", "pass=0.1")
    assert both.code == 2 and "the plan fixes the margins" in both.err
