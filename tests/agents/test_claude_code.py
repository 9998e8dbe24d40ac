"""Claude Code plays both roles, behind the wall and through the gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.agents.holding import assert_blocked, assert_no_key
from tests.agents.parts import KEY, REPORT, SEARCH, Script, verdict
from tests.models import Say

if TYPE_CHECKING:
    from tests.agents.conftest import Play, Played

pytestmark = pytest.mark.agents

APP = "/workspace/app.py"
EDIT = {"file_path": APP, "old_string": "return x", "new_string": "return x + 1"}
SPOIL = {"file_path": APP, "old_string": "return x + 1", "new_string": "return 2"}


def script() -> Script:
    return Script(
        executor=[
            lambda _: Say("I look first.", [("Read", {"file_path": APP})]),
            lambda _: Say("", [("Edit", EDIT)]),
            lambda _: Say(
                "", [("Write", {"file_path": "/report/handoff.json", "content": REPORT})]
            ),
            lambda _: Say("", [("Bash", {"command": SEARCH, "description": "search"})]),
        ],
        verifier=[
            lambda _: Say("", [("Read", {"file_path": APP})]),
            lambda _: Say("I repair it myself.", [("Edit", SPOIL)]),
            lambda _: Say("", [("Write", {"file_path": "/workspace/own.py", "content": "1\n"})]),
            lambda _: Say("", [("Bash", {"command": "rolewall-check -- python3 -c 'import app'"})]),
            lambda h: Say(
                "", [("Write", {"file_path": "/verdict/verdict.json", "content": verdict(h)})]
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
    return playing("claude-code", script(), request.param)


def test_it_works_and_judges(played: Played) -> None:
    record = played.episode.record
    assert (record["grade"], record["verdict"]) == ("pass", "approve"), played.err
    assert [phase["outcome"] for phase in record["phases"]] == ["done", "done"]
    assert played.episode.phase("executor")["handoff"]
    assert record["isolated"] is True, record["verdicts"][0]["beside"]
    assert played.episode.phase("verifier")["usage"]["calls"] == len(played.script.verifier) + 1


def test_the_verifiers_own_edit_tool_is_blocked_and_recorded(played: Played) -> None:
    assert_blocked(played, "claude")
    failed = [result for step in played.trajectory("verifier").steps for result in step.results]
    assert [result.failed for result in failed] == [False, True, True, False, False]
    assert "read-only" in failed[1].text


def test_the_key_is_nowhere_in_the_box(played: Played) -> None:
    assert_no_key(played)
    assert all(heard.headers["x-api-key"] == KEY for heard in played.heard)


def test_its_transcript_is_read(played: Played) -> None:
    trajectory = played.trajectory("executor")
    assert (trajectory.version, trajectory.problems) == ("2.1.332", ())
    names = [call.name for step in trajectory.steps for call in step.calls]
    assert names == ["Read", "Edit", "Write", "Bash"]
    assert [trajectory.steps[0].text, trajectory.steps[-1].text] == ["I look first.", "It is done."]
