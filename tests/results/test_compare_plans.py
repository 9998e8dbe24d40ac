"""A run is held to the plan that it was begun with, whoever does not name it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.comparing import read_plan, sealed_plan
from rolewall.errors import InputError
from rolewall.rundir import PlanRef

if TYPE_CHECKING:
    from conftest import Here

BOTH = ("prompt-only", "enforced")
STRICT = """schema_version: 1
plan: strict
conditions: [enforced, prompt-only]
primary: [pass]
alpha: 0.001
tasks: [t0, t1, t2, t3]
seed: 7
"""
LAX = STRICT.replace("0.001", "0.05")


def planned(text: str) -> PlanRef:
    return PlanRef(name="strict", sha256=hashlib.sha256(text.encode()).hexdigest(), text=text)


def begun(builder: Any, plan: PlanRef | None, conditions: tuple[str, ...] = BOTH) -> Path:
    for n in range(4):
        for condition in conditions:
            builder.add(task=f"t{n}", condition=condition)
    found: Path = builder.finish(conditions=list(conditions), plan=plan)
    return found


@pytest.fixture
def cli(here: Here) -> Here:
    return here


@pytest.fixture
def sealed(builder: Any) -> Path:
    return begun(builder, planned(STRICT))


def test_a_run_is_held_to_the_plan_that_it_was_begun_with(
    cli: Here, sealed: Path, tmp_path: Path
) -> None:
    done = cli("compare", sealed, "--json")
    assert done.code == 0, done.err
    found = done.json["comparison"]
    held, (contrast,) = found["plan"], found["contrasts"]
    assert (held["name"], held["from"], held["text"]) == ("strict", "run.json", STRICT)
    assert held["deviations"] == []
    assert (contrast["first"], contrast["second"]) == ("enforced", "prompt-only")
    assert [(o["name"], o["alpha"]) for o in contrast["outcomes"]] == [("pass", 0.001)]
    digest = planned(STRICT).sha256
    assert f"plan strict sha256:{digest}, which the run was begun with: no deviation" in done.err
    turned = cli("compare", sealed, "--conditions", "prompt-only,enforced")
    assert turned.code == 0 and "planned enforced, prompt-only" in turned.out
    path = tmp_path / "plan.yaml"
    path.write_text(STRICT)
    given = cli("compare", sealed, "--plan", path, "--json").json["comparison"]
    assert given == {**found, "plan": {**held, "from": "--plan"}}


@pytest.mark.parametrize("option", ["--equivalence", "--not-worse"])
def test_a_margin_is_no_way_round_it(cli: Here, sealed: Path, option: str) -> None:
    done = cli("compare", sealed, option, "pass=0.3")
    assert done.code == 2 and done.out == ""
    assert "plan strict sha256:" in done.err and "--plan FILE" in done.err


def test_another_plan_is_a_deviation(cli: Here, sealed: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(LAX)
    other = cli("compare", sealed, "--plan", path)
    assert other.code == 0 and "the plan was changed after the data were begun" in other.out


@pytest.mark.parametrize(
    "text",
    [
        STRICT.replace("[pass]", "[any cross-role edit, any-cross-role-edit]"),
        STRICT.replace("[pass]", "[any cross-role edit]")
        + "not_worse: {any cross-role edit: 0.1, any-cross-role-edit: 0.9}\n",
    ],
)
def test_an_outcome_is_planned_once_whatever_it_is_called(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"plan\.yaml: .*named twice"):
        read_plan(path)


def test_a_run_without_a_plan_has_no_word_of_one(cli: Here, builder: Any) -> None:
    done = cli("compare", begun(builder, None), "--equivalence", "pass=0.3", "--json")
    assert done.code == 0 and done.json["comparison"]["plan"] is None, done.err
    assert "begun with" not in done.err


@pytest.mark.parametrize(
    ("ref", "says"),
    [
        (planned(STRICT).model_copy(update={"text": LAX}), "not the one of its SHA-256"),
        (planned(STRICT.replace("alpha", "level")), "level"),
    ],
)
def test_a_plan_in_a_run_that_is_none_is_refused(
    cli: Here, builder: Any, ref: PlanRef, says: str
) -> None:
    done = cli("compare", begun(builder, ref))
    assert done.code == 2 and "run.json: plan" in done.err and says in done.err


@pytest.mark.parametrize("text", [STRICT, "\ufeff" + STRICT, STRICT.replace("\n", "\r\n")])
def test_what_a_run_keeps_of_a_plan_is_the_plan(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.yaml"
    path.write_bytes(text.encode())
    plan = read_plan(path)
    assert sealed_plan(plan.ref, "run.json") == replace(plan, sealed=True)
    other = plan.ref.model_copy(update={"text": plan.text + "# more\n"})
    with pytest.raises(InputError, match="SHA-256"):
        sealed_plan(other, "run.json")


def test_two_runs_say_which_plans_they_were_begun_with(
    cli: Here, sealed: Path, builder: Any, tmp_path: Path
) -> None:
    def said(name: str, plan: PlanRef | None) -> str:
        other = begun(type(builder)(tmp_path / name), plan, ("enforced",))
        done = cli("compare", sealed, other, "--condition", "enforced", "--json")
        assert done.code == 0, done.err
        return "\n".join(done.json["notes"])

    assert "both runs were begun with the same plan" in said("same", planned(STRICT))
    changed = said("changed", planned(LAX))
    assert "the plans of the runs differ" in changed and planned(LAX).sha256 in changed
    bare = said("bare", None)
    assert "the plans of the runs differ" in bare and "bare: no plan" in bare


def test_a_report_says_that_it_is_not_held_to_the_plan(
    cli: Here, sealed: Path, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    assert cli("report", sealed, "-o", page).code == 0
    assert f"plan strict sha256:{planned(STRICT).sha256}" in page.read_text()
