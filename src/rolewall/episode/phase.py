"""One role's turn: box, agent, manifests, what was tried and what changed."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass

from rolewall.attest import digest_of_file
from rolewall.episode.attribution import changes_of_phase
from rolewall.episode.boxes import check_service, in_places, place_of_work, role_spec
from rolewall.episode.models import open_model
from rolewall.episode.seen import Seen, read_seen
from rolewall.episode.setting import Setting
from rolewall.episode.zones import Zones
from rolewall.errors import InputError, TapError
from rolewall.policies import Compiled, Kind, LedgerTail, Outcome, compile_mounts
from rolewall.record import (
    AttemptCounts,
    Changes,
    PhaseRecord,
    PhaseReplay,
    PhaseUsage,
    phase_name,
    sum_up,
)
from rolewall.roles import (
    Acted,
    CheckRun,
    ModelUse,
    RecordedTurn,
    ReplayAgent,
    TaskFacts,
    Turn,
    act,
    render_prompt,
)
from rolewall.sandbox import BoxSpec, Manifest, WatchSpec, WatchSummary, open_box

__all__ = ["Place", "Played", "play"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where in an episode a phase stands; ``index`` counts phases from 0."""

    role: str
    round: int
    rounds: int
    index: int

    @property
    def name(self) -> str:
        return phase_name(self.index, self.role)


@dataclass(frozen=True)
class _Turned:
    """What happened in the box."""

    acted: Acted
    summary: WatchSummary
    facts: dict[str, object]
    checked: tuple[CheckRun, ...]
    use: ModelUse | None


@dataclass(frozen=True)
class Played:
    """A phase that is over. ``before`` and ``after`` are the states of every zone."""

    place: Place
    started: float
    ended: float
    nonce: str | None
    turned: _Turned
    before: Mapping[str, Manifest]
    after: Mapping[str, Manifest]
    changes: Changes
    seen: Seen
    transcripts: dict[str, str]

    @property
    def acted(self) -> Acted:
        return self.turned.acted

    @property
    def checked(self) -> list[tuple[str, ...]]:
        """Commands that ran in the check box."""
        return [run.argv for run in self.turned.checked]

    @property
    def seen_whole(self) -> bool:
        """Whether every execution was recorded."""
        return not self.turned.summary.unrecorded

    @property
    def usage(self) -> PhaseUsage | None:
        """What the agent took of its model; None for one that has none."""
        return PhaseUsage(**asdict(self.turned.use)) if self.turned.use else None

    def record(self, outcome: str, handoff: str) -> PhaseRecord:
        return PhaseRecord(
            index=self.place.index,
            role=self.place.role,
            round=self.place.round,
            started=self.started,
            ended=self.ended,
            outcome=outcome,  # type: ignore[arg-type]
            returncode=self.acted.returncode,
            box=self.turned.facts,
            attempts=_counts(self.turned.summary, self.changes.unattributed),
            manifests={zone: manifest.digest for zone, manifest in self.after.items()},
            changes=self.changes.listed,
            changes_omitted=self.changes.omitted,
            changed=self.changes.counts,
            handoff=handoff,
            transcript=f"transcripts/{self.place.name}.jsonl",
            transcript_sha256=self.transcripts,
            usage=self.usage,
            replay=PhaseReplay(**asdict(self.acted.replayed)) if self.acted.replayed else None,
        )


def play(
    setting: Setting,
    zones: Zones,
    place: Place,
    before: Mapping[str, Manifest],
    ledger: LedgerTail,
) -> Played:
    """Let a role have its turn; ``before`` is the state of the zones, and ``ledger`` has been
    read up to here.

    Raises:
        ProbeFailed: the wall does not stand; the agent has not run.
        InfrastructureError: the box, the tap or the disk failed.
    """
    compiled = compile_mounts(setting.policy, place.role)
    nonce = _nonce(setting, place)
    seconds = min(compiled.limits.phase_seconds, setting.task.seconds)
    roles = setting.policy.roles
    work = place_of_work(setting, place.role)
    facts = TaskFacts(setting.task.id, seconds, place.round, place.rounds, roles, work)
    turn = Turn(
        role=place.role,
        task=setting.task.id,
        prompt=render_prompt(compiled, facts, nonce=nonce),
        nonce=nonce,
        seconds=seconds,
        transcript=setting.directory / "transcripts" / place.name,
        seed=setting.seed,
        recorded=_recorded(setting, place),
    )
    spec = role_spec(setting, zones, compiled, turn, place.round)
    started = time.time()
    kept = _kept(compiled, before)
    turned = _turn(setting, zones, place, compiled, spec, turn, kept.get("workspace"))
    ended = time.time()
    after = zones.take(kept)
    zones.unlock()  # what was handed over lies behind directories that the role may have closed
    seen = read_seen(ledger, place.index, place.role)
    changes = changes_of_phase(place.role, zones.owners, before, after, seen.attempts)
    return Played(
        place=place,
        started=started,
        ended=ended,
        nonce=nonce,
        turned=turned,
        before=before,
        after=after,
        changes=sum_up(changes),
        seen=seen,
        transcripts=_digests(turn),
    )


def _nonce(setting: Setting, place: Place) -> str | None:
    """A verifier's; one of a recording, whose answers or commands speak of it, is told again.
    Whoever judges anew is told a new one: the old one may be known to whoever is judged."""
    if place.role != "verifier":
        return None
    agent = setting.team.agents[place.role]
    repeats = isinstance(agent, ReplayAgent) or agent.access is not None
    recorded = setting.recorded if repeats else None
    told = recorded.nonces.get(place.name) if recorded else None
    return told or secrets.token_hex(16)


def _recorded(setting: Setting, place: Place) -> RecordedTurn | None:
    """What an agent that does so is to do again."""
    if not isinstance(setting.team.agents[place.role], ReplayAgent):
        return None
    if setting.recorded is None:
        raise InputError("nothing recorded was given to be done again", got=place.role)
    return setting.recorded.turn(place.name)


def _kept(compiled: Compiled, before: Mapping[str, Manifest]) -> dict[str, Manifest]:
    """The zones that stay as they are while the role has its turn.

    Of all others everything is read again: whoever may write a file can change what it
    holds and leave its times as they were, by a mapping or by moving its blocks.
    """
    writable = {mount.zone for mount in compiled.mounts if mount.writable}
    return {zone: manifest for zone, manifest in before.items() if zone not in writable}


def _turn(
    setting: Setting,
    zones: Zones,
    place: Place,
    compiled: Compiled,
    spec: BoxSpec,
    turn: Turn,
    workspace: Manifest | None,
) -> _Turned:
    watch = WatchSpec(
        place.role,
        place.index,
        in_places(compiled.view(), spec.workdir),
        setting.ledger,
        reads=setting.team.observe == "reads",
    )
    with open_box(setting.backend, spec, tap=setting.supervise(), watch=watch) as box:
        agent = setting.team.agents[place.role]
        with ExitStack() as beside:
            if service := check_service(setting, zones, box, workspace, place.index, turn.seconds):
                beside.callback(service.close)
            if model := open_model(setting.models, agent, box, turn):
                beside.callback(model.close)
            acted = act(agent, box, model.turn if model else turn)
            box.kill_all()
        for served in (service, model):
            if served and served.trouble:
                raise served.trouble
        use = model.settle(acted) if model else None
        summary = box.finish()
        if summary is None:
            raise TapError("the box of a role has no tap", got=spec.label)
        if summary.violated:  # its last command may have ended before the news of it came
            acted.outcome = "violation"
        runs = tuple(service.runs) if service else ()
        return _Turned(acted, summary, dict(box.facts), runs, use)


def _digests(turn: Turn) -> dict[str, str]:
    """The SHA-256 of every file of the transcript, by name."""
    found = sorted(turn.transcript.parent.glob(f"{turn.transcript.name}.*"))
    return {path.name: digest_of_file(path) for path in found}


def _counts(summary: WatchSummary, missed: int) -> AttemptCounts:
    return AttemptCounts(
        edit_attempted=summary.count(Kind.EDIT),
        edit_blocked=summary.count(Kind.EDIT, Outcome.BLOCKED),
        edit_allowed=summary.count(Kind.EDIT, Outcome.ALLOWED),
        distinct_edits=summary.distinct_edits,
        incidental=summary.count(Kind.INCIDENTAL),
        own=summary.count(Kind.OWN),
        outside=summary.count(Kind.OUTSIDE),
        privileged=summary.count(Kind.PRIVILEGED),
        unknown=summary.unknown,
        unattributed=missed,
        peek=summary.count(Kind.PEEK),
        distinct_peeks=summary.distinct_peeks,
        read=summary.reads,
        read_outside=summary.reads_outside,
    )
