"""A planner that need not do the same again, done again: what it asked of tools, what it left.

What it ran in its box is not run again: all that lasts of that is in the zones that it owns,
and those are laid as the episode's manifests have them.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rolewall.blame.facts import Facts
from rolewall.measures import EpisodeFiles, Stored
from rolewall.record import PhaseRecord
from rolewall.roles import Evidence, Team

__all__ = ["Again", "ask_again", "planner_again"]

FOLDER = "planner/rolewall-left"  # of the team's files, for the planner alone
HANDOFF = b"handoff.json"  # which the harness writes
MOST_STEPS = 900
MOST_FILES = 2000
MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class Again:
    """``steps`` of a script that does again what a planner did last, and what of its zones
    ``plan`` and others it needs beside the team's files. ``why`` says why it cannot be done;
    else it is empty."""

    asked: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    executables: frozenset[str] = frozenset()
    why: str = ""

    def steps(self) -> list[str]:
        zones = dict.fromkeys(path.split("/")[2] for path in self.files)
        laid = [f"cp -R /rolewall/agents/{FOLDER}/{zone}/. /{zone}/" for zone in zones]
        return [*self.asked, *laid, *(f"chmod -R u+w /{zone}" for zone in zones)]


def planner_again(facts: Facts, team: Team) -> Again:
    """Of the planner's last turn. Raises as ``Stored`` does."""
    phase = facts.files.phases("planner")[-1]
    if phase.changed.landed:
        return Again(why="the planner changed what is not its own, and is not asked again")
    asked = list(ask_again(facts.files, facts.files.of("planner")[-1].evidence))
    if len(asked) > MOST_STEPS:
        return Again(why=f"the planner used tools more than {MOST_STEPS} times")
    zones = ["plan", *(zone for zone, owner in team.zones.items() if owner == "planner")]
    return _laid(facts.files, phase, zones, tuple(asked))


def ask_again(files: EpisodeFiles, evidence: Iterable[Evidence]) -> Iterator[str]:
    """The calls of the team's tools among ``evidence``, as commands."""
    whole = {
        line.get("id"): line.get("arguments")
        for phase in files.record.phases
        for line in files.tool_calls(phase)
    }
    for one in evidence:
        if one.source == "broker" and not one.unread:
            arguments = json.dumps(whole.get(one.id) or one.arguments, sort_keys=True)
            yield f"rolewall-tool {shlex.quote(one.tool)} {shlex.quote(arguments)}"


def _laid(
    files: EpisodeFiles, phase: PhaseRecord, zones: list[str], asked: tuple[str, ...]
) -> Again:
    store = Stored(files.directory.parents[1] / "blobs.git", files.directory / "manifests")
    data: dict[str, bytes] = {}
    executables: set[str] = set()
    room = MOST_BYTES
    for zone in zones:
        for entry, content in store.files(f"{phase.name}-{zone}"):
            if entry.path.partition(b"/")[0] == HANDOFF:
                continue
            room -= len(content or b"")
            if content is None or entry.nlink > 1 or not entry.name.isprintable():
                return Again(why=f"/{zone}/{entry.name} cannot be laid again")
            if room < 0 or len(data) == MOST_FILES:
                return Again(why=f"/{zone} holds too much to be laid again")
            path = f"{FOLDER}/{zone}/{entry.name}"
            data[path] = content
            if entry.mode & 0o100:
                executables.add(path)
    return Again(asked, data, frozenset(executables))
