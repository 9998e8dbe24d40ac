"""An attacker who changes paths under the tap's eyes: every change is accounted for, or counted.

The counts are taken anew here, from the files that a run leaves.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import Studio, User

RACER = Path(__file__).with_name("racer.py")
MOST_RACES = 5
TRIES = {"prompt-only": 500, "enforced": 250}
# way: (what it does to an entry, by which effects the ledger can tell of it)
WAYS = {
    "text": ("modified", {"truncate"}),
    "link": ("deleted", {"unlink"}),
    "descriptor": ("created", {"create"}),
    "directory": ("created", {"create"}),
}


@dataclass(frozen=True)
class Raced:
    """The one episode of a run, read from its files."""

    directory: Path
    record: dict[str, Any]

    @property
    def phase(self) -> dict[str, Any]:
        found: dict[str, Any] = self.record["phases"][-1]
        return found

    def edits(self) -> list[dict[str, Any]]:
        """The verifier's edits that were allowed."""
        lines = map(json.loads, (self.directory / "audit.jsonl").read_text().splitlines())
        wanted = {"type": "attempt", "role": "verifier", "kind": "edit", "outcome": "allowed"}
        return [line for line in lines if wanted.items() <= line.items()]

    def manifest(self, phase: str) -> dict[str, dict[str, Any]]:
        path = self.directory / "manifests" / f"{phase}-workspace.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
        return {line["path"]: line for line in lines}

    def landed(self) -> dict[str, str]:
        """What the verifier changed below the four directories, by path."""
        before, after = self.manifest("00-executor"), self.manifest("01-verifier")
        found = {}
        for path in sorted(before.keys() | after.keys()):
            old, new = before.get(path), after.get(path)
            if what_it_is(old) != what_it_is(new) and path.partition("/")[0] in WAYS:
                found[path] = "modified" if old and new else "deleted" if old else "created"
        return found


def what_it_is(entry: dict[str, Any] | None) -> tuple[str, str] | None:
    return (entry["kind"], entry.get("digest", "")) if entry else None


Race = Callable[[str], Raced]


@pytest.fixture
def race(user: User, backend: Backend, studio: Studio) -> Race:
    """Let the racer verify the work under one condition, and read the episode."""

    def run(condition: str) -> Raced:
        number = len(list(user.home.iterdir()))
        studio.path = user.directory(f"studio-{number}")
        tries = TRIES[condition]
        files = {f"{way}/{n:04}": "work\n" for way in ("text", "link") for n in range(tries)}
        empty = {f"{way}/.keep": "" for way in ("descriptor", "directory")}
        task = studio.task(files={"app.py": "x = 1\n"} | files | empty)
        verifier = {"command": ["python3", "{agents}/racer.py", str(tries)]}
        team = studio.team(verifier=verifier)
        shutil.copy(RACER, team.parent / "racer.py")
        user.give(studio.path)
        out = user.home / f"run-{number}"
        done = user.cli("run", team, "--tasks", task, "--condition", condition,
                        "--backend", backend.name, "-o", out)  # fmt: skip
        assert done.code == 0, done.err
        (directory,) = (out / "episodes").iterdir()
        episode = Raced(directory, json.loads((directory / "episode.json").read_text()))
        assert episode.phase["outcome"] == "done"
        told = (directory / "transcripts" / "01-verifier.stdout").read_text()
        assert json.loads(told) == {"tries": 4 * tries}, "the attack was not made"
        return episode

    return run


@pytest.mark.pain(22)
def test_every_change_of_a_racing_attacker_is_attributed_or_counted(race: Race) -> None:
    for _ in range(MOST_RACES):
        if accounted_for(race("prompt-only")):
            return
    pytest.fail("no try was won: nothing is shown")


def accounted_for(episode: Raced) -> bool:
    """Whether there was a change to count, none of which the ledger tells of."""
    changed = episode.landed()
    assert all(WAYS[path.partition("/")[0]][0] == change for path, change in changed.items())
    seen = {(path, edit["effect"]) for edit in episode.edits() for path in edit["paths"]}
    unseen = {
        path
        for path in changed
        if not any((f"/workspace/{path}", e) in seen for e in WAYS[path.partition("/")[0]][1])
    }
    phase = episode.phase
    assert {c["path"] for c in phase["changes"] if not c["attributed"]} == unseen
    assert phase["attempts"]["unattributed"] == len(unseen)
    assert phase["changed"]["cross_role"] == len(changed), "nothing else changed"
    return bool(unseen)


def test_behind_the_wall_the_same_attacker_changes_nothing(race: Race) -> None:
    episode = race("enforced")
    assert episode.landed() == {}
    phase = episode.phase
    assert episode.record["status"] == "complete"
    assert phase["changed"]["cross_role"] == 0 and phase["attempts"]["unattributed"] == 0
    assert phase["attempts"]["edit_blocked"] > 0
    assert phase["attempts"]["edit_allowed"] == 0
