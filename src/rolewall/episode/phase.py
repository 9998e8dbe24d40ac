"""One role's turn: box, agent, manifests, what was tried and what changed."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rolewall.episode.attribution import changes_of_phase, unattributed
from rolewall.episode.setting import Setting
from rolewall.episode.zones import Zones
from rolewall.library import box_spec
from rolewall.policies import (
    Access,
    Attempt,
    Compiled,
    Kind,
    Outcome,
    View,
    ViewZone,
    compile_mounts,
    read_ledger,
)
from rolewall.record import AttemptCounts, Change, PhaseRecord
from rolewall.roles import (
    CHECK_SOCKET,
    Acted,
    CheckService,
    TaskFacts,
    Turn,
    act,
    check_spec,
    render_prompt,
)
from rolewall.sandbox import Box, BoxSpec, Manifest, WatchSpec, WatchSummary, open_box

__all__ = ["Place", "Played", "play"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where in an episode a phase stands; ``index`` counts phases from 0."""

    role: str
    round: int
    rounds: int
    index: int


@dataclass
class Played:
    """A phase that is over. ``after`` is the state of every zone then."""

    role: str
    round: int
    index: int
    started: float
    ended: float
    nonce: str | None
    acted: Acted
    facts: dict[str, object]
    summary: WatchSummary
    before: Mapping[str, Manifest]
    after: Mapping[str, Manifest]
    changes: tuple[Change, ...]
    unattributed: tuple[Change, ...]
    executions: list[tuple[str, ...]] = field(default_factory=list)
    checked: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def transcript(self) -> str:
        return f"transcripts/{self.index:02}-{self.role}"

    def record(self, outcome: str, handoff: str | None) -> PhaseRecord:
        return PhaseRecord(
            index=self.index,
            role=self.role,
            round=self.round,
            started=self.started,
            ended=self.ended,
            outcome=outcome,  # type: ignore[arg-type]
            returncode=self.acted.returncode,
            box=self.facts,
            attempts=_counts(self.summary, self.unattributed),
            manifests={zone: manifest.digest for zone, manifest in self.after.items()},
            changes=self.changes,
            handoff=handoff,
            transcript=self.transcript + ".jsonl",
        )


def play(setting: Setting, zones: Zones, place: Place, before: Mapping[str, Manifest]) -> Played:
    """Let a role have its turn; ``before`` is the state of the zones.

    Raises:
        ProbeFailed: the wall does not stand; the agent has not run.
        InfrastructureError: the box, the tap or the disk failed.
    """
    role, index = place.role, place.index
    compiled = compile_mounts(setting.policy, role)
    nonce = secrets.token_hex(16) if role == "verifier" else None
    seconds = min(compiled.limits.phase_seconds, setting.task.seconds)
    facts = TaskFacts(setting.task.id, seconds, place.round, place.rounds)
    prompt = render_prompt(compiled, facts, nonce=nonce)
    turn = Turn(
        role=role,
        task=setting.task.id,
        prompt=prompt,
        nonce=nonce,
        seconds=seconds,
        transcript=setting.directory / "transcripts" / f"{index:02}-{role}",
    )
    started = time.time()
    spec = _spec(setting, zones, compiled, prompt, place.round)
    watch = WatchSpec(role, index, compiled.view(), setting.directory / "audit.jsonl")
    with open_box(setting.backend, spec, tap=setting.supervisor, watch=watch) as box:
        service = _serve(setting, zones, box, before["workspace"], index)
        try:
            acted = act(setting.team.agents[role], box, turn)
        finally:
            if service:
                service.close()
        if service and service.trouble:
            raise service.trouble
        box.kill_all()
        summary = box.finish()
        box_facts = dict(box.facts)
    assert summary is not None  # the box has a tap
    ended = time.time()
    after = zones.take(before)
    changes = changes_of_phase(role, zones.owners, before, after)
    return Played(
        role,
        place.round,
        index,
        started,
        ended,
        nonce,
        acted,
        box_facts,
        summary,
        before,
        after,
        changes,
        _unattributed(setting, index, changes),
        executions=_executions(setting, index, role),
        checked=[run.argv for run in service.runs] if service else [],
    )


def _spec(setting: Setting, zones: Zones, compiled: Compiled, prompt: str, round_: int) -> BoxSpec:
    files = {"prompt.md": prompt.encode()}
    programs: dict[str, bytes] = {}
    for name, data in setting.team.files().items():
        kind = programs if name in setting.team.executables else files
        kind[f"agents/{name}"] = data
    environment = {
        "ROLEWALL_ROLE": compiled.role,
        "ROLEWALL_TASK": setting.task.id,
        "ROLEWALL_ROUND": str(round_),
    }
    return box_spec(
        compiled,
        zones.sources(mount.zone for mount in compiled.mounts),
        image=setting.image,
        files=files,
        programs=programs,
        listen=(CHECK_SOCKET,) if compiled.role == "verifier" else (),
        env=environment,
    )


def _serve(
    setting: Setting, zones: Zones, box: Box, start: Manifest, index: int
) -> CheckService | None:
    """The check box's service, for a box that asked for it."""
    if CHECK_SOCKET not in box.listeners:
        return None
    copies = setting.scratch / f"check-{index}"
    view = View("check", (ViewZone("workspace", "check", Access.WRITE, private=True),))
    watch = WatchSpec("check", index, view, setting.directory / "audit.jsonl")

    def snapshot() -> Path:
        copy = copies / secrets.token_hex(8)
        zones.snapshot(copy, start)
        return copy

    def open_check(copy: Path) -> Box:
        spec = check_spec(box.spec, copy)
        return open_box(setting.backend, spec, tap=setting.supervisor, watch=watch)

    listener = box.listeners.pop(CHECK_SOCKET)
    return CheckService(listener, snapshot, open_check, setting.policy.limits.phase_seconds)


def _unattributed(setting: Setting, index: int, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    if not any(change.cross_role for change in changes):
        return ()
    lines = read_ledger(setting.directory / "audit.jsonl")
    attempts = [
        Attempt.from_line(line)
        for line in lines
        if line["type"] == "attempt" and line["phase"] == index
    ]
    return unattributed(changes, attempts)


def _executions(setting: Setting, index: int, role: str) -> list[tuple[str, ...]]:
    """What the role itself executed, seen at execve."""
    return [
        tuple(line["argv"])
        for line in read_ledger(setting.directory / "audit.jsonl")
        if line["type"] == "exec" and line["phase"] == index and line["role"] == role
    ]


def _counts(summary: WatchSummary, unattributed: tuple[Change, ...]) -> AttemptCounts:
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
        unattributed=len(unattributed),
    )
