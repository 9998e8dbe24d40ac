"""What passes between phases: handoffs are sealed, verdicts are read."""

from __future__ import annotations

import hashlib
import shlex
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from rolewall.episode.conditions import Conditions
from rolewall.episode.played import Played
from rolewall.episode.setting import Setting
from rolewall.episode.showing import show
from rolewall.episode.verdict import verdict_in
from rolewall.episode.zones import Zones
from rolewall.record import ConditionEvent, VerdictRecord
from rolewall.roles import (
    HANDOFF_ZONES,
    MAX_SEALED,
    MAX_VERDICT,
    PRESETS,
    Agent,
    Collected,
    Execution,
    PresetAgent,
    SealedHandoff,
    asked_for,
    claim_seen,
    complete_and_seal,
    read_handoff,
    runs_work,
    sealed_bytes,
)
from rolewall.rundir import write_atomic
from rolewall.sandbox import WORKSPACE, loaded_by_image

__all__ = ["FOUND", "KEPT", "VIOLATION", "Handovers", "verdict_of"]

PRIVATE = ("home", "tmp")
SHOWN = 200  # characters of a command
# An image can load code from where it expects its work, in any program that is started.
LOADED = "an image that works in /workspace, and may load the work into any program"
UNSEEN = "more programs were started than were recorded"
KEPT = "nothing new was handed over; this is the handoff of an earlier round"
FOUND = "the file was there before this phase began, and is no word of its role"
VIOLATION = "the phase was ended as a violation"
NOTED = 20  # of what is wrong with conditions, in one handoff


@dataclass
class Handovers:
    """Seals handoffs of one episode, each chained to the one before, and lets what they say
    of conditions count."""

    setting: Setting
    zones: Zones
    conditions: Conditions
    previous: str | None = None
    shown: str = ""  # SHA-256 of what was shown of the last one
    _left: dict[str, tuple[bytes, Collected]] = field(default_factory=dict)

    def seal(self, played: Played, beside: str = "") -> SealedHandoff:
        """Complete and seal what the role left, and put it in place for the next one.
        ``beside`` is what may have run the work in the role's own box."""
        role, index = played.place.role, played.place.index
        zone = HANDOFF_ZONES[role]
        collected = self._collect(zone)
        events = []
        if _wrote(played, zone):
            unheard = VIOLATION if played.acted.outcome == "violation" else ""
            events = self.conditions.hear(
                collected.handoff, role, index, unheard=unheard, beside=beside
            )
            collected = replace(collected, problems=(*collected.problems, *_notes(events)))
        elif KEPT not in collected.problems and _there(played, zone):
            collected = replace(collected, problems=(*collected.problems, FOUND))
        sealed = complete_and_seal(
            collected,
            author=role,
            phase=index,
            time=time.time(),
            previous=self.previous,
            evidence=played.acted.evidence,
            digests=_digests(played, collected),
        )
        self.previous = sealed.seal.sha256
        self.conditions.record(events, sealed.seal.sha256)
        body = sealed_bytes(sealed)
        name = played.place.name
        write_atomic(self.setting.directory / "handoffs" / f"{name}.json", body)
        shown = show(self.setting, name, zone, sealed)
        self.shown = hashlib.sha256(shown).hexdigest()
        self._left[zone] = (shown, collected)
        self.zones.write(zone, "handoff.json", shown)
        return sealed

    def _collect(self, zone: str) -> Collected:
        """What the role left; the harness's own sealed file, left alone, is the role's
        word of the round before."""
        data = self.zones.read(zone, "handoff.json", MAX_SEALED)
        if zone in self._left:
            body, before = self._left[zone]
            if data == body:
                return Collected(before.handoff, (KEPT,))
        return read_handoff(data, f"{zone}/handoff.json")


def _wrote(played: Played, zone: str) -> bool:
    """Whether the handoff was written in this very phase. One that lay there before is no
    word of this role's now, whoever wrote it."""
    states = (played.before[zone], played.after[zone])
    was, now = (state.by_path.get(b"handoff.json") for state in states)
    return now is not None and (was is None or was.sha256 != now.sha256)


def _there(played: Played, zone: str) -> bool:
    return b"handoff.json" in played.after[zone].by_path


def _notes(events: Sequence[ConditionEvent]) -> Iterator[str]:
    """For the next role: what a handoff says of conditions in vain."""
    told = [event for event in events if event.why]
    for event in told[:NOTED]:
        yield f"condition {event.condition}, {event.event}: {event.why}"
    if len(told) > NOTED:
        yield f"and {len(told) - NOTED} more notes on conditions"


def _digests(played: Played, collected: Collected) -> dict[tuple[str, str], str]:
    """Of the files that the handoff names: a workspace may hold a million."""
    wanted = {(artifact.zone, artifact.path) for artifact in collected.handoff.artifacts}
    return {
        (zone, entry.name): entry.sha256
        for zone, manifest in played.after.items()
        if wanted
        for entry in manifest.entries
        if entry.sha256 and (zone, entry.name) in wanted
    }


def verdict_of(played: Played, zones: Zones, setting: Setting) -> VerdictRecord:
    """The verdict of a verifier's phase, with what its claims are worth."""
    data = zones.read("verdict", "verdict.json", MAX_VERDICT)
    parsed = verdict_in(data, played.nonce or "", played.acted.outcome, played.usage)
    beside = _beside(played, zones, setting)
    held = played.held.closed("workspace")
    step = played.place.step
    ran = [*(e.argv for e in played.seen.executions), *played.checked]
    return VerdictRecord(
        round=played.place.round,
        phase=played.place.index,
        verdict=parsed.verdict,
        why=parsed.why,
        nonce=played.nonce or "",
        isolated=not (beside or held),
        checks=tuple(check.model_dump(mode="json") for check in parsed.checks),
        claims=tuple(
            {"command": claim, "seen": _seen(claim, ran, played)} for claim in parsed.commands
        ),
        beside=beside,
        held=held,
        step=step.id if step else "",
        whole=step is None or step.last,
    )


def _beside(played: Played, zones: Zones, setting: Setting) -> str:
    """What may have run the work in the box of the verdict; empty where nothing did."""
    if setting.task.workdir == WORKSPACE:
        return LOADED
    agent = setting.team.agents["verifier"]
    executions = _apart_from_the_agent(played, agent, setting.task.id, {*zones.owners, *PRIVATE})
    for execution in filter(runs_work, executions):
        return shlex.join(execution.argv)[:SHOWN] or execution.exe[:SHOWN]
    if not played.seen_whole:
        return UNSEEN
    # A program that is the system's loads what its image says, and no execution tells.
    image_id = str(played.turned.facts.get("image_id") or "")
    return loaded_by_image(setting.backend, setting.image, image_id, zones.owners)


def _apart_from_the_agent(
    played: Played, agent: Agent, task: str, zones: Collection[str]
) -> Sequence[Execution]:
    """Without the first start of a command agent itself, or of a person's shell: it is the
    team's, or the person's, whatever it is; and without what a preset's program is and runs of
    its own accord."""
    executions = played.seen.executions
    if isinstance(agent, PresetAgent):
        program = agent.program(role="verifier", task=task) or PRESETS[agent.preset].program
        return asked_for(agent.preset, program, executions, zones)
    if not (own := played.acted.own):
        return executions
    # A person's shell is started by what gives it its terminal.
    first = next((one for one in executions[:2] if one.argv[: len(own)] == own), None)
    return [one for one in executions if one is not first]


def _seen(claim: str, ran: list[tuple[str, ...]], played: Played) -> str:
    words = claim.removeprefix("rolewall-check")
    if words != claim:
        inside = words.strip().removeprefix("--").strip()
        found = claim_seen(inside, played.checked)
    else:
        found = claim_seen(claim, ran)
    if found:
        return "yes"
    return "no" if played.seen_whole else "unknown"
