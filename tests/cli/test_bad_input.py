"""Bad input: one clear message with the place, the right exit code, no traceback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Cli, Ran, Studio

Spoil = Callable[[Path, Path], None]


def link(name: str, target: str) -> Spoil:
    def spoil(team: Path, task: Path) -> None:
        path = task / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        path.symlink_to(target)

    return spoil


def write(name: str, data: bytes) -> Spoil:
    return lambda team, task: (task / name).write_bytes(data) and None


def team_with(**change: object) -> Spoil:
    def spoil(team: Path, task: Path) -> None:
        team.write_text(json.dumps(json.loads(team.read_text()) | change))

    return spoil


def script(role: str, content: object) -> Spoil:
    return lambda team, task: (
        (team.parent / f"{role}.yaml").write_text(json.dumps(content)) and None
    )


def gone(name: str) -> Spoil:
    return lambda team, task: (task / name).unlink()


AGENT = {"agent": {"script": "executor.yaml"}}


def reaching(destination: str) -> dict[str, object]:
    return {"agent": {"script": "executor.yaml", "network": {"allow": [destination]}}}


CYCLE = [
    {"id": "a", "goal": "a", "depends_on": ["b"]},
    {"id": "b", "goal": "b", "depends_on": ["a"]},
]

CASES: dict[str, tuple[Spoil, str]] = {
    "spec is a link elsewhere": (link("spec.md", "/etc/passwd"), "spec.md"),
    "grader is a link elsewhere": (link("grader", "/"), "grader"),
    "workspace is a link elsewhere": (link("workspace", "/etc"), "workspace"),
    "task id climbs": (write("task.yaml", b"id: ../x\ngrader: {command: {run: [a]}}"), "id"),
    "task id is missing": (write("task.yaml", b"grader: {command: {run: [a]}}"), "id"),
    "grader is missing": (write("task.yaml", b"id: a\n"), "grader"),
    "grader is unknown": (write("task.yaml", b"id: a\ngrader: {oracle: {}}"), "grader"),
    "key is unknown": (
        write("task.yaml", b"id: a\ngrader: {command: {run: [a]}}\ncolour: red"),
        "colour",
    ),
    "key is there twice": (write("task.yaml", b"id: a\nid: b\n"), "id"),
    "task is binary junk": (write("task.yaml", bytes(range(256))), "task.yaml"),
    "spec is binary junk": (write("spec.md", b"\xff\xfe\x00"), "spec.md"),
    "spec is absent": (gone("spec.md"), "spec.md"),
    "a device in the workspace": (
        lambda team, task: os.mkfifo(task / "workspace" / "pipe"),
        "pipe",
    ),
    "network without the flag": (
        write("task.yaml", b'id: a\ngrader: {command: {run: [a]}}\nnetwork: {allow: ["h:1"]}'),
        "--allow-task-network",
    ),
    "image without the flag": (
        write("task.yaml", b"id: a\ngrader: {command: {run: [a]}}\nimage: other"),
        "--allow-task-image",
    ),
    "team is binary junk": (lambda team, task: team.write_bytes(b"\0\1\2") and None, "team.yaml"),
    "team is empty": (lambda team, task: team.write_bytes(b"") and None, "team.yaml"),
    "role is unknown": (team_with(roles={"executor": AGENT, "verifier": AGENT, "b": AGENT}), "'b'"),
    "verifier is missing": (team_with(roles={"executor": AGENT}), "verifier"),
    "rounds are none": (team_with(rounds=0), "rounds"),
    "limit is negative": (team_with(limits={"memory_mb": -1}), "memory_mb"),
    "limit is unknown": (team_with(limits={"disk": 5}), "disk"),
    "backend is unknown": (team_with(sandbox={"backend": "podman"}), "backend"),
    "the team's network without the flag": (
        team_with(roles={"executor": reaching("h:1"), "verifier": AGENT}),
        "team.yaml: the team asks for a network; got 'h:1' (--allow-team-network",
    ),
    "the team's image without the flag": (
        team_with(sandbox={"image": "other"}),
        "team.yaml: the team asks for an image; got 'other' (--allow-team-image",
    ),
    "network is an address": (
        team_with(roles={"executor": reaching("10.0.0.1:443"), "verifier": AGENT}),
        "a name or an IPv4 loopback address",
    ),
    "script is elsewhere": (
        team_with(roles={"executor": {"agent": {"script": "../x.yaml"}}, "verifier": AGENT}),
        "script",
    ),
    "script is absent": (
        team_with(roles={"executor": {"agent": {"script": "x.yaml"}}, "verifier": AGENT}),
        "x.yaml",
    ),
    "step is unknown": (script("executor", {"steps": [{"walk": "on"}]}), "walk"),
    "verdict by an executor": (script("executor", {"verdict": "approve"}), "verdict"),
    "verdict on an unknown step": (
        script("verifier", {"verdict": {"when": "x", "then": "approve", "else": "reject"}}),
        "x",
    ),
    "handoff steps in a circle": (
        script("executor", {"handoff": {"text": "", "steps": CYCLE}}),
        "circle",
    ),
    "a link beside the team": (
        lambda team, task: (team.parent / "secret").symlink_to("/etc/shadow"),
        "secret",
    ),
}  # fmt: skip


def one_message(done: Ran, code: int, says: str) -> None:
    assert done.code == code, done.err
    assert says in done.err
    assert done.err.startswith("rolewall: ") and done.err.count("\n") == 1, done.err
    assert done.out == ""


@pytest.mark.pain(15)
@pytest.mark.parametrize("case", CASES)
def test_a_bad_task_or_team_is_refused_by_name(cli: Cli, studio: Studio, case: str) -> None:
    spoil, says = CASES[case]
    team, task = studio.team(), studio.task()
    spoil(team, task)
    done = cli("run", team, "--tasks", task, "--backend", "bubblewrap", "-o", studio.path / "out")
    one_message(done, 2, says)
    assert not (studio.path / "out").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--condition", "nobody"], "nobody"),
        (["--shard", "3/2"], "--shard"),
        (["--backend", "vm"], "vm"),
    ],
)
def test_bad_options(cli: Cli, studio: Studio, words: list[str], says: str) -> None:
    one_message(cli("run", studio.team(), "--tasks", studio.task(), *words), 2, says)


def test_a_team_that_is_not_there(cli: Cli, studio: Studio) -> None:
    one_message(cli("run", "no/team.yaml", "--tasks", studio.task()), 2, "no/team.yaml")
    (studio.path / "none").mkdir()
    one_message(cli("run", studio.team(), "--tasks", studio.path / "none"), 2, "task.yaml")
    one_message(cli("run", studio.team(), "--tasks", "/nowhere"), 2, "/nowhere")


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_a_run_cannot_be_kept_in_a_file(cli: Cli, studio: Studio, out: str) -> None:
    (studio.path / "file").write_text("mine\n")
    done = cli("run", studio.team(), "--tasks", studio.task(), "--backend", "bubblewrap",
               "-o", studio.path / out)  # fmt: skip
    assert done.code == 2 and "file: not a directory" in done.err and "Traceback" not in done.err
    assert (studio.path / "file").read_text() == "mine\n"


def test_a_directory_that_is_no_run_is_left_as_it_is(cli: Cli, studio: Studio) -> None:
    kept = studio.path / "mine" / "scratch" / "file"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine\n")
    done = cli("run", studio.team(), "--tasks", studio.task(), "--backend", "bubblewrap",
               "-o", studio.path / "mine")  # fmt: skip
    assert done.code == 2 and "neither empty nor a run" in done.err
    assert kept.read_text() == "mine\n"


@pytest.mark.pain(13)
def test_no_engine_and_no_image(cli: Cli, studio: Studio) -> None:
    team, task = studio.team(), studio.task()
    words = ["run", team, "--tasks", task, "--backend", "docker", "-o", studio.path / "out"]
    dead = {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    one_message(cli(*words, env=dead), 3, "Docker engine")


@pytest.mark.docker
def test_an_image_that_does_not_exist(cli: Cli, studio: Studio) -> None:
    team, task = studio.team(), studio.task()
    team_with(sandbox={"backend": "docker", "image": "no-such-image:1"})(team, task)
    done = cli("run", team, "--allow-team-image", "--tasks", task, "-o", studio.path / "out")
    assert done.code == 2 and "no-such-image:1" in done.err and "Traceback" not in done.err


@pytest.mark.pain(4)
@pytest.mark.root
def test_a_full_disk_is_said_and_is_infrastructure(
    cli: Cli, studio: Studio, tmp_path: Path
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "none", small], check=True)
    try:
        done = cli("run", studio.team(), "--tasks", studio.task(), "--backend", "bubblewrap",
                   "-o", small / "out")  # fmt: skip
    finally:
        subprocess.run(["umount", "-l", small], check=True)
    assert done.code == 3 and "space" in done.err and "Traceback" not in done.err


@pytest.mark.parametrize("command", ["show", "audit", "gate"])
def test_what_is_no_run_is_refused(cli: Cli, tmp_path: Path, command: str) -> None:
    extra = ["--max-false-approval", "0.1"] if command == "gate" else []
    (tmp_path / "empty").mkdir()
    one_message(cli(command, tmp_path / "empty", *extra), 2, "empty")
    (tmp_path / "empty" / "run.json").write_bytes(b"\0junk")
    one_message(cli(command, tmp_path / "empty", *extra), 2, "run.json")


def test_a_run_or_task_where_roles_would_see_it_is_refused(cli: Cli, studio: Studio) -> None:
    team, task = studio.team(), studio.task()
    words = ["run", team, "--tasks", task, "--backend", "bubblewrap", "-o"]
    one_message(cli(*words, team.parent / "out"), 2, "beside the team file")
    one_message(cli(*words, task / "workspace" / "out"), 2, "lies in a task")
    inside = shutil.copytree(task, team.parent / "tasks" / "add-one")
    words = ["run", team, "--tasks", inside, "--backend", "bubblewrap", "-o", studio.path / "out"]
    one_message(cli(*words), 2, "beside the team file")
    assert not (studio.path / "out").exists()
    assert not (task / "workspace" / "out").exists()


@pytest.mark.parametrize(
    "shard", ["\u00b9/\u00b9", f"1/{'9' * 5000}", "1/1/1", "-1/2", "0/1", " 1/1"]
)
def test_what_is_no_shard(cli: Cli, studio: Studio, shard: str) -> None:
    one_message(cli("run", studio.team(), "--tasks", studio.task(), "--shard", shard), 2, "--shard")


def test_a_directory_is_no_team_file(cli: Cli, studio: Studio) -> None:
    team = studio.team().parent
    one_message(cli("run", team, "--tasks", studio.task()), 2, f"such as {team}/team.yaml")


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (["--trials", "2"], "with other trials; got '1'; expected 2"),
        (["--seed", "5"], "with other seed; got '0'; expected 5"),
        (["--condition", "prompt-only"], "with other conditions; got 'enforced'"),
        (["--tasks", "second"], "with other tasks; got 'none of these'; expected second ("),
    ],
)
def test_what_differs_from_the_run_that_is_there_is_named(
    cli: Cli, studio: Studio, change: list[str], says: str
) -> None:
    team, task = studio.team(verifier={"verdict": "reject"}), studio.task()
    second = studio.task("second")
    words = ["run", team, "--tasks", task, "--backend", "bubblewrap", "-o", studio.path / "out"]
    first = cli(*words)
    assert first.code == 0 and "team test-team: 1 episode on bubblewrap" in first.err
    other = cli(*words, *[str(second) if word == "second" else word for word in change])
    one_message(other, 2, says)
    again = cli(*words)
    assert again.code == 0 and "1 of 1 were already there" in again.err


@pytest.mark.bubblewrap
def test_an_agent_that_failed_is_named_where_the_run_is(cli: Cli, studio: Studio) -> None:
    team = studio.team(executor={"command": ["false"]},
                       verifier={"verdict": "reject"})  # fmt: skip
    out = studio.path / "out"
    done = cli("run", team, "--tasks", studio.task(), "--backend", "bubblewrap", "-o", out)
    assert done.code == 0, done.err
    assert "verdict reject, grade fail, 1 phase failed (1 failed)" in done.err
    assert "under enforced 1 phase failed (1 failed)" in done.out
