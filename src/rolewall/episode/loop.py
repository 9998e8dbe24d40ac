"""The episode: stage, planner, executor, verifier, rounds, grade, record.

::

    stage ─ planner ─ executor ─ manifest ─ verifier ─ verdict ─ grade ─ record
               ↑          ↑______ reject ______|
               |__ reject or blocked, when replan: true
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress

from rolewall.episode.handover import Handovers, verdict_of
from rolewall.episode.history import History
from rolewall.episode.judge import Judge
from rolewall.episode.phase import Place, Played, play
from rolewall.episode.room import check_room
from rolewall.episode.setting import Setting
from rolewall.episode.shown import Shown, shown
from rolewall.episode.summary import Outcome, make_record
from rolewall.episode.work import CandidateWork
from rolewall.episode.zones import Zones
from rolewall.errors import BoxError, InfrastructureError, Interrupted, StorageError
from rolewall.policies import HARNESS, LedgerTail
from rolewall.record import EpisodeRecord, ErrorRecord, PhaseRecord, VerdictRecord
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
        self._handovers = Handovers(setting, self.zones)
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
        self._start = self._last = self.zones.take()
        self.outcome.start = self._start
        self._keep("start", self._start)
        if self.setting.work:
            self._show(self.setting.work)
        else:
            self._rounds()
        self._grade()

    def _show(self, work: CandidateWork) -> None:
        """Let the verifier alone judge what is known."""
        work.stage(self.zones)
        self._last = self.zones.take()
        self._verifier(1)

    def _rounds(self) -> None:
        plan = "planner" in self.setting.policy.roles
        replan = plan and self.setting.team.replan
        for round_ in range(1, self.setting.rounds + 1):
            last = round_ == self.setting.rounds
            if plan:
                self._planner(round_)
                if self.outcome.error:
                    return
            blocked = self._executor(round_)
            plan = replan
            if self.outcome.error:
                return
            if not self.setting.verified:
                self._hand_in()
                return
            if blocked and not last:
                continue
            verdict = self._verifier(round_)
            if self.outcome.error or verdict.verdict != "reject":
                return

    def _planner(self, round_: int) -> None:
        if round_ == 1:  # nobody has been in the workspace yet
            self._plan(round_)
            return
        with self._shown(f"planner-{round_}"):
            self._plan(round_)

    def _plan(self, round_: int) -> None:
        played = self._play("planner", round_)
        sealed = self._handovers.seal(played)
        self._add(played, sealed.status == "blocked", sealed.seal.sha256)

    def _executor(self, round_: int) -> bool:
        self.zones.empty("report")
        played = self._play("executor", round_)
        sealed = self._handovers.seal(played)
        blocked = sealed.status == "blocked"
        self._add(played, blocked, sealed.seal.sha256)
        return blocked

    def _verifier(self, round_: int) -> VerdictRecord:
        with self._shown(f"verifier-{round_}") as shown:
            self.zones.empty("verdict")
            self.zones.empty("feedback")
            played = self._play("verifier", round_)
            verdict = verdict_of(played, self.zones, self.setting)
            self.outcome.verdicts.append(verdict)
            work = [
                shown.own(manifests["workspace"]) for manifests in (played.before, played.after)
            ]
            self.outcome.states.append((work[0], work[1], played.before["report"]))
            sealed = self._handovers.seal(played)
            self._add(played, sealed.status == "blocked", sealed.seal.sha256)
        return verdict

    def _hand_in(self) -> None:
        """Take the work as a verifier would have met it: a grade is of the same thing
        whether there is one or not."""
        with self._shown("end") as shown:
            self._drop_repositories(HARNESS)
            report = self.zones.take(self._last)["report"]
            self.outcome.handed_in = (shown.state, report)

    def _shown(self, name: str) -> AbstractContextManager[Shown]:
        return shown(
            self.zones.path("workspace"),
            self._start["workspace"],
            self.setting.store,
            lambda: self.zones.take(self._last)["workspace"],
            self.setting.scratch / f"aside-{name}",
        )

    def _play(self, role: str, round_: int) -> Played:
        if self.setting.stopping.is_set():
            raise BoxError("no further phase")
        index = len(self.outcome.phases)
        self.zones.unlock()
        self._drop_repositories(role)
        before = self.zones.take(self._last)
        place = Place(role, round_, self.setting.rounds, index)
        check_room(self.setting.scratch)
        played = play(self.setting, self.zones, place, before, self._ledger)
        check_room(self.setting.scratch)
        self._last = played.after
        return played

    def _drop_repositories(self, role: str) -> None:
        """Git in one of another's zones would run what that one wrote there, as ``role``.
        The workspace is ``shown``'s, which puts its own back."""
        for zone, owner in self.zones.owners.items():
            if zone != "workspace" and owner != role:
                drop_repositories(self.zones.path(zone))

    def _add(self, played: Played, blocked: bool, seal: str) -> None:
        outcome = played.acted.outcome
        word = "blocked" if blocked and outcome == "done" else outcome
        self.outcome.phases.append(played.record(word, seal))
        self.outcome.agent_seconds += played.acted.seconds
        self._keep(played.place.name, played.after)
        self._history.add(played.place.name, played.nonce)
        self._alarm(self.outcome.phases[-1])

    def _alarm(self, phase: PhaseRecord) -> None:
        """In ``enforced`` nothing changes outside its owner's phase: if it did, the wall broke."""
        crossed = [c for c in phase.changes if c.cross_role]
        if crossed and self.setting.policy.single_writer:
            named = ", ".join(f"{c.zone}/{c.path}" for c in crossed[:5])
            count = phase.changed.cross_role
            self.outcome.error = ErrorRecord(
                kind="manifest-alarm",
                message=f"{count} changes by {phase.role} outside its zones: {named}",
            )

    def _keep(self, name: str, manifests: Mapping[str, Manifest]) -> None:
        for zone, manifest in manifests.items():
            manifest.dump(self.setting.directory / "manifests" / f"{name}-{zone}.jsonl")

    def _grade(self) -> None:
        outcome = self.outcome
        if outcome.error or not (outcome.verdicts or outcome.handed_in):
            return
        judge = Judge(self.setting, self.zones, self._start["workspace"])
        graded = []
        for verdict, (before, after, report) in zip(
            self.outcome.verdicts, self.outcome.states, strict=True
        ):
            # A candidate's truth is its own: no silence of a verifier may change it.
            said = verdict.verdict != "missing" or self.setting.work is not None
            grades = {
                "grade_before": judge.grade(before, report, attested=said),
                "grade_after": judge.grade(after, report, attested=said),
            }
            graded.append(verdict.model_copy(update=grades))
        self.outcome.verdicts = graded
        if outcome.handed_in:
            outcome.final = judge.grade(*outcome.handed_in, attested=True)
        self.outcome.grader_seconds = judge.seconds
