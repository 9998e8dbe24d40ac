"""Grading an episode, after every role is gone."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from rolewall.episode.setting import Setting
from rolewall.episode.summary import Outcome
from rolewall.episode.zones import Zones, left_lines
from rolewall.graders import GradeTask, Grading, Submitted, grade, write_attestation
from rolewall.policies import is_cache
from rolewall.record import GradeRecord
from rolewall.sandbox import WORKSPACE, LeftOut, Manifest, make_directory, remove_tree
from rolewall.tasks import stage_grader, work_environment

__all__ = ["Judge", "grade_all"]


def grade_all(setting: Setting, zones: Zones, start: Manifest, outcome: Outcome) -> None:
    """Grade what verdicts were given on, before and after, or what was handed in unverified.

    Args:
        start: the workspace's, to tell work that breaks its grader from a broken grader.

    Raises:
        InfrastructureError: the grade box failed.
    """
    if outcome.error or not (outcome.verdicts or outcome.handed_in):
        return
    judge = Judge(setting, zones, start)
    graded = []
    for row, (before, after, report) in zip(outcome.verdicts, outcome.states, strict=True):
        # One of several steps is no whole work, and would fail for what is still to come.
        if row.whole or row is outcome.verdicts[-1]:
            # A candidate's truth is its own: no silence of a verifier may change it.
            said = row.verdict != "missing" or setting.work is not None
            grades = {
                "grade_before": judge.grade(before, report, attested=said),
                "grade_after": judge.grade(after, report, attested=said),
            }
            graded.append(row.model_copy(update=grades))
        else:
            graded.append(row)
    outcome.verdicts = graded
    if outcome.handed_in:
        outcome.final = judge.grade(*outcome.handed_in, attested=True)
    outcome.grader_seconds = judge.seconds


class Judge:
    """Grades states of one episode's work; equal states are graded once.

    Attributes:
        seconds: time spent in graders so far.
    """

    def __init__(self, setting: Setting, zones: Zones, start: Manifest) -> None:
        self._setting = setting
        self._zones = zones
        self._start = start
        self._known: dict[tuple[str, str, bool], GradeRecord] = {}
        self.seconds = 0.0

    def grade(self, work: Manifest, report: Manifest, *, attested: bool) -> GradeRecord:
        """The grade of ``work``. What the verdict says has no part in it.

        Args:
            attested: whether graders that ask for an attestation get one, which then
                approves: they do for every verdict, and where there is no verifier to
                give one, but not from a verifier that says nothing on work of a team.

        Raises:
            InfrastructureError: the grade box failed.
        """
        judged = work.without(is_cache)
        key = (judged.content_digest, report.content_digest, attested)
        if key not in self._known:
            self._known[key] = self._grade(judged, report, attested)
        return self._known[key]

    def _grade(self, work: Manifest, report: Manifest, attested: bool) -> GradeRecord:
        scratch = self._new(self._setting.scratch / f"grade-{len(self._known)}")
        missing = self._zones.copy(work, scratch / "work")
        lost = [found for found in missing if found.lost]
        if lost:
            # Judged as the whole it would be another piece of work than was handed in.
            record = self._record(_too_large(self._setting, lost), work, missing)
        else:
            self._zones.copy(report, scratch / "report")
            record = self._record(self._judge(scratch, attested), work, missing)
        remove_tree(scratch)
        return record

    def _judge(self, scratch: Path, attested: bool) -> Grading:
        task = self._setting.task
        submission = self._new(scratch / "submission")
        if attested:
            write_attestation(submission, task=task.id, run=self._setting.key)
        hidden = self._new(scratch / "hidden")
        stage_grader(task, hidden)
        grading = grade(
            Submitted(scratch / "work", submission, scratch / "report"),
            task.grader,
            GradeTask(
                id=task.id,
                spec=task.spec,
                brief=task.brief,
                files=hidden,
                seconds=task.grader_seconds or task.seconds,
                image=self._setting.image,
                memory_mb=self._setting.policy.limits.memory_mb,
                workdir=task.workdir or WORKSPACE,
                env=work_environment(task),
            ),
            backend=self._setting.backend,
            scratch=self._new(scratch / "room"),
            start=lambda: self._fresh(scratch / "start"),
        )
        self.seconds += grading.seconds
        return grading

    def _record(self, grading: Grading, work: Manifest, left: list[LeftOut]) -> GradeRecord:
        fields = dataclasses.asdict(grading)
        if left:
            named = {"left_out": list(left_lines(left)), "left_out_in_all": len(left)}
            fields["details"] = {**fields["details"], **named}
        return GradeRecord(**fields, manifest=work.content_digest)

    def _new(self, path: Path) -> Path:
        make_directory(path)
        return path

    def _fresh(self, path: Path) -> Path:
        self._zones.copy(self._start, path)
        return path


def _too_large(setting: Setting, lost: list[LeftOut]) -> Grading:
    why = f"the work cannot be judged whole: {'; '.join(left_lines(lost)[:5])}"
    return Grading("fail", setting.task.grader.trust, why)
