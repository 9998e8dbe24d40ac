"""Each agent plays both roles, behind the wall and through the gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.agents.conftest import EVERY, on_backends
from tests.agents.parts import KEY, found_by

if TYPE_CHECKING:
    from tests.agents.conftest import Played

pytestmark = [pytest.mark.agents, on_backends(*EVERY)]


def test_it_works_and_judges(played: Played) -> None:
    record, script = played.episode.record, played.script
    assert (record["grade"], record["verdict"]) == ("pass", "approve"), played.err
    assert [phase["outcome"] for phase in record["phases"]] == ["done", "done"]
    assert played.episode.phase("executor")["handoff"]
    assert record["isolated"] is True, record["verdicts"][0]["beside"]
    calls = played.episode.phase("verifier")["usage"]["calls"]
    assert calls == len(script.verifier) + played.agent.last_words
    assert not (played.agent.quiet and script.strange), script.strange


def test_the_verifiers_own_edit_is_blocked_and_recorded(played: Played) -> None:
    verifier = played.episode.phase("verifier")["attempts"]
    assert verifier["edit_blocked"] == verifier["edit_attempted"] > 0
    assert verifier["edit_allowed"] == verifier["unattributed"] == 0
    edits = played.episode.attempts(role="verifier", kind="edit", outcome="blocked")
    tried = [edit for edit in edits if edit["exe"].endswith(f"/{played.agent.edits_by}")]
    assert {(edit["zone"], edit["owner"]) for edit in tried} == {("workspace", "executor")}
    assert played.episode.phase("executor")["attempts"]["own"] > 0
    for phase in played.episode.record["phases"]:
        assert phase["changed"]["cross_role"] == 0


def test_the_agent_is_told_that_its_edit_failed(played: Played) -> None:
    results = [result for step in played.trajectory("verifier").steps for result in step.results]
    assert [result.failed for result in results] == played.agent.failed
    assert played.agent.told in results[played.agent.failed.index(True)].text


def test_the_key_is_nowhere_in_the_box_nor_in_what_was_recorded(played: Played) -> None:
    output = played.said("executor")
    assert set(found_by(output, "sk-secre").values()) == {0}, output
    twins = found_by(output, "rolewall-no")
    assert len(twins) == 3 and min(twins.values()) > 0, output
    for path in played.run.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
    name, value = played.agent.header
    assert {heard.headers[name] for heard in played.heard} == {value}


def test_its_transcript_is_read(played: Played) -> None:
    trajectory = played.trajectory("executor")
    assert (trajectory.version, trajectory.problems) == (played.agent.version, ())
    names = [call.name for step in trajectory.steps for call in step.calls]
    assert names == played.agent.calls
    said = [step.text for step in trajectory.steps if step.source == "agent" and step.text]
    assert [said[0], said[-1]] == played.agent.words
