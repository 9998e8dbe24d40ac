"""Git, asked by whoever reads the executor's work, runs nothing that the executor wrote."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Episode, Play, Studio, User

    from rolewall.sandbox import Backend

# Two repositories whose configuration names a program that git runs to look at its files.
PLANT = r"""
printf '#!/bin/sh\ntouch /tmp/fired\nexit 1\n' > monitor && chmod +x monitor
[ -d inner/.git ] || git init -q inner
for place in . inner; do git -C $place config core.fsmonitor /workspace/monitor; done
git add -A 2>/dev/null
"""
LOOK = "for p in . inner; do git -C $p status --short; done >/dev/null 2>&1; ls /tmp/fired || true"


def said(episode: Episode, phase: str) -> str:
    lines = (episode.directory / "transcripts" / f"{phase}.jsonl").read_text().splitlines()
    return "".join(json.dumps(json.loads(line)["stdout"]) for line in lines)


@pytest.mark.parametrize("condition", ["enforced", "prompt-only"])
def test_no_reader_runs_what_the_executor_set_up(
    play: Play, studio: Studio, condition: str
) -> None:
    look = {"steps": [{"run": LOOK}]}
    team = studio.team(
        planner=look,
        executor={"steps": [{"run": PLANT}, {"run": "rm -f /tmp/fired"}, *look["steps"]]},
        verifier={**look, "verdict": "reject"},
        rounds=2,
        replan=True,
    )
    episode = play(team, studio.task(), condition)
    assert [p["role"] for p in episode.record["phases"]][3] == "planner"
    for twin in ("01-executor", "04-executor"):  # which has its own repositories, in each round
        assert "/tmp/fired" in said(episode, twin)
    for phase in ("02-verifier", "03-planner", "05-verifier"):
        assert "/tmp/fired" not in said(episode, phase)


# Repositories in a zone, and a link to it from the workspace where the role may make one.
PLANT_IN = r"""
cd /{zone} && git init -q . && git init -q deep/er && git init -q --bare bare
set_up() { git --git-dir=$1 config core.fsmonitor "touch /tmp/fired-$2;:"; }
set_up .git top; set_up deep/er/.git deep; set_up bare bare
git --git-dir=bare config core.bare false
git --git-dir=bare config core.worktree /{zone}
ln -s /{zone} /workspace/there 2>/dev/null; true
"""
LOOK_IN = r"""
for p in /{zone} /{zone}/deep/er /{zone}/bare /workspace/there; do
    cd $p 2>/dev/null && git status --short
done >/dev/null 2>&1
ls -d /{zone}/deep/er; ls /tmp/fired-* || true
"""
# Without what the harness says in the environment git takes the third one for one too.
OWN = "cd /{zone}/bare; env -u GIT_CONFIG_COUNT git status >/dev/null 2>&1; ls /tmp/fired-*"
FIRED = ("/tmp/fired-top", "/tmp/fired-deep", "/tmp/fired-bare")


def acts(*commands: str, zone: str) -> list[dict[str, str]]:
    return [{"run": command.replace("{zone}", zone)} for command in commands]


@pytest.mark.parametrize(
    ("zone", "twin", "readers"),
    [
        ("report", "01-executor", ["02-verifier"]),
        ("plan", "00-planner", ["01-executor", "02-verifier"]),
        ("feedback", "02-verifier", ["03-planner", "04-executor"]),
    ],
)
def test_no_role_runs_what_lies_in_a_zone_of_another(
    play: Play, studio: Studio, zone: str, twin: str, readers: list[str]
) -> None:
    owner = twin[3:]
    look = acts(LOOK_IN, zone=zone)
    roles = {role: {"steps": look} for role in ("planner", "executor", "verifier")}
    roles[owner] = {"steps": acts(PLANT_IN, "rm -f /tmp/fired-*", LOOK_IN, OWN, zone=zone)}
    roles["verifier"] |= {"verdict": "reject"}  # type: ignore[dict-item]
    episode = play(studio.team(**roles, rounds=2, replan=True), studio.task())
    assert all(name in said(episode, twin) for name in FIRED)
    for reader in readers:
        assert f"/{zone}/deep/er" in said(episode, reader), "it is there to be looked at"
        assert "/tmp/fired-" not in said(episode, reader)
    kept = (episode.directory / "manifests" / f"{twin}-{zone}.jsonl").read_text()
    assert '".git/config"' in kept and '"deep/er/.git/config"' in kept
    later = (episode.directory / "manifests" / f"{readers[0]}-{zone}.jsonl").read_text()
    assert "/.git" not in later and '"bare/config"' in later


@pytest.mark.root
@pytest.mark.parametrize(
    ("condition", "close", "phases"),
    [
        ("prompt-only", "chmod 000 sub/inner sub", 4),
        ("prompt-only", "chmod 000 /workspace", 2),  # where it stands, so it says no more
        ("prompt-only", "mv sub other; ln -s /etc sub", 4),
        ("enforced", "true", 4),
    ],
)
def test_closing_the_way_to_a_repository_makes_no_error_for_an_ordinary_user(
    ordinary: User, studio: Studio, backend: Backend, condition: str, close: str, phases: int
) -> None:
    studio = dataclasses.replace(studio, path=ordinary.directory("studio"))
    make = "chmod 700 sub sub/inner || mkdir -p sub/inner; git init -q sub/inner"
    seal = "chmod 000 sub/inner/.git && chmod 000 sub/inner sub .git /workspace"
    team = studio.team(
        executor={"steps": [{"run": make}, *([{"run": seal}] if condition == "enforced" else [])]},
        verifier={"steps": [{"run": close}], "verdict": "reject"},
        rounds=2,
    )
    task, out = studio.task(), ordinary.home / "out"
    ordinary.give(studio.path)
    options = ("--condition", condition, "--backend", backend.name, "-o", out)
    done = ordinary.cli("run", team, "--tasks", task, *options)
    assert done.code == 0, done.err
    (file,) = out.glob("episodes/*/episode.json")
    record = json.loads(file.read_text())
    assert (record["status"], len(record["phases"])) == ("complete", phases)
