"""One role's turn: box, agent, manifests, what was tried and what changed."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from rolewall.attest import digest_of_file
from rolewall.episode.attribution import changes_of_phase
from rolewall.episode.boxes import check_service, in_places, place_of_work, role_spec
from rolewall.episode.held import Held
from rolewall.episode.lookup import programs_there
from rolewall.episode.models import open_model
from rolewall.episode.played import Place, Played, Turned
from rolewall.episode.seen import read_seen
from rolewall.episode.setting import Setting
from rolewall.episode.showing import RESULTS
from rolewall.episode.tools import open_tools
from rolewall.episode.zones import Zones
from rolewall.errors import InputError, TapError
from rolewall.paralysis import Alarm
from rolewall.policies import Compiled, LedgerTail, compile_mounts
from rolewall.record import sum_up
from rolewall.roles import (
    RecordedTurn,
    ReplayAgent,
    Results,
    TaskFacts,
    Turn,
    act,
    render_prompt,
    tools_text,
)
from rolewall.sandbox import BoxSpec, Manifest, WatchSpec, open_box

__all__ = ["play"]


def play(
    setting: Setting,
    zones: Zones,
    place: Place,
    before: Mapping[str, Manifest],
    ledger: LedgerTail,
    held: Held,
    alarm: Alarm | None = None,
    needs: Sequence[str] = (),
) -> Played:
    """Let a role have its turn; ``before`` is the state of the zones, ``ledger`` has been
    read up to here, ``held`` is what open conditions forbid meanwhile, ``alarm`` what a
    planner is told of the planning so far, and ``needs`` what is looked for in the box.

    Raises:
        ProbeFailed: the wall does not stand; the agent has not run.
        InfrastructureError: the box, the tap or the disk failed.
    """
    compiled = compile_mounts(held.policy, place.role)
    nonce = _nonce(setting, place)
    seconds = min(compiled.limits.phase_seconds, setting.task.seconds)
    roles = setting.policy.roles
    work = place_of_work(setting, place.role)
    told = tools_text(setting.team.tools_of(place.role))
    alarmed = alarm.json() if alarm else None
    facts = TaskFacts(
        setting.task.id, seconds, place.round, place.rounds, roles, work, told, place.step, alarmed
    )
    turn = Turn(
        role=place.role,
        task=setting.task.id,
        prompt=render_prompt(compiled, facts, nonce=nonce),
        nonce=nonce,
        seconds=seconds,
        transcript=setting.directory / "transcripts" / place.name,
        seed=setting.seed,
        recorded=_recorded(setting, place),
        results=Results(setting.directory / RESULTS),
    )
    step = place.step.id if place.step else ""
    spec = role_spec(setting, zones, compiled, turn, place.round, step)
    programs = programs_there(setting, spec, needs) if needs else {}
    started = time.time()
    kept = _kept(compiled, before)
    turned = _turn(setting, zones, place, compiled, spec, turn, kept.get("workspace"), held)
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
        held=held,
        programs=programs,
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
    held: Held,
) -> Turned:
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
            turn = model.turn if model else turn
            if tools := open_tools(setting, box, turn, held):
                beside.callback(tools.close)
            acted = act(agent, box, tools.turn if tools else turn)
            box.kill_all()
        for served in (service, model, tools):
            if served and served.trouble:
                raise served.trouble
        use = model.settle(acted) if model else None
        asked = tools.settle(acted) if tools else None
        summary = box.finish()
        if summary is None:
            raise TapError("the box of a role has no tap", got=spec.label)
        if summary.violated:  # its last command may have ended before the news of it came
            acted.outcome = "violation"
        runs = tuple(service.runs) if service else ()
        return Turned(acted, summary, dict(box.facts), runs, use, asked)


def _digests(turn: Turn) -> dict[str, str]:
    """The SHA-256 of every file of the transcript, by name."""
    found = sorted(turn.transcript.parent.glob(f"{turn.transcript.name}.*"))
    return {path.name: digest_of_file(path) for path in found}
