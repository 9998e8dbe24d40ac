"""One piece of work, and what a task's grader says of it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rolewall.checkgrader.shortcuts import MARK
from rolewall.errors import InfrastructureError, Interrupted
from rolewall.graders import GradeTask, Grading, Submitted, grade, write_attestation
from rolewall.mutants import Overlay, lay
from rolewall.sandbox import (
    WORKSPACE,
    Backend,
    BlobStore,
    copy_tree,
    fresh_repo,
    make_directory,
    remove_tree,
    storage,
)
from rolewall.tasks import Task, stage_grader, work_environment

__all__ = ["MODULE", "Bench", "Candidate", "Graded", "Kind"]

Kind = Literal["untouched", "solution", "neutral", "shortcut", "mutant"]
MEMORY_MB = 2048
MODULE = "module "
# How shells and pytest call what is not there, and how Python does.
ABSENT = (
    re.compile(r"^(?:[^\s:]+: )?(?:line )?\d*:? ?([\w./+-]{1,64}): (?:command )?not found$", re.M),
    re.compile(r"^.{0,64}env: .([\w./+-]{1,64}).: No such file or directory$", re.M),
    re.compile(r"unrecognized arguments: (--[\w-]{1,64})"),
)
ABSENT_MODULE = re.compile(r"No module named '?([\w.]{1,64})'?$", re.M)


@dataclass(frozen=True)
class Candidate:
    """Work to be graded: the untouched workspace with ``overlay`` over it.

    Attributes:
        index: its number among those of its kind.
        report: files of the executor's report.
        seconds: how long one grading may take; None is the task's own time.
    """

    kind: Kind
    index: int
    overlay: Overlay = field(default_factory=lambda: Overlay({}, ()))
    report: Mapping[str, bytes] = field(default_factory=dict)
    seconds: float | None = None


@dataclass(frozen=True)
class Graded:
    """What the grader said.

    Attributes:
        broke: the box failed, so that nothing is known; ``why`` says how.
        ran: whether a shortcut that is code was seen to run in the grade box.
        unmet: the tests that did not pass, where the grader tells; at most 20.
        said: what must be equal when the same work is graded again.
        absent: programs, options and (after ``MODULE``) modules that its output calls absent.
    """

    grade: str
    why: str
    seconds: float
    trust: str = ""
    broke: bool = False
    ran: bool = False
    unmet: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


class Bench:
    """Grades candidates of one task as an episode would: a fresh repository in the workspace,
    a fresh box, an attestation where the grader asks for one.

    Args:
        scratch: a directory of the harness's own.
        memory_mb: of a grade box.
    """

    def __init__(
        self,
        task: Task,
        backend: Backend,
        scratch: Path,
        store: BlobStore,
        image: str,
        memory_mb: int = MEMORY_MB,
    ) -> None:
        self._task = task
        self._backend = backend
        self._scratch = scratch
        self._store = store
        self._image = image
        self._memory_mb = memory_mb

    def grade(self, candidate: Candidate) -> Graded:
        """Grade one candidate. A box that fails is told in the result.

        Raises:
            TaskError: the task's files are not as they were.
            Interrupted: the user asked to stop.
        """
        at = self._scratch / f"{candidate.kind}-{candidate.index}"
        make_directory(at)
        try:
            found = self._grade(candidate, at)
            ran = os.path.lexists(at / "work" / MARK)
        except Interrupted:
            raise
        except InfrastructureError as error:
            return Graded("error", f"the grade box failed: {error}", 0.0, broke=True)
        finally:
            remove_tree(at)
        return _graded(found, ran)

    def _grade(self, candidate: Candidate, at: Path) -> Grading:
        task = self._task
        hidden, room, submission = (self._new(at / name) for name in ("hidden", "room", "given"))
        stage_grader(task, hidden)
        write_attestation(submission, task=task.id, run="check-grader")
        report = self._new(at / "report")
        with storage(report):
            for name, data in candidate.report.items():
                (report / name).write_bytes(data)
        return grade(
            Submitted(self._work(candidate.overlay, at / "work"), submission, report),
            task.grader,
            GradeTask(
                id=task.id,
                spec=task.spec,
                brief=task.brief,
                files=hidden,
                seconds=candidate.seconds or task.grader_seconds or task.seconds,
                image=self._image,
                memory_mb=self._memory_mb,
                workdir=task.workdir or WORKSPACE,
                env=work_environment(task),
            ),
            backend=self._backend,
            scratch=room,
            start=lambda: self._work(Overlay({}, ()), at / "start"),
        )

    def _work(self, overlay: Overlay, into: Path) -> Path:
        self._new(into)
        if self._task.workspace is not None:
            copy_tree(self._task.workspace, into)
        fresh_repo(into, self._store)
        lay(overlay, into)
        return into

    def _new(self, path: Path) -> Path:
        make_directory(path)
        return path


def _graded(found: Grading, ran: bool) -> Graded:
    details = found.details
    unmet = tuple(sorted(details.get("failed", {})))
    modes = [str(mode) for mode in details.get("failure_modes", ())]
    said = (found.grade, str(found.score), *unmet, *modes)
    return Graded(
        grade=found.grade,
        why=found.why,
        seconds=found.seconds,
        trust=found.trust,
        ran=ran,
        unmet=unmet,
        said=said,
        absent=_absent(details.get("output", "")),
    )


def _absent(output: Any) -> tuple[str, ...]:
    text = "\n".join(output.values()) if isinstance(output, dict) else str(output)
    programs = {name for pattern in ABSENT for name in pattern.findall(text)}
    return (*sorted(programs), *sorted(MODULE + name for name in ABSENT_MODULE.findall(text)))
