"""Episodes that are played again: the smallest change that turns fail into pass."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from rolewall.rundir import open_run
from rolewall.sandbox import load_manifest
from tests.blame.conftest import ASKING, Case, Ran, play
from tests.chat.conftest import Chats, calls
from tests.conftest import Cli
from tests.models import Heard, Say, ScriptedModel

pytestmark = pytest.mark.bubblewrap

SHOWN = {
    "lost-authority": ("handoff", ["same", "full"]),
    "untold-plan": ("planning", ["same", "spec", "plan"]),
    "bogus-need": ("planning", ["same", "spec", "plan"]),
    "wrong-execution": ("execution", ["same", "spec", "reference"]),
    "broken-grader": ("grader", ["same", "spec", "reference"]),
    "rubber-stamp": ("verification", ["same", "spec", "reference", "untouched"]),
    "no-network": ("capability", ["same", "spec", "reference"]),
    "grumpy": ("verification", ["same", "untouched", "reference"]),
    "unknown-plan": ("undecided", ["same", "spec", "reference"]),
    "needless": ("undecided", ["same", "spec", "reference"]),
}
OPEN = {
    "unknown-plan": {"execution", "planning"},
    "needless": {"planning", "capability", "execution"},
}
"""What remains of what is undecided."""


@pytest.mark.parametrize("name", list(SHOWN))
def test_a_replay_shows_the_stage(cases: Ran, cli: Cli, name: str) -> None:
    stage, played = SHOWN[name]
    found = cases.blame(name, replays=True)
    assert found["stage"] == stage, found["decided"]
    assert [one["change"] for one in found["replays"]] == played
    assert found["cost"]["replays"] == len(played)
    assert set(found["candidates"]) == OPEN.get(name, {stage})
    for one in found["replays"]:
        (record,) = open_run(cases.run / one["run"]).records
        assert record.grade == one["grade"]
    assert cli("audit", cases.run).code == 0


def test_what_the_arm_cut_is_found_by_showing_all(tmp_path: Path) -> None:
    asked = {"conditions": [ASKING["conditions"][0]]}
    ran = play(
        tmp_path,
        [Case("cut", asking=True, want="asked verifier", task=ASKING, plan=asked)],
        "--handoff",
        "prose",
    )
    found = ran.blame("cut", replays=True)
    assert found["stage"] == "handoff"
    assert [(one["change"], one["passed"]) for one in found["replays"]] == [
        ("same", False),
        ("full", True),
    ]


def test_a_role_that_was_told_and_acts_all_the_same_is_to_blame(tmp_path: Path) -> None:
    held = {
        "conditions": [
            {
                "id": "agreed",
                "statement": "somebody has agreed",
                "authority": "verifier",
                "forbids": ["write workspace"],
            }
        ]
    }
    cases = [Case("untold", task=held), Case("told", task=held, plan=held)]
    ran = play(tmp_path, cases, "--condition", "prompt-only")
    untold, told = ran.blame("untold"), ran.blame("told")
    assert (untold["failure"], untold["stage"]) == ("forbidden", "handoff")
    assert (told["failure"], told["stage"]) == ("forbidden", "execution")
    # Told of it, it would have done the same: nothing was lost that mattered.
    again = ran.blame("untold", replays=True)
    assert again["stage"] == "execution"


def test_a_planner_of_a_model_is_not_asked_again(tmp_path: Path, cli: Cli) -> None:
    chats = Chats(tmp_path)
    task = chats.studio.task()
    plan = {"schema_version": 1, "steps": [{"id": "s1", "goal": "return x + 2"}]}
    says = [
        calls(("run", {"command": "cat /spec/spec.md"})),
        calls(("write", {"path": "/plan/notes", "text": "it's so\n" * 2000})),
        calls(("write", {"path": "/plan/deep/er", "text": "deep"})),
        calls(("edit", {"path": "/plan/deep/er", "old": "deep", "new": "shallow"})),
        calls(("write", {"path": "/brief/not-mine", "text": "no"})),
        calls(("run", {"command": "printf '#!/bin/sh' > /plan/run; chmod +x /plan/run"})),
        calls(("message", {"text": "I have planned"})),
    ]
    act = "test -e /plan/notes && sed -i 's/return x/return x + 2/' app.py"
    with ScriptedModel({"You are the planner": says}) as model:
        team = chats.team(
            model.url,
            roles={
                "planner": {"agent": {"chat": {"model": "scripted"}}},
                "executor": {"agent": {"command": ["sh", "-c", act]}},
                "verifier": {"agent": {"command": ["/bin/true"]}},
            },
        )
        reference = task / "reference"
        reference.mkdir()
        (reference / "plan.json").write_text(json.dumps(plan))
        episode, _ = chats.run(team, task)
        asked = len(model.heard)
        done = cli("blame", episode.directory.parents[1], "--replays", "--team", team,
                   "--tasks", task, "--allow-team-models", "--json")  # fmt: skip
        assert done.code == 0, done.err
        assert len(model.heard) == asked
    (found,) = done.json["blame"]
    assert [(one["change"], one["passed"]) for one in found["replays"]] == [
        ("same", False),
        ("spec", False),
        ("plan", False),
    ]
    same = episode.directory.parents[1] / found["replays"][0]["run"]
    assert plan_of(same) == plan_of(episode.directory.parents[1])
    assert plan_of(same).keys() == {"notes", "deep/er", "run"}
    left = next(same.glob("episodes/*/handoffs/00-planner.json"))
    assert json.loads(left.read_text())["text"] == "I have planned"
    # The reference plan has not helped either, and nobody has tried the grader.
    assert (found["stage"], found["confidence"]) == ("execution", 0.5)


def plan_of(run: Path) -> dict[str, tuple[str, bool]]:
    """What its planner left beside the handoff: contents by digest, and whether they are
    executable."""
    (manifest,) = run.glob("episodes/*/manifests/00-planner-plan.jsonl")
    return {
        entry.name: (entry.digest, bool(entry.mode & 0o100))
        for entry in load_manifest(manifest).entries
        if entry.kind == "file" and entry.name != "handoff.json"
    }


def test_what_a_planner_left_and_cannot_be_laid_again_is_told(tmp_path: Path, cli: Cli) -> None:
    chats = Chats(tmp_path)
    task = chats.studio.task()
    says = [
        calls(("run", {"command": "ln -s /brief /plan/link"})),
        calls(("message", {"text": "I have planned"})),
    ]
    with ScriptedModel({"You are the planner": says}) as model:
        team = chats.team(
            model.url,
            roles={
                "planner": {"agent": {"chat": {"model": "scripted"}}},
                "executor": {"agent": {"command": ["true"]}},
                "verifier": {"agent": {"command": ["true"]}},
            },
        )
        episode, _ = chats.run(team, task)
        done = cli("blame", episode.directory.parents[1], "--replays", "--team", team,
                   "--tasks", task, "--allow-team-models", "--json")  # fmt: skip
    (found,) = done.json["blame"]
    assert (found["replays"], found["not_played"]) == (
        [], ["same: /plan/link cannot be laid again"],
    )  # fmt: skip


def goes_by_the_plan(heard: Heard) -> Say:
    """An executor that does what its plan says, and a verifier that looks."""
    done = heard.results
    if "You are the verifier" in heard.text:
        if not done:
            return calls(("run", {"command": "grep -c 'x + 1' /workspace/app.py"}))
        if len(done) == 1:
            word = "approve" if done[0].lstrip().startswith("1") else "reject"
            return calls(("verdict", {"verdict": word, "summary": "I looked"}))
        return calls(("message", {"text": "judged"}))
    if not done:
        goal = "x + 1" if "return x + 1" in heard.text else "x + 2"
        return calls(("run", {"command": f"sed -i 's/return x/return {goal}/' app.py"}))
    return calls(("message", {"text": "done"}))


def test_models_play_their_parts_again_and_are_held_to_be_chance(tmp_path: Path, cli: Cli) -> None:
    chats = Chats(tmp_path)
    task = chats.studio.task()
    for name, goal in (("reference/plan.json", "return x + 1"), ("plan", "return x + 2")):
        path = task / name if "/" in name else tmp_path / name
        path.parent.mkdir(exist_ok=True)
        steps = [{"id": "s1", "goal": goal}]
        path.write_text(json.dumps({"schema_version": 1, "steps": steps}))
    plan = f"printf %s {shlex.quote((tmp_path / 'plan').read_text())} > /plan/handoff.json"
    with ScriptedModel(goes_by_the_plan) as model:
        team = chats.team(model.url, roles={"planner": {"agent": {"command": ["sh", "-c", plan]}}})
        episode, _ = chats.run(team, task)
        assert (episode.record["grade"], episode.record["verdict"]) == ("fail", "reject")
        asked = len(model.heard)
        words = ("blame", episode.directory.parents[1], "--replays", "--team", team, "--tasks",
                 task, "--allow-team-models", "--json")  # fmt: skip
        once, again = cli(*words), cli(*words, "--repeat", 3)
        assert once.code == again.code == 0, (once.err, again.err)
        assert len(model.heard) > asked
    (first,), (second,) = once.json["blame"], again.json["blame"]
    for found, times in ((first, 1), (second, 3)):
        assert found["stage"] == "planning"
        shown = [(r["change"], r["passes"], r["times"]) for r in found["replays"]]
        assert shown == [("same", 0, times), ("spec", 0, times), ("plan", times, times)]
        assert found["cost"]["replays"] == 3 * times
        assert found["cost"]["tokens"] == 3 * times * 4 * 120
    # Once: two thirds; three times alike: four fifths; and the record alone says less than that.
    assert (first["confidence"], second["confidence"]) == (0.62, 0.75)
