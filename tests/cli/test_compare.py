"""``rolewall compare`` and ``rolewall show`` through the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Cli, Studio

REJECTS = {"verdict": "reject"}
NO_GRADER = "grader: {command: {run: [no-such-tool], trust: outside}}"


@pytest.mark.parametrize(
    ("conditions", "says"),
    [
        ("enforced", "at least two"),
        ("enforced,enforced", "each once"),
        ("enforced,nobody", "nobody"),
        ("enforced,", "unknown condition"),
        ("", "unknown condition"),
    ],
)
def test_bad_conditions_are_refused_before_anything_is_done(
    cli: Cli, studio: Studio, conditions: str, says: str
) -> None:
    out = studio.path / "out"
    done = cli("compare", studio.team(verifier=REJECTS), "--tasks", studio.task(), "-o", out,
               "--conditions", conditions, "--json")  # fmt: skip
    assert done.code == 2 and says in done.err and done.err.count("\n") == 1
    assert done.out == "" and not out.exists()


@pytest.mark.bubblewrap
def test_where_every_episode_errored_it_is_three_with_json(cli: Cli, studio: Studio) -> None:
    team, task = studio.team(verifier=REJECTS), studio.task(grader=NO_GRADER)
    words = ["compare", team, "--tasks", task, "--backend", "bubblewrap", "-o", studio.path / "out"]
    done = cli(*words, "--json")
    assert done.code == 3, done.err
    assert done.json["comparison"] is None and "no episode pairs" in done.json["reason"]
    assert [row["errors"] for row in done.json["table"]["conditions"]] == [1, 1]
    again = cli(*words)
    assert again.code == 3 and "no episode pairs enforced with prompt-only" in again.out


@pytest.mark.bubblewrap
def test_without_a_pair_it_is_four_with_json(cli: Cli, studio: Studio) -> None:
    team, task = studio.team(verifier=REJECTS), studio.task()
    done = cli("compare", team, "--tasks", task, "--backend", "bubblewrap", "--shard", "1/2",
               "-o", studio.path / "out", "--json")  # fmt: skip
    assert done.code == 4, done.err
    assert done.json["comparison"] is None and "no episode under enforced" in done.json["reason"]
    assert done.json["table"]["episodes"] == 1


@pytest.mark.bubblewrap
def test_a_pair_is_compared_and_an_episode_shown_by_its_name(cli: Cli, studio: Studio) -> None:
    out = studio.path / "out"
    done = cli("compare", studio.team(verifier=REJECTS), "--tasks", studio.task(),
               "--backend", "bubblewrap", "-o", out, "--json")  # fmt: skip
    assert done.code == 0, done.err
    (contrast,) = done.json["comparison"]["contrasts"]
    assert contrast["pairs"] == 1 and "reason" not in done.json
    shown = cli("show", out, "add-one:enforced")
    assert shown.code == 0 and "add-one:enforced:0" in shown.out
    several = cli("show", out, "add-one")
    assert several.code == 2 and "add-one:enforced:0, add-one:prompt-only:0" in several.err


@pytest.mark.bubblewrap
def test_a_plan_is_kept_with_the_run_it_began(cli: Cli, studio: Studio) -> None:
    """The plan says what is run; the run says that the plan was there first."""
    out, path = studio.path / "out", studio.path / "plan.yaml"
    plan = {"schema_version": 1, "plan": "two-walls", "conditions": ["no-plan", "enforced"],
            "tasks": ["add-one"], "seed": 3, "primary": ["pass"]}  # fmt: skip
    path.write_text(json.dumps(plan))
    team, task = studio.team(planner={}, verifier=REJECTS), studio.task()
    words = ["compare", team, "--tasks", task, "--backend", "bubblewrap", "-o", out, "--plan", path]
    done = cli(*words, "--json")
    assert done.code == 0, done.err
    assert done.json["comparison"]["plan"]["deviations"] == []
    kept = json.loads((out / "run.json").read_text())
    assert kept["plan"]["text"] == path.read_text() and kept["seed"] == 3
    assert kept["conditions"] == ["no-plan", "enforced"]
    assert cli("audit", out).code == 0
    again = cli(*words[:-2], "--json")
    assert again.code == 0, again.err
    assert again.json["comparison"]["plan"] == {
        **done.json["comparison"]["plan"], "from": "run.json"
    }  # fmt: skip
    loose = cli(*words[:-2], "--equivalence", "pass=0.5")
    assert loose.code == 2 and "plan two-walls sha256:" in loose.err
    path.write_text(json.dumps({**plan, "primary": ["pass", "approve-and-fail"]}))
    later = cli("compare", out, "--plan", path, "--json")
    assert later.code == 0, later.err
    (strayed,) = later.json["comparison"]["plan"]["deviations"]
    assert "the plan was changed after the data were begun" in strayed
