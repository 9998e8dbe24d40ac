"""What only mini-swe-agent does, or could be made to do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.roles.presets import Told
from rolewall.roles.presets.mini_swe_agent import MINI_SWE_AGENT
from tests.agents.conftest import AGENTS, MODEL, on_backends
from tests.agents.mini_swe_agent import FINISH, LEAVE, bash
from tests.agents.parts import KEY
from tests.models import ScriptedModel

if TYPE_CHECKING:
    from tests.agents.conftest import Played

pytestmark = pytest.mark.agents


@on_backends("mini-swe-agent")
def test_what_an_executor_plants_for_it_does_not_rule_the_verifier(played: Played) -> None:
    theirs = [heard.text for heard in played.heard if "You are the verifier" in heard.text]
    assert len(theirs) == len(played.script.verifier)
    assert not any("planted words" in text for text in theirs)


def test_started_in_the_workspace_it_would_be_ruled(tmp_path: Path) -> None:
    """The twin, on the machine itself."""
    (tmp_path / "work").mkdir()
    subprocess.run(["sh", "-c", LEAVE], cwd=tmp_path / "work", check=True, timeout=30)
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


@on_backends("mini-swe-agent")
def test_the_prompt_stands_in_no_command_line(played: Played) -> None:
    ran = (played.episode.directory / "audit.jsonl").read_text()
    nonce = played.episode.record["verdicts"][0]["nonce"]
    lines = [line for line in ran.splitlines() if nonce in line]
    assert all("/verdict/verdict.json" in line for line in lines)  # the model's own, of SCRIPT


@on_backends("mini-swe-agent")
def test_its_transcript_has_its_prompts_and_outputs(played: Played) -> None:
    steps = played.trajectory("executor").steps
    assert [step.source for step in steps[:3]] == ["system", "user", "agent"]
    assert "/workspace" in played.said("executor")
