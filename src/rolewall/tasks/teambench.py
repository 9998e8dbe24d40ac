"""TeamBench's task layout, taken as it is.

::

    ROOT/tasks/ID/task.yaml  spec.md  brief.md  grade.sh  workspace/
    ROOT/harness/grader_helpers.sh      where grade.sh asks for it

Tasks whose workspace or specification a program generates are refused: their
generators would have to run on the host. ``setup.sh`` is not run either; that
stands in the task's notes.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Annotated

from pydantic import ConfigDict, Field

from rolewall._beneath import Root
from rolewall._validate import Strict, validate
from rolewall.errors import TaskError
from rolewall.graders import ScriptSpec
from rolewall.tasks.model import GraderFile, Task, checked_entries, fingerprint, read_text

__all__ = ["load_teambench"]

_HELPER = "harness/grader_helpers.sh"
_GENERATED = ("spec.md", "brief.md", "workspace")


class _TaskFile(Strict):
    """The keys that mean something here; the format is another project's, so others may stand
    beside them."""

    model_config = ConfigDict(extra="ignore")

    task_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    time_limit_sec: Annotated[float, Field(gt=0, le=86_400)] = 900.0
    network: bool = False
    parameterized: bool = False


def load_teambench(root: Root, data: object) -> Task:
    """The task beneath ``root``, whose ``task.yaml`` holds ``data``.

    Raises:
        TaskError: a file is missing, the task is generated, or a known key has a wrong type.
    """
    file = validate(_TaskFile, data, root.place("task.yaml"), TaskError)
    for name in _GENERATED:
        _need(root, name)
    if root.kind("grade.sh") is None:
        raise TaskError("does not exist", place=root.place("grade.sh"), expected="the grader")
    digest, files = fingerprint(root, list(checked_entries(root)))
    folder = f"tasks/{file.task_id}"
    hidden = [replace(found, target=f"{folder}/{path}") for path, found in files.items()]
    helper = _helper(root)
    if helper is not None:
        hidden.append(helper)
        digest = hashlib.sha256(f"{digest} {helper.sha256}".encode()).hexdigest()
    return Task(
        id=file.task_id,
        directory=root.path,
        origin="teambench",
        spec=read_text(root, "spec.md"),
        brief=read_text(root, "brief.md"),
        workspace=root.path / "workspace",
        grader=ScriptSpec(run=f"{folder}/grade.sh"),
        grader_files=tuple(hidden),
        seconds=file.time_limit_sec,
        network=(),
        image=None,
        solution=None,
        digest=digest,
        notes=tuple(_notes(root, file)),
    )


def _need(root: Root, name: str) -> None:
    wanted = "directory" if name == "workspace" else "file"
    kind = root.kind(name)
    if kind is None:
        raise TaskError(
            "generated tasks are not supported in this version",
            place=root.place("task.yaml"),
            got=f"no {name}",
            expected=f"a static {wanted} {root.place(name)}",
        )
    if kind != wanted:
        raise TaskError(f"not a {wanted}", place=root.place(name), got=kind, expected=wanted)


def _helper(root: Root) -> GraderFile | None:
    """The shared functions that ``grade.sh`` sources from two directories up, if it does."""
    if b"grader_helpers.sh" not in root.read("grade.sh", 1 << 20):
        return None
    with Root(root.path.parent.parent, TaskError) as above:
        data = above.read(_HELPER, 1 << 20)
        digest = hashlib.sha256(data).hexdigest()
        return GraderFile(_HELPER, above.path, _HELPER, digest, executable=False)


def _notes(root: Root, file: _TaskFile) -> list[str]:
    notes = []
    if root.kind("setup.sh") is not None:
        notes.append("setup.sh is not run; the start state is workspace/ as it is")
    if file.network:
        notes.append("network: true is not granted; name destinations in the team")
    if file.parameterized:
        notes.append("no seed is applied; the static files are used")
    return notes
