"""Grading a state of the work, and the start state where the grader breaks on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rolewall.errors import BoxError
from rolewall.graders.box import grade_box
from rolewall.graders.command import CommandGrader
from rolewall.graders.harbor import HarborGrader
from rolewall.graders.outcome import ended_badly
from rolewall.graders.protocol import Finding, Grader, GradeTask, Grading, Runner, Submitted
from rolewall.graders.pytest_grader import PytestGrader
from rolewall.graders.script import ScriptGrader
from rolewall.graders.spec import CommandSpec, GraderSpec, HarborSpec, PytestSpec
from rolewall.graders.stage import Room, make_room
from rolewall.sandbox import Backend, machine_refused

__all__ = ["grade", "make_grader"]

TOOL_SECONDS = 30.0
MOST_NAMED = 100
LOOK = 'for tool; do command -v -- "$tool" >/dev/null || echo "$tool"; done'


def make_grader(spec: GraderSpec, files: Path) -> Grader:
    """The grader for ``spec``; ``files`` is the directory of hidden tests and truth."""
    if isinstance(spec, CommandSpec):
        return CommandGrader(spec)
    if isinstance(spec, PytestSpec):
        return PytestGrader(spec, files)
    if isinstance(spec, HarborSpec):
        return HarborGrader(spec)
    return ScriptGrader(spec)


def grade(
    given: Submitted,
    grader: GraderSpec,
    task: GradeTask,
    *,
    backend: Backend,
    scratch: Path,
    start: Callable[[], Path],
) -> Grading:
    """Grade the state ``given``.

    Args:
        scratch: an existing directory for this grading alone; the caller removes it.
        start: makes a fresh private copy of the start state; called only when the
            work could not be judged.

    Returns:
        ``error`` only if the start state cannot be judged either; work on which a
        working grader breaks is a ``fail (broke the grader)``.

    Raises:
        InfrastructureError: the box failed. That is nobody's grade.
        TaskError: the grader's files are not as they must be.
    """
    began = time.monotonic()
    judge = make_grader(grader, task.files)
    found = _twice(judge, task, given, backend, scratch)
    if found.grade == "error":
        first = _attempt(judge, task, Submitted(start()), backend, scratch / "start")
        found = _blame(found, first)
    seconds = time.monotonic() - began
    return Grading(found.grade, judge.trust, found.why, found.score, seconds, found.details)


def _twice(
    judge: Grader, task: GradeTask, given: Submitted, backend: Backend, scratch: Path
) -> Finding:
    """Grade the work; once more if its box breaks. Work that breaks two boxes could
    not be judged, like work that breaks the grader: the start state tells whose fault
    that is, and a machine that can make no box fails there too."""
    try:
        return _attempt(judge, task, given, backend, scratch / "work")
    except BoxError as error:
        if machine_refused(error):
            raise
        again = scratch / "again"
    try:
        return _attempt(judge, task, given, backend, again)
    except BoxError as error:
        if machine_refused(error):
            raise
        return Finding("error", f"the grade box broke twice: {error.message}")


def _blame(found: Finding, first: Finding) -> Finding:
    """Whose fault it is that ``found`` is an error: ``first`` is the start state's finding."""
    details = {**found.details, "start_state": {"grade": first.grade, "why": first.why}}
    if first.grade == "error":
        why = f"{found.why}; the start state: {first.why}"
        return Finding("error", why, details=details)
    return Finding("fail", f"broke the grader: {found.why}", details=details)


def _attempt(
    judge: Grader, task: GradeTask, given: Submitted, backend: Backend, place: Path
) -> Finding:
    room = make_room(place, task, given, judge.reports(), judge.places.directories)
    with grade_box(backend, room, task, judge.files(), judge.places) as box:
        absent = _absent_tools(box, judge.tools)
        ran = None if absent else judge.run(box, task.seconds)
    room.check_unchanged()
    if ran is None:
        found = Finding("error", f"not in the grade box: {', '.join(absent)}")
    else:
        found = judge.conclude(ran, room.reports)
    return Finding(found.grade, found.why, found.score, {**found.details, **_about(room)})


def _about(room: Room) -> dict[str, Any]:
    about: dict[str, Any] = {"grader_digest": room.digest}
    if room.removed_links:
        about["removed_links"] = list(room.removed_links[:MOST_NAMED])
        about["removed_links_in_all"] = len(room.removed_links)
    return about


def _absent_tools(box: Runner, tools: Sequence[str]) -> list[str]:
    """Which of ``tools`` the box lacks. Nothing of the work has run yet."""
    if not tools:
        return []
    ran = box.run(["sh", "-c", LOOK, "sh", *tools], cwd="/", timeout=TOOL_SECONDS)
    if why := ended_badly(ran):
        return [f"a shell ({why})"]
    return ran.stdout.text().split()
