"""What an export refuses; each with what it takes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.rundir import RunInfo, write_run_info
from tests.export.conftest import Made

if TYPE_CHECKING:
    from tests.conftest import Cli

pytestmark = pytest.mark.bubblewrap


@pytest.mark.parametrize("name", ["00-executor.exchanges.jsonl", "01-verifier.jsonl"])
@pytest.mark.parametrize("how", ["altered", "gone", "a link"])
def test_a_transcript_that_is_not_what_was_recorded(
    made: Made, cli: Cli, tmp_path: Path, name: str, how: str
) -> None:
    run = made.copy(tmp_path / "run")
    file = run / made.episode.relative_to(made.path) / "transcripts" / name
    data = file.read_bytes()
    file.unlink()
    if how == "altered":
        file.write_bytes(data.replace(b"a", b"b", 1))
    elif how == "a link":
        (tmp_path / "same").write_bytes(data)
        file.symlink_to(tmp_path / "same")
    done = cli("export", run, "--format", "atif")
    assert (done.code, name in done.err) == (2, True), done.err
    assert not list(tmp_path.rglob(f"{name.partition('.')[0]}.trajectory.json"))


def test_only_into_a_new_place(made: Made, cli: Cli, tmp_path: Path) -> None:
    run = made.copy(tmp_path / "run")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine\n")
    (tmp_path / "empty").mkdir()
    for place in (run / "out", run / "episodes", tmp_path / "full", tmp_path / "full" / "mine"):
        done = cli("export", run, "--format", "atif", "-o", place)
        assert (done.code, "give another -o" in done.err) == (2, True), done.err
    assert not (run / "out").exists()
    assert cli("audit", run).code == 0
    assert cli("export", run, "--format", "atif", "-o", tmp_path / "empty").code == 0


def test_an_episode_or_a_format_that_is_not_there(made: Made, cli: Cli) -> None:
    assert cli("export", made.path, "no-such", "--format", "atif").code == 2
    assert cli("export", made.path, "--format", "har").code == 2
    assert cli("export", made.path).code == 2


def test_without_inspect_it_says_what_to_install(made: Made, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "inspect_ai.py").write_text("raise ImportError('not here')\n")
    done = cli("export", made.path, "--format", "inspect", "-o", tmp_path / "out",
               env={"PYTHONPATH": str(tmp_path / "path")})  # fmt: skip
    assert done.code == 2 and "pip install 'rolewall[inspect]'" in done.err
    assert not (tmp_path / "out").exists()


def test_a_run_without_episodes_is_no_success(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    info = RunInfo(created=time.time(), rolewall="0", python="3", team="t", team_digest="0",
                   tasks=(), conditions=("enforced",), trials=1, backend="bubblewrap",
                   image="host", planned=0, seed=0)  # fmt: skip
    write_run_info(tmp_path / "run", info)
    done = cli("export", tmp_path / "run", "--format", "atif", "--json")
    assert (done.code, done.json["episodes"]) == (4, 0), done.err
