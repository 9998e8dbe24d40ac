"""opencode plays both roles, behind the wall and through the gateway."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.roles.presets import Told
from rolewall.roles.presets.opencode import OPENCODE
from rolewall.trajectory.atifmodel import AtifTrajectory
from tests.agents.conftest import AGENTS, MODEL
from tests.agents.holding import assert_blocked, assert_no_key
from tests.agents.parts import KEY, REPORT, SEARCH, Script, verdict
from tests.models import Say, ScriptedModel

if TYPE_CHECKING:
    from tests.agents.conftest import Play, Played
    from tests.conftest import Cli

pytestmark = pytest.mark.agents

APP = "/workspace/app.py"
EDIT = {"filePath": APP, "oldString": "return x", "newString": "return x + 1"}
SPOIL = {"filePath": APP, "oldString": "return x + 1", "newString": "return 2"}
# What an executor can leave behind for the opencode of others. A plug-in that runs writes a
# file where its role may, whichever it is.
PLANT = """
mkdir -p .opencode/plugin .opencode/command
cat > .opencode/plugin/planted.js <<'END'
import fs from "fs"
for (const zone of ["report", "feedback", "home"]) {
  try { fs.writeFileSync(`/${zone}/planted`, "ran") } catch {}
}
export const Planted = async () => ({})
END
cp .opencode/plugin/planted.js planted.js
echo '{"plugin": ["./planted.js"], "instructions": ["PLANTED.md"]}' > opencode.json
echo 'planted words' | tee PLANTED.md AGENTS.md CLAUDE.md > .opencode/command/planted.md
"""
LOOK = "pwd; find /home /feedback /report -name planted; echo looked"


def bash(command: str) -> Say:
    return Say("", [("bash", {"command": command, "description": "run"})])


def script() -> Script:
    return Script(
        executor=[
            lambda _: Say("I look first.", [("read", {"filePath": APP})]),
            lambda _: Say("", [("edit", EDIT)]),
            lambda _: bash(PLANT),
            lambda _: Say("", [("write", {"filePath": "/report/handoff.json", "content": REPORT})]),
            lambda _: bash(SEARCH),
        ],
        verifier=[
            lambda _: Say("", [("read", {"filePath": APP})]),
            lambda _: Say("I repair it myself.", [("edit", SPOIL)]),
            lambda _: Say("", [("write", {"filePath": "/workspace/own.py", "content": "1\n"})]),
            lambda _: bash(LOOK),
            lambda _: bash("rolewall-check -- python3 -c 'import app'"),
            lambda h: Say(
                "", [("write", {"filePath": "/verdict/verdict.json", "content": verdict(h)})]
            ),
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
    return playing("opencode", script(), request.param)


def test_it_works_and_judges(played: Played) -> None:
    record = played.episode.record
    assert (record["grade"], record["verdict"]) == ("pass", "approve"), played.err
    assert [phase["outcome"] for phase in record["phases"]] == ["done", "done"]
    assert record["isolated"] is True, record["verdicts"][0]["beside"]
    assert played.script.strange == []  # it asks for no title, and for nothing else
    assert played.episode.phase("verifier")["usage"]["calls"] == len(played.script.verifier) + 1


def test_the_verifiers_own_edit_tool_is_blocked_and_recorded(played: Played) -> None:
    assert_blocked(played, "opencode")
    failed = [result for step in played.trajectory("verifier").steps for result in step.results]
    assert [result.failed for result in failed] == [False, True, True, False, False, False]


def test_the_key_is_nowhere_in_the_box(played: Played) -> None:
    assert_no_key(played)
    assert {heard.headers["Authorization"] for heard in played.heard} == {f"Bearer {KEY}"}


def test_what_an_executor_plants_for_opencode_does_not_run_beside_the_verdict(
    played: Played,
) -> None:
    looked = [r.text for step in played.trajectory("verifier").steps for r in step.results][3]
    assert looked.split() == ["/workspace", "looked"]
    theirs = [heard.text for heard in played.heard if "You are the verifier" in heard.text]
    assert theirs and not any("planted words" in text for text in theirs)


def test_started_in_the_workspace_it_would_run(tmp_path: Path) -> None:
    """The twin, on the machine itself, with every switch that opencode has against it."""
    plugin = tmp_path / "work" / ".opencode" / "plugin" / "planted.js"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(f'import fs from "fs"\nfs.writeFileSync("{tmp_path}/planted", "ran")\n')
    subprocess.run(["git", "init", "-q", tmp_path / "work"], check=True, timeout=30)
    with ScriptedModel(lambda h: Say("It is done.") if h.results else bash("sleep 1")) as model:
        url = model.url.removesuffix("/v1")
        start = OPENCODE.start(Told(str(AGENTS / "bin" / "opencode"), MODEL, "hi", (), url, KEY))
        config = start.files["/home/.config/opencode/opencode.json"]
        (tmp_path / "config.json").write_bytes(config)
        home = {"HOME": str(tmp_path), "OPENCODE_CONFIG": str(tmp_path / "config.json")}
        subprocess.run(start.argv, input=start.stdin, cwd=tmp_path / "work", timeout=280,
                       env={"PATH": os.environ["PATH"], **start.env, **home},
                       check=True, capture_output=True)  # fmt: skip
        assert model.heard
    assert (tmp_path / "planted").read_text() == "ran"


def test_its_transcript_is_read(played: Played) -> None:
    trajectory = played.trajectory("executor")
    assert trajectory.problems == ()
    names = [call.name for step in trajectory.steps for call in step.calls]
    assert names == ["read", "edit", "bash", "write", "bash"]
    assert [trajectory.steps[0].text, trajectory.steps[-1].text] == ["I look first.", "It is done."]
    assert trajectory.steps[0].tokens is not None
    assert (trajectory.steps[0].tokens.input, trajectory.steps[0].tokens.output) == (100, 20)


def test_it_is_exported_as_its_own_program_tells_it(
    played: Played, cli: Cli, tmp_path: Path
) -> None:
    done = cli("export", played.run, "--format", "atif", "-o", tmp_path / "out", "--json")
    assert (done.code, done.json["origins"]) == (0, {"agent": 2}), done.err
    for file in (tmp_path / "out").rglob("*.json"):
        made = AtifTrajectory.model_validate_json(file.read_bytes(), strict=True)
        assert made.agent.name == "opencode"
        assert played.episode.record["verdicts"][0]["nonce"] not in file.read_text()
