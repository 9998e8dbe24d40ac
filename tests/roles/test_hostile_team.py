"""A team from a stranger reaches nothing but its own directory, and acts in boxes alone."""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.errors import TeamError
from rolewall.roles import load_team
from rolewall.sandbox import Backend, remove_tree

if TYPE_CHECKING:
    from conftest import Cli, Play, Studio

Spoil = Callable[[Path], object]
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
)


@pytest.fixture(autouse=True)
def _nothing_left(tmp_path: Path) -> Iterator[None]:
    """What is too deep for a path is too deep for pytest, which keeps the last directories."""
    yield
    for path in tmp_path.iterdir():
        if path.is_dir() and not path.is_symlink():
            remove_tree(path)


@pytest.fixture
def host() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rolewall-host-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def executor(**agent: object) -> Spoil:
    def spoil(directory: Path) -> None:
        team = json.loads((directory / "team.yaml").read_text())
        team["roles"]["executor"] = {"agent": agent}
        (directory / "team.yaml").write_text(json.dumps(team))

    return spoil


def linked(name: str, target: str, script: str) -> Spoil:
    def spoil(directory: Path) -> None:
        executor(script=script)(directory)
        (directory / name).symlink_to(target)

    return spoil


def instead(make: Callable[[Path], object]) -> Spoil:
    def spoil(directory: Path) -> None:
        (directory / "team.yaml").unlink()
        make(directory / "team.yaml")

    return spoil


def listening(path: Path) -> None:
    here = os.open(path.parent, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"/proc/self/fd/{here}/{path.name}")
    os.close(here)


def deep(directory: Path) -> None:
    before = Path.cwd()
    os.chdir(directory)
    for _ in range(1500):
        os.mkdir("dddd")
        os.chdir("dddd")
    os.chdir(before)


def script(text: str) -> Spoil:
    return lambda directory: (directory / "verifier.yaml").write_text(text)


REFUSED: dict[str, tuple[Spoil, str]] = {
    "team.yaml is a FIFO": (instead(os.mkfifo), "team.yaml: not a regular file; got 'FIFO'"),
    "team.yaml is a socket": (instead(listening), "team.yaml: not a regular file; got 'socket'"),
    "a socket beside it": (lambda directory: listening(directory / "s"), "/s: a socket"),
    "a script elsewhere": (executor(script="/etc/passwd"), "agent.script: not a plain path"),
    "a script with a NUL": (executor(script="a\0b"), "agent.script: not a plain path"),
    "a script behind a link": (linked("x.yaml", "/etc/passwd", "x.yaml"), "x.yaml: a link"),
    "a script below a link": (linked("d", "/etc", "d/passwd"), "/d: a link"),
    "a chain of links": (linked("e", "d", "e/passwd"), "/e: a link"),
    "a tree deeper than a path": (deep, "too long"),
    "a bomb of aliases": (script(BOMB), "verifier.yaml:5: not acceptable YAML"),
    "a call in a tag": (
        script("steps: !!python/object/apply:os.system [id]\n"),
        "could not determine a constructor",
    ),
    "a placeholder of Python's": (executor(command=["{__class__}"]), "unknown placeholder"),
    "a variable of two": (executor(command=["a"], env={"A=B": "c"}), "no name of a variable"),
    "a variable with a NUL": (executor(command=["a"], env={"A": "b\0c"}), "a NUL character"),
}


@pytest.mark.pain(15)
@pytest.mark.parametrize("case", REFUSED)
def test_what_leads_out_or_has_no_end_is_refused_by_name(studio: Studio, case: str) -> None:
    spoil, says = REFUSED[case]
    path = studio.team()
    load_team(path)
    spoil(path.parent)
    with pytest.raises(TeamError) as refused:
        load_team(path)
    text = str(refused.value)
    assert refused.value.exit_code == 2 and says in text and str(path.parent) in text
    assert "\n" not in text and "\0" not in text


@pytest.mark.parametrize("case", ["team.yaml is a FIFO", "a bomb of aliases", "a chain of links"])
def test_a_refused_team_starts_nothing(cli: Cli, studio: Studio, case: str) -> None:
    path, task = studio.team(), studio.task()
    REFUSED[case][0](path.parent)
    done = cli("run", path, "--tasks", task, "--backend", "bubblewrap", "-o", studio.path / "out")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("rolewall: ") and done.err.count("\n") == 1
    assert not (studio.path / "out").exists()


def transcript(directory: Path, name: str) -> list[dict[str, Any]]:
    text = (directory / "transcripts" / f"{name}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


LITERAL = [
    "{task.id}",
    "{0}",
    "%(role)s",
    "$(id)",
    "`id`",
    "{{7*7}}",
    "{% x %}",
    "{role!r}",
    "a\nb",
]


def test_words_are_words_and_never_run_or_expand(play: Play, studio: Studio) -> None:
    show = "import json, sys; print(json.dumps(sys.argv[1:]))"
    words = [*LITERAL, "{role}/{task}", "{{role}}"]
    team = studio.team(
        executor={"command": ["python3", "-I", "-c", show, *words], "env": {"A": "{role} $HOME"}},
        verifier={"verdict": "reject"},
    )
    episode = play(team, studio.task())
    (line,) = transcript(episode.directory, "00-executor")
    assert json.loads(line["stdout"]["text"]) == [*LITERAL, "executor/add-one", "{role}"]


ACTING = {
    "LD_PRELOAD": "/workspace/evil.so",
    "PYTHONPATH": "/workspace",
    "PATH": "/workspace/bin:/usr/bin:/bin",
    "BASH_ENV": "/workspace/evil.sh",
    "PYTHONSTARTUP": "/workspace/evil.py",
    "GIT_CONFIG_GLOBAL": "/workspace/evil.cfg",
    "GIT_EXTERNAL_DIFF": "/workspace/evil.sh",
}


@pytest.mark.pain(12)
def test_variables_of_a_team_act_in_that_roles_box_alone(
    cli: Cli, studio: Studio, backend: Backend, host: Path
) -> None:
    """A library that is not there makes every program say so: that is how far it reaches."""
    trip = f"touch {host}/$0-acted 2>/dev/null || true"
    plant = f"mkdir -p bin && printf '#!/bin/sh\\n{trip}\\necho shim\\n' | tee evil.sh > bin/date"
    files = {"app.py": "", "sitecustomize.py": "import sys; sys.stderr.write('customized\\n')\n"}
    task = studio.task(files=files)
    team = studio.team(
        executor={"steps": [{"run": f"{plant}; chmod 755 bin/date evil.sh"}]},
        verifier={
            "steps": [
                {"run": "date; python3 -c pass"},
                {"run": "rolewall-check -- sh -c 'date; python3 -c pass'"},
            ],
            "verdict": "reject",
        },
    )
    whole = json.loads(team.read_text())
    whole["roles"]["verifier"]["agent"]["env"] = ACTING
    team.write_text(json.dumps(whole))
    out = studio.path / "out"
    done = cli("run", team, "--tasks", task, "--backend", backend.name, "-o", out)
    assert done.code == 0 and "LD_PRELOAD" not in done.err, done.err
    (episode,) = (out / "episodes").iterdir()
    own, check = transcript(episode, "01-verifier")
    assert own["stdout"]["text"] == "shim\n"
    assert "evil.so" in own["stderr"]["text"] and "customized" in own["stderr"]["text"]
    assert "shim" not in check["stdout"]["text"]
    (before,) = transcript(episode, "00-executor")
    assert before["stderr"]["text"] == ""
    record = json.loads((episode / "episode.json").read_text())
    assert (record["verdict"], record["grade"], record["isolated"]) == ("reject", "fail", False)
    assert os.listdir(host) == []


def test_an_environment_larger_than_a_program_can_take_is_the_teams_fault(
    cli: Cli, studio: Studio, backend: Backend
) -> None:
    """Linux gives a program no text of more than 128 KiB."""
    team = studio.team(verifier={"verdict": "reject"})
    words = ["run", team, "--tasks", studio.task(), "--backend", backend.name,
             "-o", studio.path / "out"]  # fmt: skip
    executor(command=["true"], env={"A": "x" * 200_000})(team.parent)
    done = cli(*words)
    assert done.code == 2 and "roles.executor.agent.command" in done.err
    assert "Traceback" not in done.err
    shutil.rmtree(studio.path / "out")
    executor(command=["true"], env={"A": "x" * 20_000})(team.parent)
    assert cli(*words).code == 0


def test_a_team_gets_a_network_from_its_caller_alone(
    cli: Cli, studio: Studio, backend: Backend, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ask = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5).close()"
        team = studio.team(verifier={"verdict": "reject"})
        place = f"127.0.0.1:{port}"
        executor(command=["python3", "-I", "-c", ask], network={"allow": [place]})(team.parent)
        out = tmp_path / "lent"
        words = ["run", team, "--tasks", studio.task(), "--backend", backend.name, "-o", out]
        refused = cli(*words)
        assert refused.code == 2 and "--allow-team-network" in refused.err
        assert place in refused.err and not out.exists()
        done = cli(*words, "--allow-team-network")
        assert done.code == 0, done.err
        (record,) = out.glob("episodes/*/episode.json")
        assert json.loads(record.read_text())["phases"][0]["returncode"] == 0
