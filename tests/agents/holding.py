"""What holds of every agent that has played both roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.agents.parts import KEY, found_by

if TYPE_CHECKING:
    from tests.agents.conftest import Played

__all__ = ["assert_blocked", "assert_no_key"]


def assert_blocked(played: Played, program: str) -> None:
    """``program`` tried to edit the executor's work as the verifier, and could not; as the
    executor it could."""
    for role, outcome in (("verifier", "blocked"), ("executor", "allowed")):
        counts = played.episode.phase(role)["attempts"]
        if role == "verifier":
            assert counts["edit_blocked"] == counts["edit_attempted"] > 0
            assert counts["edit_allowed"] == counts["unattributed"] == 0
            edits = played.episode.attempts(role=role, kind="edit", outcome=outcome)
            tried = [e for e in edits if e["exe"].endswith(f"/{program}")]
            assert tried and {edit["owner"] for edit in tried} == {"executor"}
            assert {edit["zone"] for edit in tried} == {"workspace"}
        else:
            assert counts["own"] > 0
    changed = {phase["role"]: phase["changed"] for phase in played.episode.record["phases"]}
    assert {role: counts["cross_role"] for role, counts in changed.items()} == {
        "executor": 0,
        "verifier": 0,
    }


def assert_no_key(played: Played) -> None:
    """``SEARCH``, run by the executor, met the placeholder everywhere and the key nowhere, and
    neither is the key in what was recorded."""
    output = played.said("executor")
    assert set(found_by(output, "sk-secret").values()) == {0}, output
    twins = found_by(output, "rolewall-no")
    assert len(twins) == 3 and min(twins.values()) > 0, output
    for path in played.run.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
