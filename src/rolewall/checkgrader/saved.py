"""The file in which checks of graders are kept, and what a run finds in it.

Whoever can write that file can forge it: it reminds people, and proves nothing.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from rolewall._files import load_json
from rolewall._validate import Strict, Version1, validate
from rolewall.checkgrader.findings import GraderCheck, Mark
from rolewall.code import code_version
from rolewall.errors import InputError
from rolewall.rundir import TaskRef
from rolewall.storage import canonical_json, read_capped, write_atomic
from rolewall.tasks import Task

__all__ = [
    "FILE",
    "SavedCheck",
    "find_checks",
    "grader_digest",
    "marked",
    "read_checks",
    "save_checks",
]

FILE = "grader-checks.json"
CAP = 16 << 20


class SavedCheck(Strict):
    """One check. It holds for this task, grader, image, backend and code of rolewall alone."""

    task: str
    digest: str
    grader: str
    image: str
    backend: str
    code: str
    rolewall: str
    time: Annotated[float, Field(ge=0, le=1e11)]
    mark: Literal["A", "B", "C", "U", "E", "F"]
    reasons: list[str]


class _File(Strict):
    schema_version: Version1
    checks: list[SavedCheck]


def grader_digest(task: Task) -> str:
    """SHA-256 over the task's ``grader:`` key and every file that the grade box gets."""
    files = sorted((file.target, file.sha256, file.executable) for file in task.grader_files)
    return hashlib.sha256(canonical_json([repr(task.grader), files])).hexdigest()


def read_checks(path: Path) -> list[SavedCheck]:
    """Raises RecordError or InputError: not such a file."""
    place = str(path)
    data = load_json(read_capped(path, CAP), place, max_bytes=CAP)
    checks = validate(_File, data, place).checks
    names = [check.task for check in checks]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError("a task is there twice", place=place, got=twice[0])
    return checks


def save_checks(
    path: Path, found: Iterable[GraderCheck], *, images: Mapping[str, str], backend: str
) -> None:
    """Put checks into the file, in place of earlier ones of the same tasks.

    Args:
        images: the image of each task's grade box.

    Raises:
        InputError: what stands there is no such file; it is left as it is.
        StorageError: it cannot be written.
    """
    kept = {check.task: check for check in read_checks(path)} if os.path.lexists(path) else {}
    for one in found:
        kept[one.task] = SavedCheck(
            task=one.task,
            digest=one.digest,
            grader=one.grader,
            image=images[one.task],
            backend=backend,
            code=code_version(),
            rolewall=metadata.version("rolewall"),
            time=round(time.time(), 3),
            mark=one.mark,
            reasons=list(one.reasons),
        )
    checks = [kept[name] for name in sorted(kept)]
    made = _File(schema_version=1, checks=checks)
    write_atomic(path, made.model_dump_json(indent=1).encode() + b"\n")


def find_checks(
    tasks: Sequence[Task], images: Mapping[str, str], backend: str, given: Path | None = None
) -> dict[str, Mark]:
    """The marks that still hold, by task: from the file ``given``, or else those beside the
    tasks. A check of another version of the task, its grader, rolewall, or of another image or
    backend is none.

    Args:
        images: the image of the grade box, by task.
        backend: its name.

    Raises:
        RecordError, InputError: a file is there and is none of this kind.
    """
    files: dict[Path, list[SavedCheck]] = {}
    marks: dict[str, Mark] = {}
    for task in tasks:
        path = given or task.directory.parent / FILE
        if given is None and not os.path.lexists(path):
            continue
        if path not in files:
            files[path] = read_checks(path)
        digests = (task.id, task.digest, grader_digest(task))
        wanted = (*digests, images[task.id], backend, code_version())
        for one in files[path]:
            bound = (one.task, one.digest, one.grader, one.image, one.backend, one.code)
            if bound == wanted:
                marks[task.id] = one.mark
    return marks


def marked(
    refs: Sequence[TaskRef], tasks: Sequence[Task], image: str, backend: str, given: Path | None
) -> tuple[TaskRef, ...]:
    """What ``run.json`` says of ``tasks``, with the marks that ``find_checks`` finds.

    Args:
        image: of a task that asks for none.
    """
    images = {task.id: task.image or image for task in tasks}
    marks = find_checks(tasks, images, backend, given)
    return tuple(ref.model_copy(update={"checked": marks.get(ref.id)}) for ref in refs)
