"""Grading an episode, after every role is gone."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from rolewall.episode.setting import Setting
from rolewall.graders import GradeTask, Submitted, grade, write_attestation
from rolewall.record import GradeRecord, VerdictRecord
from rolewall.sandbox import Manifest, export, make_directory, remove_tree
from rolewall.tasks import stage_grader

__all__ = ["Judge"]


class Judge:
    """Grades states of one episode's work; equal states are graded once."""

    def __init__(self, setting: Setting, start: Manifest) -> None:
        self._setting = setting
        self._start = start
        self._known: dict[tuple[str, bool], GradeRecord] = {}
        self._count = 0
        self.seconds = 0.0

    def grade(self, work: Manifest, report: Manifest, verdict: VerdictRecord | None) -> GradeRecord:
        """The grade of ``work``. What the verdict says has no part in it; that there
        is one has, for graders that ask for an attestation.

        Raises:
            InfrastructureError: the grade box failed.
        """
        attested = verdict is not None and verdict.verdict != "missing"
        key = (work.content_digest, attested)
        if key not in self._known:
            self._known[key] = self._grade(work, report, verdict if attested else None)
        return self._known[key]

    def _grade(
        self, work: Manifest, report: Manifest, verdict: VerdictRecord | None
    ) -> GradeRecord:
        self._count += 1
        scratch = self._setting.scratch / f"grade-{self._count}"
        make_directory(scratch)
        submission = self._new(scratch / "submission")
        hidden = self._new(scratch / "hidden")
        stage_grader(self._setting.task, hidden)
        task = self._setting.task
        if verdict is not None:
            write_attestation(
                submission,
                "approve",
                task=task.id,
                run=self._setting.key,
                checks=verdict.checks,
            )
        grading = grade(
            Submitted(
                self._copy(work, scratch / "final"),
                submission,
                self._copy(report, scratch / "handed-in"),
            ),
            task.grader,
            GradeTask(
                id=task.id,
                spec=task.spec,
                brief=task.brief,
                files=hidden,
                seconds=task.seconds,
                image=self._setting.image,
                memory_mb=self._setting.policy.limits.memory_mb,
            ),
            backend=self._setting.backend,
            scratch=self._new(scratch / "room"),
            start=lambda: self._copy(self._start, scratch / "start"),
        )
        remove_tree(scratch)
        self.seconds += grading.seconds
        return GradeRecord(**dataclasses.asdict(grading), manifest=work.content_digest)

    def _new(self, path: Path) -> Path:
        make_directory(path)
        return path

    def _copy(self, manifest: Manifest, into: Path) -> Path:
        make_directory(into)
        export(manifest, self._setting.store, into, git=True)
        return into
