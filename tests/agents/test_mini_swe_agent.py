"""mini-swe-agent plays both roles, behind the wall and through the gateway."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import pytest

from rolewall.roles.presets import Told
from rolewall.roles.presets.mini_swe_agent import MINI_SWE_AGENT
from rolewall.trajectory.atifmodel import AtifTrajectory
from tests.agents.conftest import AGENTS, MODEL
from tests.agents.holding import assert_blocked, assert_no_key
from tests.agents.parts import KEY, REPORT, SEARCH, Script, verdict
from tests.models import Say, ScriptedModel

if TYPE_CHECKING:
    from tests.agents.conftest import Play, Played
    from tests.conftest import Cli

pytestmark = pytest.mark.agents

FINISH = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
# What an executor can leave behind for the mini-swe-agent of others: it looks for its own
# configuration by name.
PLANT = """
echo '{agent: {system_template: planted words, instance_template: planted words}}' > mini.yaml
echo 'MSWEA_MINI_CONFIG_PATH=/workspace/mini.yaml' > .env
"""


def bash(command: str, text: str = "") -> Say:
    return Say(text, [("bash", {"command": command})])


def script() -> Script:
    return Script(
        executor=[
            lambda _: bash("pwd; sed -i 's/return x/return x + 1/' app.py", "I edit."),
            lambda _: bash(PLANT),
            lambda _: bash(f"echo {quote(REPORT)} > /report/handoff.json"),
            lambda _: bash(SEARCH),
            lambda _: bash(FINISH, "It is done."),
        ],
        verifier=[
            lambda _: bash("sed -i 's/x + 1/2/' app.py", "I repair it myself."),
            lambda _: bash("rolewall-check -- python3 -c 'import app'"),
            lambda h: bash(f"echo {quote(verdict(h))} > /verdict/verdict.json"),
            lambda _: bash(FINISH),
        ],
    )


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    ],
)
def played(request: pytest.FixtureRequest, playing: Play) -> Played:
    return playing("mini-swe-agent", script(), request.param)


def test_it_works_and_judges(played: Played) -> None:
    record = played.episode.record
    assert (record["grade"], record["verdict"]) == ("pass", "approve"), played.err
    assert [phase["outcome"] for phase in record["phases"]] == ["done", "done"]
    assert record["isolated"] is True, record["verdicts"][0]["beside"]
    assert played.script.strange == []
    assert played.episode.phase("verifier")["usage"]["calls"] == len(played.script.verifier)


def test_the_verifiers_edit_is_blocked_and_recorded(played: Played) -> None:
    assert_blocked(played, "sed")
    failed = [result for step in played.trajectory("verifier").steps for result in step.results]
    assert [result.failed for result in failed] == [True, False, False, True]  # the last: FINISH
    assert "Read-only" in failed[0].text


def test_the_key_is_nowhere_in_the_box(played: Played) -> None:
    assert_no_key(played)
    assert {heard.headers["Authorization"] for heard in played.heard} == {f"Bearer {KEY}"}


def test_what_an_executor_plants_for_it_does_not_rule_the_verifier(played: Played) -> None:
    theirs = [heard.text for heard in played.heard if "You are the verifier" in heard.text]
    assert len(theirs) == len(played.script.verifier)
    assert not any("planted words" in text for text in theirs)


def test_started_in_the_workspace_it_would_be_ruled(tmp_path: Path) -> None:
    """The twin, on the machine itself."""
    (tmp_path / "work").mkdir()
    subprocess.run(["sh", "-c", PLANT], cwd=tmp_path / "work", check=True, timeout=30)
    with ScriptedModel(lambda _: bash(FINISH)) as model:
        url = model.url.removesuffix("/v1")
        start = MINI_SWE_AGENT.start(Told(str(AGENTS / "bin" / "mini"), MODEL, "hi", (), url, KEY))
        ours = start.files["/home/mini-swe-agent/rolewall.yaml"].replace(b"/workspace", b".")
        (tmp_path / "rolewall.yaml").write_bytes(ours)
        argv = [word.replace("/home/mini-swe-agent", str(tmp_path)) for word in start.argv]
        home = {"HOME": str(tmp_path), "MSWEA_GLOBAL_CONFIG_DIR": str(tmp_path / "config")}
        subprocess.run(argv, cwd=tmp_path / "work", timeout=280, check=True, capture_output=True,
                       env={"PATH": os.environ["PATH"], **start.env, **home},
                       stdin=subprocess.DEVNULL)  # fmt: skip
        assert "planted words" in model.heard[0].text


def test_the_prompt_stands_in_no_command_line(played: Played) -> None:
    ran = (played.episode.directory / "audit.jsonl").read_text()
    nonce = played.episode.record["verdicts"][0]["nonce"]
    lines = [line for line in ran.splitlines() if nonce in line]
    assert all("/verdict/verdict.json" in line for line in lines)  # the model's own, of SCRIPT


def test_its_transcript_is_read(played: Played) -> None:
    trajectory = played.trajectory("executor")
    assert (trajectory.version, trajectory.problems) == ("2.4.6", ())
    assert [step.source for step in trajectory.steps[:3]] == ["system", "user", "agent"]
    names = [call.name for step in trajectory.steps for call in step.calls]
    assert names == ["bash"] * len(played.script.executor)
    texts = [step.text for step in trajectory.steps if step.source == "agent"]
    assert [texts[0], texts[-1]] == ["I edit.", "It is done."]
    assert "/workspace" in played.said("executor")


def test_it_is_exported_as_its_own_program_tells_it(
    played: Played, cli: Cli, tmp_path: Path
) -> None:
    done = cli("export", played.run, "--format", "atif", "-o", tmp_path / "out", "--json")
    assert (done.code, done.json["origins"]) == (0, {"agent": 2}), done.err
    for file in (tmp_path / "out").rglob("*.json"):
        made = AtifTrajectory.model_validate_json(file.read_bytes(), strict=True)
        assert made.agent.name == "mini-swe-agent"
        assert played.episode.record["verdicts"][0]["nonce"] not in file.read_text()
