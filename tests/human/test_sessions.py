"""A person plays a role at a terminal, through the command line."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import Episode, Studio, episodes_of

if TYPE_CHECKING:
    from tests.human.conftest import Person, Sit

pytestmark = pytest.mark.bubblewrap

NONCE = """n=$(sed -n 's/.*"nonce": "\\([0-9a-f]*\\)".*/\\1/p' /rolewall/prompt.md)"""
VERDICT = (
    """printf '{"schema_version": 1, "nonce": "%s", "verdict": "approve", "summary": "fine","""
    """ "checks": [], "commands": []}' $n > /verdict/verdict.json"""
)
FIX = {"steps": [{"run": "sed -i 's/return x/return x + 1/' app.py"}]}


def team(studio: Studio, seconds: int = 60, shell: str = "/bin/sh", **roles: Any) -> Path:
    """A team of scripts in which a role with the value ``None`` is a person's."""
    path = studio.team(**{role: script or {} for role, script in roles.items()})
    body = json.loads(path.read_text())
    for role, script in roles.items():
        if script is None:
            body["roles"][role] = {"agent": {"human": {"shell": shell}}}
    body["limits"]["phase_seconds"] = seconds
    path.write_text(json.dumps(body))
    return path


def begun(sit: Sit, studio: Studio, path: Path, backend: str = "bubblewrap") -> Person:
    run = studio.path / "run"
    return sit("run", path, "--tasks", studio.task(), "--backend", backend, "-o", run)


def ended(person: Person, studio: Studio, code: int = 0) -> Episode:
    assert person.ends() == code, person.seen.decode(errors="replace")
    assert person.restored
    (episode,) = episodes_of(studio.path / "run")
    return episode


def calls(episode: Episode, name: str) -> list[dict[str, Any]]:
    text = (episode.directory / "transcripts" / f"{name}.calls.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    "backend",
    ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)],
)
def test_a_person_does_the_work_and_a_person_judges_it(
    backend: str, sit: Sit, studio: Studio
) -> None:
    """As executor the work can be edited; as verifier that is blocked, and recorded."""
    person = begun(sit, studio, team(studio, executor=None, verifier=None), backend)
    told = person.sees("$ ").decode()
    assert "/rolewall/prompt.md" in told and "executor of task add-one" in told
    access = dict(re.findall(r"^  (/\w+) +(\w+)", told.replace("\r", ""), re.MULTILINE))
    assert access["/workspace"] == access["/report"] == "write"
    assert (access["/brief"], access["/spec"], access["/grader"]) == ("read", "hidden", "hidden")
    person.types("sed -i 's/return x/return x + 1/' app.py\r")
    person.does("exit")
    person.sees("verifier of task add-one")
    person.does("echo spoilt >> app.py")
    person.sees("Read-only")
    person.does(NONCE, "rolewall-check -- python3 -c 'import app' && echo ran", VERDICT)
    person.sees("$ ")
    person.types(b"\x04")
    episode = ended(person, studio)
    told = person.seen.partition(b"1 of 1 done")
    assert b"grade pass" not in told[0] and b"approve" in told[2]
    record = episode.record
    assert (record["verdict"], record["grade"], record["isolated"]) == ("approve", "pass", True)
    assert [phase["outcome"] for phase in record["phases"]] == ["done", "done"]
    counts = episode.phase("verifier")["attempts"]
    assert (counts["edit_blocked"], counts["edit_allowed"]) == (1, 0)
    assert episode.attempts(role="verifier", kind="edit", outcome="blocked")
    kept = (episode.directory / "transcripts" / "01-verifier.stdout").read_bytes()
    assert b"echo spoilt >> app.py" in kept and b"Read-only" in kept


def test_what_the_shell_is_given_is_a_terminal_of_its_own(sit: Sit, studio: Studio) -> None:
    """Nothing of the person's terminal is in the box; its size is, and stays true."""
    person = begun(sit, studio, team(studio, executor=None, verifier={}))
    person.does("stty size", "readlink /proc/$$/fd/*")
    shown = person.sees("$ ").decode()
    assert "30 100" in person.seen.decode()
    assert set(re.findall(r"^(?:/dev/|pipe|socket)\S*", shown.replace("\r", ""), re.M)) <= {
        "/dev/pts/0",
        "/dev/tty",
    }, shown
    person.types("echo $TERM; while [ $(stty size | cut -d' ' -f2) = 100 ]; do sleep 0.1; done\r")
    person.sees("xterm")
    person.resize(40, 120)
    person.does("stty size; exit")
    person.sees("40 120")
    ended(person, studio)
    sizes = [c["arguments"] for c in calls(episodes_of(studio.path / "run")[0], "00-executor")
             if c.get("tool") == "size"]  # fmt: skip
    assert [(size["rows"], size["columns"]) for size in sizes] == [(40, 120)]


def test_ctrl_c_is_for_the_shell(sit: Sit, studio: Studio) -> None:
    """It ends what runs there, and neither the session nor the run; passwords are not kept."""
    person = begun(sit, studio, team(studio, executor=None, verifier={}))
    person.does("echo begun; sleep 1000")
    person.sees("begun\r\n")
    time.sleep(0.2)
    person.types(b"\x03")
    person.does("echo still$((1 + 1))")
    person.sees("still2")
    person.does("stty -echo; echo now; read it; stty echo; echo $it | wc -c")
    person.sees("it | wc -c\r\n")
    person.sees("now\r\n")
    person.types("hunter2\r")
    person.sees("8\r\n")
    person.does("exit 3")
    episode = ended(person, studio)
    assert episode.phase("executor")["outcome"] == "done"  # a shell's code is its last command's
    assert episode.phase("executor")["returncode"] == 3
    made = calls(episode, "00-executor")
    assert made[0] == {"agent": "human"}
    assert [c["tool"] for c in made[1:]].count("hidden") == 1
    for file in (episode.directory / "transcripts").iterdir():
        assert b"hunter2" not in file.read_bytes()


def test_a_phase_that_is_over_ends_the_session(sit: Sit, studio: Studio) -> None:
    person = begun(sit, studio, team(studio, seconds=3, executor=None, verifier={}))
    person.does("sed -i 's/return x/return x + 1/' app.py; stty raw; cat")
    person.sees("the time of this phase is over")
    episode = ended(person, studio)
    assert episode.phase("executor")["outcome"] == "timeout"
    assert episode.record["grade"] == "pass"


def test_a_run_that_is_stopped_leaves_the_terminal_as_it_was(sit: Sit, studio: Studio) -> None:
    person = begun(sit, studio, team(studio, executor=None, verifier={}))
    person.does("stty raw -echo; echo ready; sleep 1000")
    person.sees("ready\n")
    assert not person.restored
    person.process.terminate()
    assert person.ends() == 130
    assert person.restored
    assert not list((studio.path / "run" / "episodes").glob("*/episode.json"))


def test_what_files_tell_a_terminal_to_do_is_not_done(sit: Sit, studio: Studio) -> None:
    """A verifier looks at work whose author speaks to the terminal; the transcript has it."""
    steps = [{"run": r"printf 'a\033]52;c;ZXZpbA==\007b\033[31mred\033[0m\033P+q\033\\c' > x"}]
    person = begun(sit, studio, team(studio, executor={"steps": steps}, verifier=None))
    person.does("cat x; echo", "exit")
    episode = ended(person, studio)
    assert b"ab\x1b[31mred\x1b[0mc" in person.seen
    assert b"]52;" not in person.seen
    kept = (episode.directory / "transcripts" / "01-verifier.stdout").read_bytes()
    assert b"\x1b]52;c;ZXZpbA==\x07" in kept
    assert episode.record["verdict"] == "missing"


def test_a_person_who_runs_the_work_beside_the_verdict_is_recorded(
    sit: Sit, studio: Studio
) -> None:
    person = begun(sit, studio, team(studio, executor=FIX, verifier=None))
    person.does("python3 app.py", NONCE, VERDICT, "exit")
    record = ended(person, studio).record
    assert (record["verdict"], record["isolated"]) == ("approve", False)
    assert record["verdicts"][0]["beside"] == "python3 app.py"


def test_a_shell_that_is_not_there_is_said(sit: Sit, studio: Studio) -> None:
    path = team(studio, executor=None, verifier={}, shell="/bin/no-shell")
    person = begun(sit, studio, path)
    assert person.ends() == 2
    assert person.restored
    assert b"the shell cannot be started" in person.seen
    assert b"/bin/no-shell" in person.seen
