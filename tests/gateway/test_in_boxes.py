"""Teams with models, in real boxes, through the command line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.models import Heard, Say, ScriptedModel

if TYPE_CHECKING:
    from tests.conftest import Studio

KEY = "sk-true-key-0123456789"
AGENT = Path(__file__).with_name("agent.py")
GOOD = "def add(x):\n    return x + 1\n"
BUDGET: dict[str, Any] = {"budget": {"calls": 10}}
TEAM = {"executor": BUDGET, "verifier": BUDGET}


def say(heard: Heard) -> Say:
    return Say("approve" if "You are the verifier" in heard.text else GOOD, tokens=(100, 40, 20))


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str
    run: Path

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def episode(self) -> Path:
        (found,) = (self.run / "episodes").iterdir()
        return found

    @property
    def record(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.episode / "episode.json").read_text())
        return loaded

    def phase(self, role: str) -> dict[str, Any]:
        found: dict[str, Any] = next(p for p in self.record["phases"] if p["role"] == role)
        return found

    def exchanges(self, name: str) -> list[dict[str, Any]]:
        file = self.episode / "transcripts" / f"{name}.exchanges.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()]


def rolewall(*arguments: object, run: Path, key: str | None = KEY) -> Done:
    kept = {name: value for name, value in os.environ.items() if name != "A_MODEL_KEY"}
    done = subprocess.run(
        [sys.executable, "-m", "rolewall", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=kept | ({"A_MODEL_KEY": key} if key is not None else {}),
    )
    return Done(done.returncode, done.stdout, done.stderr, run)


class Works:
    """A place with a task, and teams of the agent beside this file."""

    def __init__(self, path: Path, studio: Callable[[Path], Studio], backend: str) -> None:
        self.path = path
        self.task = studio(path).task()
        self.backend = backend
        self._runs = 0

    def team(self, url: str, agents: dict[str, dict[str, Any]], **limits: int) -> Path:
        self._runs += 1
        root = self.path / f"team-{self._runs}"
        root.mkdir()
        shutil.copy(AGENT, root / "agent.py")
        port = str(urlsplit(url).port)
        command = ["python3", "{agents}/agent.py", port]
        main = {
            "endpoint": url,
            "key": "A_MODEL_KEY",
            "allow": ["big"],
            "prices": {"big": {"input": 3, "cached": 0.3, "output": 15}},
        }
        team = {
            "team": "modelled",
            "limits": {"phase_seconds": 60, **limits},
            "models": {"main": main},
            "roles": {
                role: {"agent": {"command": command, "endpoint": "main", **more}}
                for role, more in agents.items()
            },
        }
        (root / "team.yaml").write_text(json.dumps(team))
        return root / "team.yaml"

    def run(
        self,
        team: Path,
        *more: object,
        key: str | None = KEY,
        grants: Sequence[str] = ("--allow-team-models",),
    ) -> Done:
        self._runs += 1
        out = self.path / f"run-{self._runs}"
        arguments = (team, "--tasks", self.task, "--backend", self.backend, "-o", out)
        return rolewall("run", *arguments, *grants, *more, run=out, key=key)


@dataclass(frozen=True)
class First:
    """One run that many tests look at, and the requests that its endpoint heard."""

    works: Works
    team: Path
    done: Done
    heard: list[Heard]


def first_run(path: Path, backend: str) -> First:
    from tests.conftest import Studio

    works = Works(path, Studio, backend)
    with ScriptedModel(say) as model:
        team = works.team(model.url, TEAM)
        done = works.run(team)
        assert done.code == 0, done.err
        return First(works, team, done, list(model.heard))


@pytest.fixture(scope="module")
def in_bubblewrap(tmp_path_factory: pytest.TempPathFactory) -> First:
    return first_run(tmp_path_factory.mktemp("first"), "bubblewrap")


@pytest.fixture(scope="module")
def in_docker(tmp_path_factory: pytest.TempPathFactory) -> First:
    return first_run(tmp_path_factory.mktemp("first"), "docker")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        pytest.param("docker", marks=pytest.mark.docker),
    ],
)
def first(request: pytest.FixtureRequest) -> First:
    found: First = request.getfixturevalue(f"in_{request.param}")
    return found


@pytest.fixture(scope="module")
def spent(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """An executor that asks for more than its budget, under a condition that shares history."""
    from tests.conftest import Studio

    works = Works(tmp_path_factory.mktemp("spent"), Studio, "bubblewrap")
    executor = {"env": {"FURTHER": "2"}, "budget": {"calls": 2}}
    with ScriptedModel(say) as model:
        team = works.team(model.url, {**TEAM, "executor": executor})
        agent = team.with_name("agent.py")
        listing = "\nif ROLE == 'verifier':\n    print(os.listdir('/history'))\n"
        agent.write_text(agent.read_text() + listing)
        done = works.run(team, "--condition", "enforced-shared-history")
    assert done.code == 0, done.err
    return done


@pytest.fixture
def works(tmp_path: Path) -> Works:
    from tests.conftest import Studio

    return Works(tmp_path, Studio, "bubblewrap")


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(say) as found:
        yield found


def told(done: Done, name: str) -> dict[str, Any]:
    text = (done.episode / "transcripts" / f"{name}.stdout").read_text()
    found: dict[str, Any] = json.loads(text.splitlines()[-1])
    return found


def test_a_team_works_and_no_key_is_found_in_its_boxes(first: First) -> None:
    """What is planted in the workspace, and looks alike, is found: the search works."""
    done, heard = first.done, first.heard
    assert (done.record["verdict"], done.record["grade"]) == ("approve", "pass")
    assert {h.headers["Authorization"] for h in heard} == {f"Bearer {KEY}"}
    for name in ("00-executor", "01-verifier"):
        found = told(done, name)
        assert "/workspace/decoy: sk-true-decoy" in found["found"]
        assert {line.partition(": ")[2] for line in found["found"]} == {"sk-true-decoy"}
        assert (found["gateway"], found["endpoint"]) == ("reached", "Connection refused")


def test_no_file_of_a_run_holds_the_key(first: First) -> None:
    done = first.done
    holding = [
        path for path in done.run.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ]
    assert not holding


def test_what_was_used_stands_in_the_record_and_in_every_table(first: First) -> None:
    done = first.done
    usage = done.phase("executor")["usage"]
    assert usage["usd"] == pytest.approx((60 * 3 + 40 * 0.3 + 20 * 15) / 1e6)
    assert [usage[name] for name in ("calls", "input", "cached", "output", "refused")] == [
        1, 100, 40, 20, 0,
    ]  # fmt: skip
    assert usage["models"] == ["big"] and usage["seconds"] > 0
    shown = rolewall("show", done.run, "--json", run=done.run).json
    (row,) = [r for r in shown["roles"]["enforced"] if r["role"] == "executor"]
    assert (row["calls"], row["tokens"]) == (1, 120)
    assert row["usd"] == pytest.approx(usage["usd"])
    text = rolewall("show", done.run, "add-one", run=done.run).out
    assert "model: 1 call of big, 100 tokens in (40 cached), 20 out, $0.0005" in text
    table = rolewall("show", done.run, run=done.run).out
    assert "tokens" in table and "$0.0005" in table
    report = done.run / "report.html"
    assert rolewall("report", done.run, "-o", report, run=done.run).code == 0
    assert "Tokens and cost" in report.read_text()


def test_every_exchange_is_recorded_and_held_by_the_audit(first: First, tmp_path: Path) -> None:
    done = first.done
    (line,) = done.exchanges("00-executor")
    assert line["response"]["choices"][0]["message"]["content"] == GOOD
    assert "You are the executor" in line["request"]["messages"][0]["content"]
    assert rolewall("audit", done.run, run=done.run).code == 0
    changed = tmp_path / "changed"
    shutil.copytree(done.run, changed, symlinks=True)
    (episode,) = (changed / "episodes").iterdir()
    file = episode / "transcripts" / "00-executor.exchanges.jsonl"
    file.write_text(file.read_text().replace("x + 1", "x + 2"))
    audited = rolewall("audit", changed, run=changed)
    assert audited.code == 1 and "00-executor.exchanges.jsonl" in audited.out + audited.err


def test_a_replay_needs_neither_model_nor_key(first: First) -> None:
    """The endpoint has gone; nonce, answers and verdict are the recorded ones."""
    works, team, done = first.works, first.team, first.done
    again = works.run(team, "--replay", done.run, key=None, grants=())
    assert again.code == 0, again.err
    record = again.record
    assert (record["verdict"], record["grade"]) == ("approve", "pass")
    assert record["replay_of"] == done.record["key"] != record["key"]
    assert record["verdicts"][0]["nonce"] == done.record["verdicts"][0]["nonce"]
    for role in ("executor", "verifier"):
        usage, then = again.phase(role)["usage"], done.phase(role)["usage"]
        assert usage["replayed"] and usage["drifted"] == 0
        for name in ("calls", "input", "cached", "output", "usd"):
            assert usage[name] == then[name]
    assert rolewall("audit", again.run, run=again.run).code == 0
    gate = rolewall("gate", again.run, "--max-false-approval", "0.9", run=again.run)
    assert gate.code == 4 and "replay" in gate.out
    shown = rolewall("show", again.run, run=again.run).out
    assert "a recording answered" in shown


def test_what_was_altered_is_not_replayed(first: First, tmp_path: Path) -> None:
    works, team, done = first.works, first.team, first.done
    changed = tmp_path / "changed"
    shutil.copytree(done.run, changed, symlinks=True)
    (episode,) = (changed / "episodes").iterdir()
    file = episode / "transcripts" / "01-verifier.exchanges.jsonl"
    file.write_text(file.read_text().replace("approve", "reject"))
    again = works.run(team, "--replay", changed, key=None, grants=())
    assert again.code == 2 and "not what was recorded" in again.err
    other = works.run(team, "--replay", done.run, "--trials", "2", key=None, grants=())
    assert other.code == 2 and "add-one:enforced:1" in other.err


@pytest.mark.bubblewrap
def test_a_recording_that_does_not_reach_is_no_failure_of_the_agent(in_bubblewrap: First) -> None:
    """The same requests get their answers; more than there were get none."""
    works, url = in_bubblewrap.works, json.loads(in_bubblewrap.team.read_text())
    url = url["models"]["main"]["endpoint"]
    further = works.team(url, {**TEAM, "executor": {"env": {"FURTHER": "1"}}})
    again = works.run(further, "--replay", in_bubblewrap.done.run, key=None, grants=())
    assert again.code == 3
    assert again.record["error"]["kind"] == "ModelUnavailable"
    assert "no further answer" in again.record["error"]["message"]


@pytest.mark.bubblewrap
def test_nothing_starts_without_grant_or_key(works: Works, model: ScriptedModel) -> None:
    team = works.team(model.url, TEAM)
    refused = works.run(team, grants=())
    assert refused.code == 2 and not refused.run.exists()
    for word in ("--allow-team-models", model.url, "A_MODEL_KEY", "models.main"):
        assert word in refused.err
    for key, why in ((None, "is not set"), ("short", "holds no key")):
        without = works.run(team, key=key)
        assert without.code == 2 and f"A_MODEL_KEY {why}" in without.err
    assert not model.heard


@pytest.mark.bubblewrap
def test_a_local_server_that_takes_any_word_for_a_key(works: Works) -> None:
    """A model may say the word."""
    spoken = f"{GOOD}# EMPTY lines count as none\n"
    with ScriptedModel(
        {"You are the verifier": [Say("approve")], "You are the executor": [Say(spoken)]}
    ) as model:
        done = works.run(works.team(model.url, TEAM), key="EMPTY")
        assert done.code == 0, done.err
        assert {heard.headers["Authorization"] for heard in model.heard} == {"Bearer EMPTY"}
    assert done.record["error"] is None, done.err
    (said,) = (line for line in done.err.splitlines() if "in place of a key" in line)
    assert "A_MODEL_KEY" in said and "EMPTY" not in said
    (line,) = done.exchanges("00-executor")
    assert line["response"]["choices"][0]["message"]["content"] == spoken


def test_a_spent_budget_is_the_roles_own_end(spent: Done) -> None:
    """Refused in the protocol's words, told as an outcome, and no error of the episode."""
    phase = spent.phase("executor")
    assert (phase["outcome"], phase["returncode"]) == ("budget", 0)
    assert phase["usage"]["over_budget"] and phase["usage"]["refused"] == 1
    assert phase["usage"]["spent"] == [{"name": "calls", "spent": 2, "limit": 2}]
    words = "budget spent: executor, enforced-shared-history: 2 of 2 calls, in 1 phase"
    assert words in " ".join(spent.out.split())
    assert spent.record["verdict"] == "approve" and spent.record["status"] == "complete"
    assert "1 budget" in spent.err
    stdout = (spent.episode / "transcripts" / "00-executor.stdout").read_text()
    assert "REFUSED 403" in stdout and "this role's budget is spent: 2 calls" in stdout


@pytest.mark.bubblewrap
def test_later_roles_are_shown_transcripts_and_no_exchanges(spent: Done) -> None:
    stdout = (spent.episode / "transcripts" / "01-verifier.stdout").read_text()
    listed = stdout.splitlines()[-1]
    assert "00-executor.jsonl" in listed and "exchanges" not in listed


@pytest.mark.bubblewrap
def test_an_endpoint_that_fails_is_an_error_and_no_verdict_and_stays_known(works: Works) -> None:
    down = [True]

    def failing(heard: Heard) -> Say:
        broken = down[0] and "You are the verifier" in heard.text
        return Say(status=503, error="overloaded") if broken else say(heard)

    with ScriptedModel(failing) as model:
        team = works.team(model.url, TEAM)
        done = works.run(team)
        record = done.record
        assert done.code == 3
        assert (record["status"], record["error"]["kind"]) == ("error", "ModelUnavailable")
        assert [phase["role"] for phase in record["phases"]] == ["executor"]
        assert record["verdict"] == "missing" and record["grade"] == "error"
        assert done.exchanges("01-verifier")[0]["failed"] == "status 503"
        assert rolewall("audit", done.run, run=done.run).code == 0
        down[0] = False
        assert works.run(team, "-o", done.run).code == 0
    assert (done.record["status"], done.record["tries"]) == ("complete", [record["error"]])
    assert "an earlier try ended in error ModelUnavailable" in (
        rolewall("show", done.run, record["task"], run=done.run).out
    )
    gate = rolewall("gate", done.run, "--max-false-approval", "0.1", run=done.run)
    assert gate.code == 3 and "1 earlier try" in gate.out + gate.err


@pytest.mark.bubblewrap
def test_a_role_without_a_model_has_no_way_to_one(works: Works, model: ScriptedModel) -> None:
    team = works.team(model.url, TEAM)
    content = json.loads(team.read_text())
    probe = "env | grep -c API_KEY; python3 -c 'import socket; socket.create_connection("
    probe += '("127.0.0.1", 8378), 5)\'; echo "ended $?"'
    content["roles"]["verifier"] = {"agent": {"command": ["sh", "-c", probe]}}
    team.write_text(json.dumps(content))
    done = works.run(team)
    assert done.code == 0, done.err
    stdout = (done.episode / "transcripts" / "01-verifier.stdout").read_text()
    assert stdout.split() == ["0", "ended", "1"]
    assert done.phase("verifier")["usage"] is None
    assert not (done.episode / "transcripts" / "01-verifier.exchanges.jsonl").exists()


@pytest.mark.bubblewrap
def test_interrupted_in_the_midst_of_a_long_answer(works: Works) -> None:
    """It ends, leaves no record of the episode, no socket and no thread that keeps it."""
    started = threading.Event()

    def endless(heard: Heard) -> Say:
        started.set()
        return Say("ok", pause=600)

    with ScriptedModel(endless) as model:
        team = works.team(model.url, TEAM)
        temporary = works.path / "tmp"
        temporary.mkdir()
        process = subprocess.Popen(
            [sys.executable, "-m", "rolewall", "run", team, "--tasks", works.task, "--backend",
             "bubblewrap", "-o", works.path / "cut", "--allow-team-models"],
            env={**os.environ, "A_MODEL_KEY": KEY, "TMPDIR": str(temporary)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            while not started.wait(0.05) and process.poll() is None:
                pass
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait(30)
    assert process.returncode == 130, err
    assert not list(temporary.iterdir())
    (directory,) = (works.path / "cut" / "episodes").iterdir()
    assert not (directory / "episode.json").exists()
