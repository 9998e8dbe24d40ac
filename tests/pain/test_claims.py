"""What a verifier claims to have run is held to what was executed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Play, Studio

APPROVE = {
    "schema_version": 1,
    "nonce": "NONCE",
    "verdict": "approve",
    "summary": "all tests pass",
    "checks": [{"name": "tests", "ok": True, "evidence": "12 passed"}],
    "commands": ["python3 -m pytest -q", "cat app.py"],
}
WRITE = (
    "NONCE=$(grep -o '[0-9a-f]\\{32\\}' /rolewall/prompt.md | head -1)\n"
    f"sed \"s/NONCE/$NONCE/\" > /verdict/verdict.json <<'END'\n{json.dumps(APPROVE)}\nEND\n"
)


@pytest.mark.pain(26)
@pytest.mark.parametrize("ran", [False, True])
def test_tests_that_never_ran_are_said_to_be_unseen(play: Play, studio: Studio, ran: bool) -> None:
    run = "rolewall-check -- python3 -m pytest -q\ncat app.py\n" if ran else ""
    team = studio.team(verifier={"steps": [{"run": run + WRITE}]})
    record = play(team, studio.task()).record
    (row,) = record["verdicts"]
    assert row["verdict"] == "approve"
    seen = {claim["command"]: claim["seen"] for claim in row["claims"]}
    word = "yes" if ran else "no"
    assert seen == {"python3 -m pytest -q": word, "cat app.py": word}


@pytest.mark.pain(26)
def test_work_that_is_only_said_to_be_done_is_no_change(play: Play, studio: Studio) -> None:
    """A phantom: the report names a file and the manifest has none."""
    report = {"text": "app.py is repaired, fix.py is new",
              "artifacts": [{"zone": "workspace", "path": "fix.py"}]}  # fmt: skip
    phantom = play(studio.team(executor={"handoff": report}), studio.task())
    phase = phantom.phase("executor")
    assert [change for change in phase["changes"] if change["zone"] == "workspace"] == []
    sealed = handoff(phantom.directory)
    assert any("fix.py does not exist" in problem for problem in sealed["problems"])
    steps = [{"run": "echo y > fix.py"}]
    real = play(studio.team(executor={"steps": steps, "handoff": report}), studio.task("other"))
    assert any(change["path"] == "fix.py" for change in real.phase("executor")["changes"])
    assert handoff(real.directory)["problems"] == []


def handoff(episode: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads((episode / "handoffs/00-executor.json").read_text())
    return found
