"""The grade box: the one place where graders meet a sandbox.

Beside it a *work box* waits: ``rolewall-check -- COMMAND`` in the grade box runs
COMMAND on a copy of the work, where neither tests, truth nor result exist. A
grader that runs the work only so may be declared ``outside``.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rolewall.errors import BoxError, RolewallError
from rolewall.graders.protocol import GradeTask, Places
from rolewall.graders.stage import Room
from rolewall.policies import Limits
from rolewall.roles import CHECK_SOCKET, CheckCopy, CheckService
from rolewall.sandbox import Backend, Box, BoxSpec, ZoneMount, copy_tree, make_directory, open_box

__all__ = ["grade_box", "grade_spec", "work_spec"]


# From the work: whatever a grader may have in its own box.
HIDDEN = ("reports", "submission", "grader", "spec", "brief", "report", "tests", "logs")


def grade_spec(
    room: Room, task: GradeTask, files: Mapping[str, bytes], places: Places | None = None
) -> BoxSpec:
    """The box for ``room``: no network, no tap (nothing is attributed to a role here)."""
    places = places or Places()
    mounts = [
        ZoneMount("workspace", room.work, writable=True),
        ZoneMount(places.results, room.reports, writable=True),
        ZoneMount("submission", room.submission, writable=False),
        ZoneMount(places.tests, room.grader, writable=False),
        ZoneMount("spec", room.spec, writable=False),
        ZoneMount("brief", room.brief, writable=False),
    ]
    if room.report is not None:
        mounts.append(ZoneMount("report", room.report, writable=False))
    return BoxSpec(
        label="grade",
        mounts=tuple(mounts),
        files=files,
        image=task.image,
        limits=_limits(task),
        tap=False,
        workdir=task.workdir,
        env=task.env,
        listen=(CHECK_SOCKET,),
    )


def work_spec(copy: Path, task: GradeTask) -> BoxSpec:
    """The box where ``rolewall-check`` runs the work: the workspace and nothing else."""
    return BoxSpec(
        label="check",
        mounts=(ZoneMount("workspace", copy, writable=True),),
        absent=HIDDEN,
        image=task.image,
        limits=_limits(task),
        tap=False,
        workdir=task.workdir,
        env=task.env,
    )


def _limits(task: GradeTask) -> Limits:
    return Limits(phase_seconds=task.seconds, memory_mb=task.memory_mb)


@contextmanager
def grade_box(
    backend: Backend, room: Room, task: GradeTask, files: Mapping[str, bytes], places: Places
) -> Iterator[Box]:
    """Open the box; its closing kills all that the work started.

    Raises:
        InfrastructureError: it could not be made, or a work box could not: what the
            grader concluded from that says nothing of the work.
    """

    def snapshot() -> CheckCopy:
        copy = room.copies / secrets.token_hex(8)
        make_directory(copy)
        try:
            left = copy_tree(room.work, copy, special="leave out", hard_links=True)
        except RolewallError as error:
            # Work that runs in the grade box can cause this: the start state tells.
            raise BoxError(f"the work cannot be copied: {error}") from error
        return CheckCopy(copy, tuple(f"{found.name}: {found.why}" for found in left))

    def open_check(copy: Path) -> Box:
        return open_box(backend, work_spec(copy, task))

    with open_box(backend, grade_spec(room, task, files, places)) as box:
        listener = box.listeners.pop(CHECK_SOCKET)
        service = CheckService(listener, snapshot, open_check, task.seconds, task.workdir)
        try:
            yield box
            box.kill_all()
        finally:
            service.close()
        if service.trouble:
            raise service.trouble
