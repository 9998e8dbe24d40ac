"""Codex plays both roles, behind the wall and through the gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.agents.holding import assert_blocked, assert_no_key
from tests.agents.parts import KEY, REPORT, SEARCH, Script, Step, verdict
from tests.models import Say

if TYPE_CHECKING:
    from tests.agents.conftest import Play, Played

pytestmark = pytest.mark.agents


def patch(old: str, new: str) -> Step:
    """Its own way to edit: words that its shell tool takes for a patch, and runs itself."""
    text = f"*** Begin Patch\n*** Update File: app.py\n@@\n-{old}\n+{new}\n*** End Patch"
    return lambda _: Say("", [("exec_command", {"cmd": f"apply_patch <<'EOF'\n{text}\nEOF"})])


def shell(command: str) -> Step:
    return lambda _: Say("", [("exec_command", {"cmd": command, "yield_time_ms": 30000})])


def written(path: str, text: str) -> Say:
    return Say("", [("exec_command", {"cmd": f"cat > {path} <<'EOF'\n{text}\nEOF"})])


def script() -> Script:
    return Script(
        executor=[
            lambda _: Say("I look first.", [("exec_command", {"cmd": "cat app.py"})]),
            patch("    return x", "    return x + 1"),
            lambda _: written("/report/handoff.json", REPORT),
            shell(SEARCH),
        ],
        verifier=[
            shell("cat app.py"),
            patch("    return x + 1", "    return 2"),
            shell("rolewall-check -- python3 -c 'import app'"),
            lambda heard: written("/verdict/verdict.json", verdict(heard)),
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
    return playing("codex", script(), request.param)


def test_it_works_and_judges(played: Played) -> None:
    record = played.episode.record
    assert (record["grade"], record["verdict"]) == ("pass", "approve"), played.err
    assert [phase["outcome"] for phase in record["phases"]] == ["done", "done"]
    assert played.episode.phase("executor")["handoff"]
    assert record["isolated"] is True, record["verdicts"][0]["beside"]
    assert played.episode.phase("verifier")["usage"]["calls"] == len(played.script.verifier) + 1


def test_the_verifiers_own_edit_tool_is_blocked_and_recorded(played: Played) -> None:
    assert_blocked(played, "codex")
    steps = played.trajectory("verifier").steps
    (change,) = [s for s in steps if any(call.name == "file_change" for call in s.calls)]
    assert change.results[0].failed


def test_the_key_is_nowhere_in_the_box(played: Played) -> None:
    assert_no_key(played)
    assert all(heard.headers["Authorization"] == f"Bearer {KEY}" for heard in played.heard)


def test_its_transcript_is_read(played: Played) -> None:
    trajectory = played.trajectory("executor")
    assert trajectory.problems == ()
    names = [call.name for step in trajectory.steps for call in step.calls]
    assert names == ["command_execution", "file_change", "command_execution", "command_execution"]
    said = [step.text for step in trajectory.steps if step.source == "agent" and step.text]
    assert said == ["I look first.", "It is done."]
