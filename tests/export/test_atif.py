"""Exports as ATIF, of a real run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.trajectory.atifmodel import AtifTrajectory
from tests.export.conftest import HOSTILE, Made

if TYPE_CHECKING:
    from tests.conftest import Cli

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def files(made: Made, cli: Cli, tmp_path: Path) -> dict[str, Any]:
    done = cli("export", made.path, "--format", "atif", "-o", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    assert done.json["origins"] == {"exchanges": 1, "commands": 1}
    assert done.json["problems"] == []
    found = sorted((tmp_path / "out").rglob("*.json"))
    assert sorted(done.json["files"]) == [str(f.relative_to(tmp_path / "out")) for f in found]
    for file in found:
        AtifTrajectory.model_validate_json(file.read_bytes(), strict=True)
        assert all(" " <= char <= "~" or char == "\n" for char in file.read_text())
    return {file.name.partition(".")[0]: json.loads(file.read_text()) for file in found}


def test_a_file_a_phase_in_one_session(files: dict[str, Any], made: Made) -> None:
    assert list(files) == ["00-executor", "01-verifier"]
    assert {file["session_id"] for file in files.values()} == {made.record["key"]}
    assert len({file["trajectory_id"] for file in files.values()}) == 2
    told = files["01-verifier"]["extra"]["rolewall"]
    assert (told["role"], told["verdict"], told["condition"]) == ("verifier", "approve", "enforced")
    assert told["grade_before"]["grade"] == "pass"
    assert told["attempts"]["edit_blocked"] == 1


def test_exchanges_of_all_protocols_become_steps(files: dict[str, Any]) -> None:
    file = files["00-executor"]
    steps = file["steps"]
    for protocol in ("chat", "responses", "messages"):
        at = next(n for n, s in enumerate(steps) if s["message"] == f"By {protocol}.")
        system, user, first, last = steps[at : at + 4]
        assert [s["source"] for s in (system, user, first, last)] == [
            "system", "user", "agent", "agent",
        ]  # fmt: skip
        assert user["message"].startswith("# You are the executor")
        assert first["message"] == f"{protocol} begins {HOSTILE}"
        (call,) = first["tool_calls"]
        assert (call["function_name"], call["arguments"]["esc"]) == ("run", HOSTILE)
        (result,) = first["observation"]["results"]
        assert (result["source_call_id"], result["content"]) == (
            call["tool_call_id"], f"{protocol} tool said",
        )  # fmt: skip
        assert result.get("extra") == ({"failed": True} if protocol == "messages" else None)
        assert last["message"] == f"{protocol} heard: {protocol} tool said"
        assert last["metrics"] == {
            "prompt_tokens": 200, "completion_tokens": 10, "cached_tokens": 50,
        }  # fmt: skip
        assert first["llm_call_count"] == last["llm_call_count"] == 1
    assert len(steps) == 12
    final = file["final_metrics"]
    assert (final["total_prompt_tokens"], final["total_completion_tokens"]) == (900, 90)
    assert final["total_cost_usd"] == pytest.approx((750 * 3 + 150 * 1 + 90 * 15) / 1e6)


def test_commands_become_steps_without_a_model(files: dict[str, Any]) -> None:
    steps = files["01-verifier"]["steps"]
    assert {(step["source"], step["llm_call_count"]) for step in steps} == {("agent", 0)}
    failed = steps[-1]["observation"]["results"][0]
    assert "Read-only file system" in failed["content"] and "[exit code 3]" in failed["content"]
    assert failed["extra"] == {"failed": True}


def test_the_nonce_stays_behind(files: dict[str, Any], made: Made) -> None:
    exported = json.dumps(files)
    assert made.nonce not in exported and "[nonce]" in exported
    kept = made.episode / "transcripts" / "01-verifier.stdout"
    assert made.nonce in kept.read_text()


def test_one_episode_and_the_default_place(made: Made, cli: Cli, tmp_path: Path) -> None:
    run = made.copy(tmp_path / "run")
    done = cli("export", run, "add-one:enforced", "--format", "atif")
    assert done.code == 0, done.err
    assert "2 phases of 1 episode in 2 files" in done.out
    assert len(list((tmp_path / "run.atif").rglob("*.trajectory.json"))) == 2
    assert HOSTILE not in done.out
