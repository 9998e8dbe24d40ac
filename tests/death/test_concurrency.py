"""Many episodes at once, several harnesses at once: nothing clashes and nothing grows."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.sandbox.uids import FIRST_UID, PAIRS
from tests.processes import children_of, command_of

if TYPE_CHECKING:
    from conftest import Cli, Studio, User
    from death.conftest import Death, Running

pytestmark = [pytest.mark.root, pytest.mark.pain(18)]

QUICK = {"steps": [{"run": "echo x + 1 > app.py"}]}
WAITING = {"steps": [{"run": "touch started; until [ -e go ]; do sleep 0.05; done; touch done"}]}
# What a harness may keep of each episode that is over: names, planned work and what
# the allocator did not give back. Its records and manifests alone would be ten times that.
MOST_KIB_AN_EPISODE = 60


def outcomes(running: Running) -> list[tuple[str, str, str]]:
    return sorted((r["status"], r["verdict"], r["grade"]) for r in running.records())


def test_dozens_of_episodes_with_two_dozen_jobs(death: Death, cli: Cli, studio: Studio) -> None:
    team = studio.team(executor=QUICK, verifier={"verdict": "approve"}, memory_mb=128)
    running = death.start(team, studio.task(), "--trials", 26, "--jobs", 24, "--json")
    code, out, err = running.end()
    assert code == 0, err
    assert json.loads(out)["table"]["conditions"][0]["counts"] == {"approve_pass": 26}
    assert cli("audit", running.out).code == 0
    assert death.left() == {}


def users_of(running: Running) -> set[tuple[int, str]]:
    """Leased user and pid namespace of every process in a box of this harness, which the
    kit in its mount table tells."""
    mark = f"rolewall-{running.owner.namespace}-{running.pid}-{running.owner.started}-"
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (entry / "mountinfo").read_text():
                found.add((entry.stat().st_uid, os.readlink(entry / "ns/pid")))
    return {(uid, box) for uid, box in found if FIRST_UID <= uid < FIRST_UID + 2 * PAIRS}


def test_users_are_never_shared_between_harnesses(death: Death, studio: Studio) -> None:
    team, tasks = studio.team(executor=WAITING, verifier={"verdict": "approve"}), studio.task()
    both = [
        death.start(team, tasks, "--trials", 5, "--jobs", 5, out=death.path / name)
        for name in ("one", "two")
    ]
    for running in both:
        running.wait_started(5)
    seen = [pair for running in both for pair in users_of(running)]
    users = {uid for uid, _ in seen}
    boxes = {box for _, box in seen}
    assert len(boxes) == 10
    # Each box has a pair of users, and no user is in two boxes.
    assert len(users) == len(seen) == 20
    for running in both:
        code, _, err = running.end()
        assert code == 0, err
        assert outcomes(running) == [("complete", "approve", "fail")] * 5
    assert death.left() == {}


def test_the_same_second_in_the_same_directory(death: Death, studio: Studio) -> None:
    """Without ``-o`` every run has a directory of its own."""
    team, tasks = studio.team(executor=QUICK, verifier={"verdict": "approve"}), studio.task()
    words = [team, "--tasks", tasks, "--backend", death.backend, "--json"]
    running = [death.start_anywhere(words, cwd=death.path) for _ in range(3)]
    for each in running:
        code, out, err = each.end()
        assert code == 0, err
        assert json.loads(out)["table"]["episodes"] == 1
    found = sorted((death.path / "runs").iterdir())
    assert len(found) == 3
    assert all(len(list(path.glob("episodes/*/episode.json"))) == 1 for path in found)
    assert death.left() == {}


def test_root_and_an_ordinary_user_side_by_side(
    death: Death, studio: Studio, ordinary: User
) -> None:
    team, tasks = studio.team(executor=WAITING, verifier={"verdict": "approve"}), studio.task()
    running = death.start(team, tasks, "--trials", 2, "--jobs", 2)
    running.wait_started(2)
    zone = ordinary.directory("zone")
    for _ in range(2):
        done = ordinary.cli("exec", "--role", "verifier", "--backend", death.backend, "--zone",
                            f"data={zone}:write", "--", "touch", "/data/x")  # fmt: skip
        assert done.code == 0, done.err
        assert ordinary.cli("clean").code == 0
    assert (zone / "x").exists() and running.started() == 2
    code, _, err = running.end()
    assert code == 0, err
    assert outcomes(running) == [("complete", "approve", "fail")] * 2
    assert death.left() == {}


def supervisor_of(harness: int) -> int:
    for child in children_of(harness):
        if b"tap.supervisor" in command_of(child):
            return child
    raise AssertionError("no supervisor")


def descriptors(pid: int) -> int:
    """The fewest of half a second: a thread may be opening something as it is looked at, and what
    is never closed is there each time."""
    counts = []
    for _ in range(25):
        counts.append(len(os.listdir(f"/proc/{pid}/fd")))
        time.sleep(0.02)
    return min(counts)


def resident(pid: int) -> int:
    """KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def test_nothing_grows_with_the_number_of_episodes(death: Death, studio: Studio) -> None:
    """Sampled in the same state: an episode's executor waits, the 6th and the 20th time."""
    early, late, trials = 6, 20, 21
    team = studio.team(executor=WAITING, verifier={"verdict": "approve"}, memory_mb=128)
    running = death.start(team, studio.task(), "--trials", trials)
    samples = []
    for number in range(1, late + 1):
        running.wait_waiting()
        if number in (early, late):
            pids = running.pid, supervisor_of(running.pid)
            samples.append([(descriptors(pid), resident(pid)) for pid in pids])
        running.release()
    code, _, err = running.end()
    assert code == 0, err
    for (few, small), (many, large) in zip(*samples, strict=True):
        assert many == few
        assert large - small <= MOST_KIB_AN_EPISODE * (late - early)
    assert death.left() == {}
