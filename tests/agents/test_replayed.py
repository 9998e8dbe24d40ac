"""What a real agent asked for is done again without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.agents.conftest import EVERY, on_backends
from tests.conftest import Studio
from tests.replay.conftest import Stage

if TYPE_CHECKING:
    from tests.agents.conftest import Played

pytestmark = pytest.mark.agents


@on_backends(*EVERY, backends=["bubblewrap"])
def test_what_a_real_agent_did_is_done_without_it(played: Played) -> None:
    place = played.run.parent
    stage = Stage(place, Studio(place), place / "task")
    now = stage.played(stage.again(place / "team" / "team.yaml"), "--replay", played.run)
    record = now.record
    assert (record["verdict"], record["grade"]) == ("approve", "pass")
    assert record["isolated"] is True
    for role in ("executor", "verifier"):
        phase, before = now.phase(role), played.episode.phase(role)
        # What is looked for is not there without the agent, or has another name each time.
        assert phase["replay"]["drifted"] <= 1
        assert phase["replay"]["calls"] == len(getattr(played.script, role))
        assert phase["outcome"] == before["outcome"]
        assert phase["attempts"]["edit_allowed"] == 0
    assert now.phase("verifier")["attempts"]["edit_blocked"] > 0
    assert _work(now.phase("executor")) == _work(played.episode.phase("executor"))


def _work(phase: dict[str, object]) -> set[str]:
    changes = phase["changes"]
    assert isinstance(changes, list)
    return {f"{c['zone']}/{c['path']}" for c in changes}
