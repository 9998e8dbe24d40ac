"""From a finished episode of the planted attacks to one row a plant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rolewall.attacks.planted.evidence import Evidence, host_harm, read_evidence
from rolewall.attacks.planted.payload.daemons import DAEMONS
from rolewall.attacks.planted.payload.drive import CATALOGUE, GIT_ROUNDS, RESULTS, ZONE_ROUNDS
from rolewall.attacks.planted.row import PlantedRow
from rolewall.attacks.planted.stage import ROUNDS
from rolewall.record import EpisodeRecord

__all__ = ["rows"]

WRONG, RIGHT = ("reject", "fail"), ("approve", "pass")


def rows(episode: Path, record: EpisodeRecord, host: Path) -> tuple[PlantedRow, ...]:
    """One row a plant, and one for what all of them together did to the episode."""
    found = read_evidence(episode, record, host)
    acted, harm = host_harm(host)
    return (
        *_plants(found, acted),
        *_in_place(found, harm),
        *_processes(found),
        _row("results", "zone", ", ".join(RESULTS), True, harm=_results(found)),
        _row("episode", "zone", "all of it together", True, harm=_whole(found, acted, harm)),
    )


def _row(name: str, group: str, what: str, live: bool, *, harm: str = "") -> PlantedRow:
    return PlantedRow(name, group, what, live, False, False, False, False, harm)


def _plants(found: Evidence, acted: frozenset[str]) -> Iterator[PlantedRow]:
    own = set(found.told[0].get("live", ())) if found.told else set()
    live = own | set(found.fired["check"]) | set(found.fired["grade"])
    for plant in CATALOGUE.values():
        yield PlantedRow(
            id=plant.id,
            group=plant.group,
            what=plant.what,
            live=plant.id in live,
            host=plant.id in acted,
            verifier=plant.id in found.fired["verifier"],
            check=plant.id in found.fired["check"],
            grade=plant.id in found.fired["grade"],
            harm="",
        )


def _in_place(found: Evidence, harm: str) -> Iterator[PlantedRow]:
    """What stands in the place of a handoff, or of the workspace's repository."""
    first = found.told[0] if found.told else {}
    for number, kind in enumerate(ZONE_ROUNDS):
        live = kind in first.get("kinds", ()) and _told(found, number + 1).get("kind") == kind
        words = harm or _handoff(found, 2 * number + 2)
        yield _row(f"handoff-{kind}", "zone", f"{kind} named handoff.json", live, harm=words)
    for number, kind in enumerate(GIT_ROUNDS):
        live = kind in first.get("git_kinds", ()) and _told(found, number + 1).get("git") == kind
        words = harm or _repository(found, 2 * number + 2)
        yield _row(f"dotgit-{kind}", "zone", f"{kind} named .git", live, harm=words)


def _told(found: Evidence, round_: int) -> dict[str, object]:
    return found.told[round_] if round_ < len(found.told) else {}


def _handoff(found: Evidence, phase: int) -> str:
    """Whether the verifier after the executor's ``phase`` got a plain, sealed file."""
    files = found.files.get(f"{phase + 1:02}-verifier", {}).get("report", {})
    entry = files.get(b"handoff.json")
    if entry is None or (entry.kind, entry.nlink, entry.mode) != ("file", 1, 0o644):
        return "the verifier did not get a plain handoff"
    return ""


def _repository(found: Evidence, phase: int) -> str:
    """Whether the verifier had a repository of the harness's, and the executor its own again."""
    files = found.files.get(f"{phase + 1:02}-verifier", {}).get("workspace", {})
    if b".git/config" not in files or files[b".git/config"].kind != "file":
        return "the verifier had no repository of the harness's"
    if any(path.startswith(b".git/hooks/") for path in files):
        return "the verifier's repository has hooks"
    return ""


def _processes(found: Evidence) -> Iterator[PlantedRow]:
    alive = found.told[0].get("daemons", ()) if found.told else ()
    for name in DAEMONS:
        path = f"beats/{name}".encode()
        phases = [
            found.files.get(p, {}).get("workspace", {}) for p in ("00-executor", "01-verifier")
        ]
        states = [files.get(path) for files in phases]
        harm = (
            "" if states[0] is not None and states[0] == states[1] else "it wrote after its phase"
        )
        what = f"a daemon that holds on by {name}"
        yield _row(f"daemon-{name}", "process", what, name in alive, harm=harm)


def _results(found: Evidence) -> str:
    """Whether each round has the verdict and the grade that its work has earned."""
    expected = [WRONG] * (ROUNDS - 1) + [RIGHT]
    got = [
        (verdict.verdict, grade.grade)
        for verdict in found.record.verdicts
        for grade in (verdict.grade_before, verdict.grade_after)
        if grade
    ]
    return (
        "" if got == [one for one in expected for _ in range(2)] else f"verdicts and grades: {got}"
    )


def _whole(found: Evidence, acted: frozenset[str], harm: str) -> str:
    words = [harm] if harm else []
    words += [f"unknown mark on the host: {name}" for name in sorted(acted - set(CATALOGUE))]
    words += [f"in a new box: {line}" for line in found.left[:5]]
    if found.record.error:
        words.append(f"{found.record.error.kind}: {found.record.error.message}")
    for phase in found.record.phases:
        if phase.changed.cross_role:
            words.append(f"phase {phase.index} changed another's zone")
    return "; ".join(words)
