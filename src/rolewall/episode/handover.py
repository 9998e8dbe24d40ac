"""What passes between phases: handoffs are sealed, verdicts are read."""

from __future__ import annotations

import shlex
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from rolewall.episode.phase import Played
from rolewall.episode.setting import Setting
from rolewall.episode.verdict import verdict_in
from rolewall.episode.zones import Zones
from rolewall.record import VerdictRecord
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

__all__ = ["Handovers", "verdict_of"]

PRIVATE = ("home", "tmp")
SHOWN = 200  # characters of a command
# An image can load code from where it expects its work, in any program that is started.
LOADED = "an image that works in /workspace, and may load the work into any program"
UNSEEN = "more programs were started than were recorded"
KEPT = "nothing new was handed over; this is the handoff of an earlier round"


@dataclass
class Handovers:
    """Seals handoffs of one episode, each chained to the one before."""

    setting: Setting
    zones: Zones
    previous: str | None = None
    _left: dict[str, tuple[bytes, Collected]] = field(default_factory=dict)

    def seal(self, played: Played) -> SealedHandoff:
        """Complete and seal what the role left, and put it in place for the next one."""
        role, index = played.place.role, played.place.index
        zone = HANDOFF_ZONES[role]
        collected = self._collect(zone)
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
        body = sealed_bytes(sealed)
        self._left[zone] = (body, collected)
        self.zones.write(zone, "handoff.json", body)
        name = f"{played.place.name}.json"
        write_atomic(self.setting.directory / "handoffs" / name, body)
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
    ran = [*(e.argv for e in played.seen.executions), *played.checked]
    return VerdictRecord(
        round=played.place.round,
        phase=played.place.index,
        verdict=parsed.verdict,
        why=parsed.why,
        nonce=played.nonce or "",
        isolated=not beside,
        checks=tuple(check.model_dump(mode="json") for check in parsed.checks),
        claims=tuple(
            {"command": claim, "seen": _seen(claim, ran, played)} for claim in parsed.commands
        ),
        beside=beside,
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
