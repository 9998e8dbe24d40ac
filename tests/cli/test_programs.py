"""Whether a role's program is there is found before anybody plays, and said exactly."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.programs import LOOK

if TYPE_CHECKING:
    from conftest import Cli, Studio

    from rolewall.sandbox import Backend


def lay(install: Path, head: str, name: str = "agent") -> Path:
    path = install / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{head}\ntrue\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def install(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path / "install"


@pytest.mark.parametrize(
    ("head", "lacking"),
    [
        ("#!/usr/bin/env no-node", "no-node"),
        ("#!/srv/no-node", "/srv/no-node"),
    ],
)
def test_a_script_without_its_interpreter_is_refused_and_both_are_named(
    cli: Cli,
    studio: Studio,
    tmp_path: Path,
    install: Path,
    backend: Backend,
    head: str,
    lacking: str,
) -> None:
    lay(install, head)
    team, run = studio.team(executor={"command": ["agent", "go"]}), tmp_path / "run"
    done = cli("run", team, "--tasks", studio.task(), "--backend", backend.name, "-o", run,
               "--show", install)  # fmt: skip
    assert done.code == 2, done.err
    assert "roles.executor.agent.command: /" in done.err
    assert f"/bin/agent is there, its interpreter {lacking} is not; looked in" in done.err
    assert "--show DIR" in done.err and not (run / "run.json").exists()


@pytest.mark.bubblewrap
def test_a_script_is_found_where_its_interpreter_is_and_behind_one_that_has_none(
    cli: Cli, studio: Studio, tmp_path: Path, install: Path
) -> None:
    """The executor's is; that the verifier's is not stops the run before anybody plays."""
    lay(install, "#!/usr/bin/no-node")
    second = tmp_path / "second"
    at = "/rolewall/shown/2" if second.parts[1] == "tmp" else str(second)
    lay(second, "#!/usr/bin/env sh", "runner")
    lay(second, f"#!{at}/bin/runner")
    team = studio.team(executor={"command": ["agent"]}, verifier={"command": ["{agents}/bin/own"]})
    lay(team.parent, "#!/usr/bin/env no-node", "own")
    done = cli("run", team, "--tasks", studio.task(), "--backend", "bubblewrap",
               "-o", tmp_path / "run", "--show", install, "--show", second)  # fmt: skip
    assert done.code == 2
    assert "roles.verifier.agent.command: /rolewall/agents/bin/own is there" in done.err


@pytest.mark.parametrize("having", [("head", "dd"), ("dd",), ()])
def test_no_more_of_a_program_is_read_than_tells_what_runs_it(
    having: tuple[str, ...], tmp_path: Path
) -> None:
    """A program need have no second line, and a shell reads it byte by byte; where an image has
    nothing better, it does."""
    place = tmp_path / "bin"
    place.mkdir()
    for name in having:
        (place / name).symlink_to(shutil.which(name) or "")
    script, large, binary = (place / name for name in ("script", "large", "binary"))
    script.write_text("#!/bin/no-node --flag\necho '#!'\n")
    binary.write_bytes(b"\x7fELF\0\0#!/bin/sh\n")
    with large.open("wb") as file:
        file.write(b"#!/bin/" + b"x" * 300)
        file.truncate((1 << 30) if having else 1000)
    heads = []
    for path in (script, large, binary):
        path.chmod(0o755)
        done = subprocess.run(
            ["/bin/sh", "-c", LOOK, "sh", str(path)],
            env={"PATH": str(place)}, capture_output=True, timeout=60, check=True,
        )  # fmt: skip
        found, head, *_ = done.stdout.split(b"\n")
        assert found == str(path).encode()
        heads.append(head)
    assert heads[0] == b"#!/bin/no-node --flag" and not heads[2]
    assert heads[1][:256] == b"#!/bin/" + b"x" * 249


@pytest.mark.bubblewrap
def test_a_run_that_came_to_no_record_takes_another_show(
    cli: Cli, studio: Studio, tmp_path: Path, install: Path
) -> None:
    """Its program is looked for in its phase alone, since the agent has a PATH of its own."""
    lay(install, "#!/bin/sh")
    at = "/rolewall/shown/1" if install.parts[1] == "tmp" else str(install)
    team = studio.team(executor={"command": ["agent"], "env": {"PATH": f"{at}/bin:/usr/bin:/bin"}})
    run, wrong = tmp_path / "run", tmp_path / "wrong"
    lay(wrong, "#!/bin/sh", "another")
    command = ("run", team, "--tasks", studio.task(), "--backend", "bubblewrap", "-o", run)
    lacks = cli(*command, "--show", wrong)
    assert lacks.code == 2 and "cannot be started" in lacks.err, lacks.err
    assert (run / "seals.jsonl").exists() and not list(run.glob("episodes/*/episode.json"))
    other = cli(*command, "--show", install, "--seed", "5")
    assert other.code == 2 and "holds a run with other seed" in other.err
    done = cli(*command, "--show", install)
    assert done.code == 0, done.err
    assert json.loads((run / "run.json").read_text())["shown"] == [str(install)]
    assert cli("audit", run).code == 0


@pytest.mark.bubblewrap
def test_what_an_agents_files_could_not_be_laid_for_is_in_its_transcript(
    cli: Cli, studio: Studio, tmp_path: Path, install: Path
) -> None:
    lay(install, "#!/bin/sh", "codex")
    (lay(install, "#!/bin/sh", "mkdir")).write_text("#!/bin/sh\necho no room for $2 >&2; exit 7\n")
    team, run = studio.team(), tmp_path / "run"
    body = json.loads(team.read_text())
    body["roles"]["executor"]["agent"] = {"codex": {"model": "one"}}
    body["models"] = {"main": {"endpoint": "http://127.0.0.1:9/v1", "allow": ["one"]}}
    team.write_text(json.dumps(body))
    done = cli("run", team, "--tasks", studio.task(), "--backend", "bubblewrap", "-o", run,
               "--show", install, "--allow-team-models")  # fmt: skip
    assert done.code == 0, done.err
    (lines,) = run.glob("episodes/*/transcripts/*-executor.jsonl")
    said = json.loads(lines.read_text())
    assert (said["tool"], said["returncode"]) == ("lay", 7)
    assert said["arguments"]["path"].endswith("/.codex/config.toml")
    assert said["stderr"]["text"].startswith("no room for /home/")
