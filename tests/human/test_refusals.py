"""What is asked for with a person in a team, and cannot be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import Cli, Studio
from tests.human.test_sessions import team

if TYPE_CHECKING:
    from tests.human.conftest import Sit


@pytest.mark.parametrize("command", ["run", "compare", "calibrate"])
def test_without_a_terminal_nothing_starts(command: str, cli: Cli, studio: Studio) -> None:
    path = team(studio, executor={}, verifier=None)
    done = cli(command, path, "--tasks", studio.task(), "-o", studio.path / "run")
    assert done.code == 2
    assert "needs a terminal" in done.err and "roles.verifier.agent.human" in done.err
    assert not (studio.path / "run").exists()


def test_a_person_plays_one_episode_at_a_time(sit: Sit, studio: Studio) -> None:
    path = team(studio, executor=None, verifier={})
    run = studio.path / "run"
    person = sit("run", path, "--tasks", studio.task(), "--jobs", "2", "-o", run)
    assert person.ends() == 2
    assert b"--jobs" in person.seen and b"one episode at a time" in person.seen
    assert not run.exists()


def test_output_into_a_file_is_no_terminal(sit: Sit, studio: Studio) -> None:
    import subprocess
    import sys

    path = team(studio, executor=None, verifier={})
    script = 'import sys, rolewall.__main__ as m; sys.argv[0] = "rolewall"; m.main()'
    person = sit("--version")
    done = subprocess.run(
        [sys.executable, "-c", script, "run", str(path), "--tasks", str(studio.task())],
        stdin=person._inner, capture_output=True, text=True, timeout=60, check=False,
        cwd=studio.path,
    )  # fmt: skip
    assert done.returncode == 2 and "a standard output that is none" in done.stderr
