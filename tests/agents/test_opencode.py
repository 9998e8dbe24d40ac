"""What only opencode does, or could be made to do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.roles.presets import Told
from rolewall.roles.presets.opencode import OPENCODE
from tests.agents.conftest import AGENTS, MODEL, on_backends
from tests.agents.opencode import bash
from tests.agents.parts import KEY
from tests.models import Say, ScriptedModel

if TYPE_CHECKING:
    from tests.agents.conftest import Played

pytestmark = pytest.mark.agents


@on_backends("opencode")
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


@on_backends("opencode")
def test_its_transcript_has_its_tokens(played: Played) -> None:
    tokens = played.trajectory("executor").steps[0].tokens
    assert tokens is not None and (tokens.input, tokens.output) == (100, 20)
