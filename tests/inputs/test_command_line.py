"""The same junk through the command line: one message and the right exit code, no traceback.

The commands run in this process. Where a document is good after all, something else that is
asked for is not, so that nothing starts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolewall.cli import cli as command_line
from rolewall.cli import explain
from rolewall.errors import RolewallError

if TYPE_CHECKING:
    from conftest import Cli, Junk

Command = Callable[..., tuple[int, str]]
SCRIPT = {"agent": {"script": "s.yaml"}}
TEAM = {
    "team": "fixers",
    "limits": {"phase_seconds": 9.5, "pids": 8},
    "rounds": 2,
    "roles": {
        "executor": {"agent": {"command": ["{agents}/a"], "network": {"allow": ["h:1"]}}},
        "verifier": SCRIPT,
    },
}
TASK = {"id": "a", "grader": {"command": {"run": ["true"]}}, "network": {"allow": ["h:1"]}}
STEPS = {"steps": [{"id": "a", "run": "true"}], "verdict": {"when": "a", "then": "approve",
                                                          "else": "reject"}}  # fmt: skip
# No argument that a system passes on holds a NUL.
WORDS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=4)
fewer = settings(
    max_examples=max(30, settings().max_examples // 4),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="session")
def command() -> Command:
    """Exit code and everything written. An error that is none of rolewall's is the test's."""

    def run(*words: object) -> tuple[int, str]:
        done = CliRunner().invoke(command_line, [str(word) for word in words])
        if isinstance(done.exception, RolewallError):
            code, message = explain(done.exception)
            return code, message
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.output

    return run


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A team and a task that are good."""
    made = tmp_path_factory.mktemp("shop")
    for below in ("team", "task/workspace", "task/grader"):
        (made / below).mkdir(parents=True)
    (made / "team" / "team.yaml").write_text(json.dumps(TEAM))
    (made / "team" / "s.yaml").write_text(json.dumps(STEPS))
    (made / "task" / "task.yaml").write_text(json.dumps(TASK))
    for name in ("spec.md", "brief.md"):
        (made / "task" / name).write_text("x\n")
    return made


@fewer
@given(data=st.data())
@pytest.mark.parametrize(
    ("name", "valid"), [("team/team.yaml", TEAM), ("team/s.yaml", STEPS), ("task/task.yaml", TASK)]
)
def test_a_run_of_junk(
    shop: Path, command: Command, junk: Junk, name: str, valid: object, data: st.DataObject
) -> None:
    good = (shop / name).read_bytes()
    (shop / name).write_bytes(data.draw(junk.yaml(valid)))
    try:
        code, said = command("run", shop / "team" / "team.yaml", "--tasks", shop / "task",
                             "--condition", "no-such", "-o", shop / "out")  # fmt: skip
    finally:
        (shop / name).write_bytes(good)
    assert code in (2, 3) and said and "Traceback" not in said
    assert code == 2 or "backend" in said or "docker" in said or "bubblewrap" in said
    assert not (shop / "out").exists()


@fewer
@given(
    words=st.lists(
        st.sampled_from(
            ["--trials", "--jobs", "--seed", "--shard", "--condition", "--backend", "--tasks", "-o",
             "--sign", "--json", "--allow-task-image", "--bogus", "--", "\udcff", ""]
        )
        | st.sampled_from(["1", "0", "-1", "9" * 30, "9" * 5000, "nan", "1e3", "1/0", "x" * 5000])
        | WORDS,
        max_size=4,
    )
)  # fmt: skip
def test_words_to_run(shop: Path, command: Command, words: list[str]) -> None:
    code, said = command("run", shop / "nowhere" / "team.yaml", "--tasks", shop / "task", *words)
    assert code == 2 or (code == 0 and "Usage:" in said), said


EXEC = (
    "--timeout", "--cpus", "--memory-mb", "--pids", "--disk-mb", "--env", "--workdir", "--network",
    "--zone", "--role", "--observe", "--attempts", "--image", "--backend",
)  # fmt: skip
GIVEN = (
    "1", "0", "-1", "nan", "inf", "-inf", "1e400", "9" * 30, "9" * 5000, "a=b", "=b", "h:1",
    "\udcff", "x:y:z", "x" * 5000, "a=/:read", "a=/nowhere:write", "", "reads", "/", "a=hidden",
    "z=hidden",
)  # fmt: skip


@fewer
@given(words=st.lists(st.tuples(st.sampled_from(EXEC), st.sampled_from(GIVEN) | WORDS), max_size=3))
def test_words_to_exec(shop: Path, command: Command, words: list[tuple[str, str]]) -> None:
    flat = [word for pair in words for word in pair]
    _, said = command("exec", "--role", "a", "--zone", f"z={shop / 'team'}:read",
                      "--backend", "bubblewrap", *flat, "--attempts", shop / "nowhere" / "l",
                      "--", "true")  # fmt: skip
    assert said and "a bug in rolewall" not in said and "Traceback" not in said


@pytest.mark.parametrize("word", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("option", ["--timeout", "--cpus"])
def test_no_number_is_no_limit(cli: Cli, tmp_path: Path, option: str, word: str) -> None:
    (tmp_path / "zone").mkdir()
    done = cli(
        "exec", "--role", "a", "--zone", f"z={tmp_path}/zone:read", option, word, "--", "true"
    )
    assert done.code == 125 and option in done.err and "a bug in rolewall" not in done.err


def test_a_directory_to_start_in_is_absolute(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "zone").mkdir()
    done = cli("exec", "--role", "a", "--zone", f"z={tmp_path}/zone:read", "--workdir", "z",
               "--", "true")  # fmt: skip
    assert done.code == 125 and "--workdir: not an absolute path" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ["run", "{long}/team.yaml", "--tasks", "."],
        ["run", "{long}", "--tasks", "."],
        ["show", "{long}"],
        ["audit", "{long}"],
        ["gate", "{long}", "--max-false-approval", "0.1"],
        ["init", "{long}"],
    ],
)
def test_a_name_that_is_too_long(cli: Cli, words: list[str]) -> None:
    done = cli(*[word.format(long="x" * 300) for word in words])
    assert done.code in (2, 3) and done.err.startswith("rolewall: ")
    assert done.code == 2 or words[0] == "init"
    assert "Traceback" not in done.err and "a bug" not in done.err


@pytest.mark.pain(6)
def test_a_role_cannot_hold_up_who_reads_its_verdict(cli: Cli, tmp_path: Path) -> None:
    """Text without an end, all escapes: a search that starts anew at each takes hours."""
    junk = b'"' + b'\\"' * 500_000
    (tmp_path / "records.jsonl").write_bytes(junk)
    done = cli("gate", "records.jsonl", "--max-false-approval", "0.1")
    assert done.code == 2 and "not JSON" in done.err
