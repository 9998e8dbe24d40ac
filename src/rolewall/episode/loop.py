"""The episode: stage, planner, executor, verifier, rounds, grade, record.

::

    stage ─ planner ─ executor ─ manifest ─ verifier ─ verdict ─ (generator) ─ grade ─ record
               ↑          ↑______ reject ______|
               |__ reject or blocked, when replan: true
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress

from rolewall.episode.conditions import Conditions, conditions_bytes
from rolewall.episode.contracts import Contracts
from rolewall.episode.handover import Handovers, verdict_of
from rolewall.episode.history import History
from rolewall.episode.judge import grade_all
from rolewall.episode.phase import play
from rolewall.episode.played import Place, Played
from rolewall.episode.room import check_room
from rolewall.episode.rounds import Shape, by_rounds, by_steps
from rolewall.episode.setting import Setting
from rolewall.episode.shown import Shown, shown
from rolewall.episode.summary import Outcome, make_record
from rolewall.episode.work import CandidateWork
from rolewall.episode.zones import Zones
from rolewall.errors import BoxError, InfrastructureError, Interrupted, StorageError
from rolewall.paralysis import paralysis, uses_of
from rolewall.policies import HARNESS, LedgerTail
from rolewall.record import (
    Breach,
    EpisodeRecord,
    ErrorRecord,
    PhaseRecord,
    Verdict,
)
from rolewall.roles import Step, StepFacts
from rolewall.rundir import write_record
from rolewall.sandbox import Manifest, drop_repositories, remove_tree, stoppable, storage

__all__ = ["run_episode"]


def run_episode(setting: Setting) -> EpisodeRecord:
    """Run one episode and write its record, which makes it count.

    Infrastructure that fails ends the episode as an ``error``, in its record;
    it is never the agents' failure.

    Raises:
        InputError: the task or an image is not acceptable. Nothing is recorded.
        StorageError: the record itself cannot be written.
        Interrupted: the run is to stop. Nothing is recorded.
    """
    outcome, started = Outcome(), time.time()
    try:
        with stoppable(setting.stopping.is_set):
            _Episode(setting, outcome).run()
    except InfrastructureError as error:
        outcome.error = ErrorRecord(kind=type(error).__name__, message=str(error))
    if setting.stopping.is_set():
        # Boxes are ended to stop a run: what an episode made of that is nobody's result.
        # The scratch goes with the run's, where the user may break that off.
        raise Interrupted("interrupted")
    record = make_record(setting, outcome, started)
    setting.store.flush()
    written = write_record(setting.directory, record, setting.seals)
    with suppress(StorageError):  # what cannot be removed is left for the run's end
        remove_tree(setting.scratch)
    return written


class _Episode:
    def __init__(self, setting: Setting, outcome: Outcome) -> None:
        self.setting = setting
        self.outcome = outcome
        self.zones = Zones(setting.scratch, setting.policy, setting.store)
        self._conditions = outcome.conditions = Conditions(setting.policy, setting.task.conditions)
        self._handovers = Handovers(setting, self.zones, self._conditions)
        self._calls: dict[int, int] = {}  # uses of tools, by phase
        self._needs: list[str] = []  # of the plan's steps
        self._contracts = outcome.contracts = Contracts(self.zones.owners)
        self._history = History(self.zones, setting.directory / "transcripts")
        self._ledger = LedgerTail(setting.ledger)
        self._start: Mapping[str, Manifest] = {}
        self._last: Mapping[str, Manifest] = {}

    def run(self) -> None:
        task = self.setting.task
        with storage(self.setting.directory):
            for name in ("transcripts", "handoffs", "manifests"):
                (self.setting.directory / name).mkdir(exist_ok=True)
        self.zones.stage(task.spec, task.brief, task.workspace)
        if task.conditions and "spec" in self.zones.owners:
            self.zones.write("spec", "conditions.json", conditions_bytes(task.conditions))
        self._start = self._last = self.zones.take()
        self.outcome.start = self._start
        self._keep("start", self._start)
        if self.setting.work:
            self._show(self.setting.work)
        else:
            self._rounds()
        grade_all(self.setting, self.zones, self._start["workspace"], self.outcome)

    def _show(self, work: CandidateWork) -> None:
        """Let the verifier alone judge what is known."""
        work.stage(self.zones)
        self._last = self.zones.take()
        self.verify(1)

    @property
    def over(self) -> bool:
        return self.outcome.error is not None

    def _rounds(self) -> None:
        setting = self.setting
        plan = "planner" in setting.policy.roles
        shape = Shape(setting.rounds, plan, plan and setting.team.replan, setting.verified)
        stepwise = setting.team.verify == "each-step" and plan and setting.verified
        approved = (by_steps if stepwise else by_rounds)(self, shape)
        last = self.outcome.verdicts[-1] if approved else None
        if last and not last.held and "generator" in setting.policy.roles:
            self._generate(last.round)

    def plan(self, round_: int) -> Sequence[Step]:
        if round_ == 1:  # nobody has been in the workspace yet
            return self._plan(round_)
        with self._shown():
            return self._plan(round_)

    def _plan(self, round_: int) -> Sequence[Step]:
        played = self._play("planner", round_)
        sealed = self._handovers.seal(played)
        self._add(played, sealed.status == "blocked", sealed.seal.sha256)
        self._needs = [need.strip() for step in sealed.steps for need in step.needs]
        return sealed.steps

    def execute(self, round_: int, step: StepFacts | None = None) -> bool:
        self.zones.empty("report")
        if step and step.number > 1 and round_ == 1 and self._uncovered("executor"):
            return False
        played = self._play("executor", round_, step)
        sealed = self._handovers.seal(played)
        blocked = sealed.status == "blocked"
        self._add(played, blocked, sealed.seal.sha256)
        return blocked

    def verify(self, round_: int, step: StepFacts | None = None) -> Verdict:
        with self._shown() as shown:
            self.zones.empty("verdict")
            self.zones.empty("feedback")
            played = self._play("verifier", round_, step)
            verdict = verdict_of(played, self.zones, self.setting)
            self.outcome.verdicts.append(verdict)
            if verdict.verdict == "approve":
                self._contracts.approved(played)
                if step:
                    self._conditions.step_approved("verifier", step.id)
            work = [
                shown.own(manifests["workspace"]) for manifests in (played.before, played.after)
            ]
            self.outcome.states.append((work[0], work[1], played.before["report"]))
            sealed = self._handovers.seal(played, verdict.beside)
            self._add(played, sealed.status == "blocked", sealed.seal.sha256)
        return verdict.verdict

    def _generate(self, round_: int) -> None:
        """What is made of work that was approved."""
        if self._uncovered("generator"):
            return
        with self._shown():
            hidden = self._contracts.unjudged(self.zones.take(self._last))
            played = self._play("generator", round_, hidden=hidden)
            sealed = self._handovers.seal(played)
            self._add(played, sealed.status == "blocked", sealed.seal.sha256)

    def _uncovered(self, role: str) -> bool:
        """Whether ``role`` may not be given the work as it is: no verdict covers it."""
        work = self.zones.take(self._last)["workspace"]
        self._broken(self._contracts.given(role, len(self.outcome.phases), work))
        return self.over

    def hand_in(self) -> None:
        """Take the work as a verifier would have met it: a grade is of the same thing
        whether there is one or not."""
        with self._shown() as shown:
            self._drop_repositories(HARNESS)
            report = self.zones.take(self._last)["report"]
            self.outcome.handed_in = (shown.state, report)

    def _shown(self) -> AbstractContextManager[Shown]:
        return shown(
            self.zones.path("workspace"),
            self._start["workspace"],
            self.setting.store,
            lambda: self.zones.take(self._last)["workspace"],
            self.setting.scratch / f"aside-{len(self.outcome.phases)}",
        )

    def _play(
        self,
        role: str,
        round_: int,
        step: StepFacts | None = None,
        hidden: Collection[str] = (),
    ) -> Played:
        """One phase; ``hidden`` are zones that its role may not see this time."""
        if self.setting.stopping.is_set():
            raise BoxError("no further phase")
        index = len(self.outcome.phases)
        self.zones.unlock()
        self._drop_repositories(role)
        before = self.zones.take(self._last)
        place = Place(role, round_, self.setting.rounds, index, step)
        check_room(self.setting.scratch)
        held = self._conditions.held(role).without(role, hidden)
        alarm = paralysis(self.outcome.phases, self._calls) if role == "planner" else None
        played = play(
            self.setting, self.zones, place, before, self._ledger, held, alarm, self._sought(role)
        )
        self._calls[index] = uses_of(played.acted.evidence)
        check_room(self.setting.scratch)
        self._last = played.after
        return played

    def _sought(self, role: str) -> list[str]:
        """What is looked for in the box of ``role``. An agent that sets its own search path may
        find more than a look from outside."""
        looked = role == "executor" and "PATH" not in self.setting.team.agents[role].env
        return self._needs if looked else []

    def _drop_repositories(self, role: str) -> None:
        """Git in one of another's zones would run what that one wrote there, as ``role``.
        The workspace is ``shown``'s, which puts its own back."""
        for zone, owner in self.zones.owners.items():
            if zone != "workspace" and owner != role:
                drop_repositories(self.zones.path(zone))

    def _add(self, played: Played, blocked: bool, seal: str) -> None:
        outcome = played.acted.outcome
        word = "blocked" if blocked and outcome == "done" else outcome
        self.outcome.phases.append(played.record(word, seal, self._handovers.shown))
        self.outcome.agent_seconds += played.acted.seconds
        self._keep(played.place.name, played.after)
        self._history.add(played.place.name, played.nonce)
        broken = self._contracts.played(played)
        self._check_wall(self.outcome.phases[-1])
        self._broken(broken)

    def _check_wall(self, phase: PhaseRecord) -> None:
        """In ``enforced`` nothing changes outside its owner's phase: if it did, the wall broke."""
        count = phase.changed.cross_role
        if count and self.setting.policy.single_writer:
            # A record lists the first changes alone, and none where a path is too long for it.
            crossed = [f"{c.zone}/{c.path}" for c in phase.changes if c.cross_role]
            named = ", ".join(crossed[:5]) or "paths too long to be listed"
            self.outcome.error = ErrorRecord(
                kind="manifest-alarm",
                message=f"{count} changes by {phase.role} outside its zones: {named}",
            )

    def _broken(self, breaches: Sequence[Breach]) -> None:
        """In ``enforced`` a contract cannot be broken: if it was, nothing that follows counts."""
        if breaches and self.setting.policy.single_writer and not self.outcome.error:
            told = "; ".join(f"{one.kind} by {one.role}: {one.why}" for one in breaches[:5])
            self.outcome.error = ErrorRecord(kind="contract", message=told)

    def _keep(self, name: str, manifests: Mapping[str, Manifest]) -> None:
        for zone, manifest in manifests.items():
            manifest.dump(self.setting.directory / "manifests" / f"{name}-{zone}.jsonl")
