"""Exports as logs of Inspect, read again by inspect-ai itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.export.conftest import HOSTILE, Made, rolewall

if TYPE_CHECKING:
    from tests.conftest import Cli

pytestmark = [pytest.mark.bubblewrap, pytest.mark.inspect]


@pytest.fixture(scope="module")
def log(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("inspect")
    done = rolewall("export", made.path, "--format", "inspect", "-o", place / "out", cwd=place)
    assert done.code == 0, done.err
    return place / "out" / "enforced.eval"


def inspect(*arguments: object) -> str:
    program = Path(sys.executable).with_name("inspect")
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, check=True)  # fmt: skip
    return done.stdout


@pytest.fixture(scope="module")
def dumped(log: Path) -> Any:
    return json.loads(inspect("log", "dump", log))


def test_inspect_lists_and_reads_it(log: Path, dumped: Any) -> None:
    assert "enforced.eval" in inspect("log", "list", "--log-dir", log.parent)
    assert (dumped["status"], dumped["eval"]["task"]) == ("success", "exported/enforced")
    assert dumped["eval"]["model"] == "scripted-model"
    assert dumped["results"]["scores"][0]["metrics"]["accuracy"]["value"] == 1.0


def test_an_episode_is_a_sample_with_both_scores(dumped: Any, made: Made) -> None:
    (sample,) = dumped["samples"]
    assert (sample["id"], sample["epoch"], sample["uuid"]) == ("add-one", 1, made.record["key"])
    scores = {name: score["value"] for name, score in sample["scores"].items()}
    assert scores == {"grade": "C", "verdict": "approve"}
    usage = sample["model_usage"]["scripted-model"]
    assert (usage["input_tokens"], usage["input_tokens_cache_read"]) == (750, 150)


def test_its_messages_and_events_are_those_of_the_phases(dumped: Any, made: Made) -> None:
    (sample,) = dumped["samples"]
    said = [(m["role"], m["content"]) for m in sample["messages"]]
    assert said[0] == ("user", "Phase 0: the executor, round 1.")
    assert ("assistant", f"chat begins {HOSTILE}") in said
    assert ("tool", "chat tool said") in said
    begun = [event["name"] for event in sample["events"] if event["event"] == "span_begin"]
    assert begun == ["00-executor", "01-verifier"]
    models = [event for event in sample["events"] if event["event"] == "model"]
    assert len(models) == 6  # the verifier's script has none
    failed = [event for event in sample["events"] if event.get("failed")]
    assert any("Read-only" in event["error"]["message"] for event in failed)
    assert made.nonce not in json.dumps(dumped)


def test_rolewall_reads_it_back(log: Path, cli: Cli) -> None:
    mapped = ("verdict=scores.verdict", "grade=scores.grade", "condition=metadata.condition",
              "trust=metadata.trust")  # fmt: skip
    done = cli("gate", log, "--max-false-approval", "0.1", "--json",
               *(word for name in mapped for word in ("--map", name)))  # fmt: skip
    assert done.code == 4, done.err  # one episode that passed decides nothing
    assert '"episodes": 1' in done.out
