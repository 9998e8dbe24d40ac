"""Killed at random moments, resumed: nothing is left, lost, doubled or different."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rolewall.sandbox import Backend

CHAOS = Path(__file__).parents[2] / "bench" / "chaos.py"
RUNS = {"KILL": 2, "TERM": 1}
# One run is killed at about half of its life, one at three quarters.
SEED, EPISODES = 26, 2


@pytest.mark.root
@pytest.mark.pain(17)
@pytest.mark.pain(19)
@pytest.mark.parametrize("number", RUNS)
def test_random_moments(backend: Backend, number: str) -> None:
    words = [CHAOS, "--runs", RUNS[number], "--seed", SEED, "--episodes", EPISODES,
             "--backend", backend.name, "--signal", number, "--json"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, timeout=280, check=False
    )
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)[backend.name]
    assert found["runs"] == RUNS[number] and found["kills"] >= 1
    assert found["said"] == []
    assert not any(found["leaks"].values()) and not any(found["faults"].values())
    assert done.returncode == 0
