"""TeamBench's task layout, taken as it is.

::

    ROOT/tasks/NAME/task.yaml  spec.md  brief.md  grade.sh  setup.sh  workspace/
    ROOT/generators/gen_NAME.py  base.py …    what makes them for a seed, where there is one
    ROOT/datasets/                            what generators read
    ROOT/harness/grader_helpers.sh            where grade.sh asks for it

What TeamBench's ``harness/run_task.py`` does with such a directory is done here: the
static workspace is laid down first; then the task's generator writes over it, and brings
specification, brief and what the grader expects; a task without a generator has its
``setup.sh`` run instead. Either program is a stranger's: it runs in a box, which
``generated_tasks`` opens, and nothing of it runs when a task is loaded.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from rolewall._beneath import Root
from rolewall._validate import Strict, validate
from rolewall.errors import TaskError
from rolewall.graders import ScriptSpec
from rolewall.tasks.model import GraderFile, Recipe, Task, checked_entries, fingerprint, read_text
from rolewall.tasks.teambench_notes import notes_of
from rolewall.tasks.teambench_recipe import recipe_of

__all__ = ["GRADER", "is_teambench", "load_teambench"]

GRADER = "grade.sh"
_HELPER = "harness/grader_helpers.sh"
_TEXTS = ("spec.md", "brief.md")
_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


class _TaskFile(Strict):
    """The keys that mean something here; the format is another project's, so others may stand
    beside them."""

    model_config = ConfigDict(extra="allow")

    task_id: Annotated[str, Field(pattern=_ID)]
    time_limit_sec: Annotated[float, Field(gt=0, le=86_400)] = 900.0
    network: bool = False
    parameterized: bool = False
    seeds: Annotated[list[int], Field(max_length=10_000)] = Field(default_factory=list)
    roles: Annotated[list[str], Field(max_length=100)] = Field(default_factory=list)


def is_teambench(root: Root) -> bool:
    """Whether a directory without a ``task.yaml`` is one of TeamBench's tasks: a generator
    brings all that is not its grader."""
    return root.kind(GRADER) is not None and recipe_of(root, {}) is not None


def load_teambench(root: Root, data: object) -> Task:
    """The task beneath ``root``, whose ``task.yaml`` holds ``data``; None where it has none.

    Raises:
        TaskError: it has no grader, a file is missing and nothing makes it, or a known key
            has a wrong type.
    """
    place = root.place("task.yaml")
    if data is None:
        data = {"task_id": root.path.name}
    file = validate(_TaskFile, data, place, TaskError)
    if root.kind(GRADER) is None:
        raise TaskError("does not exist", place=root.place(GRADER), expected="the task's grader")
    digest, files = fingerprint(root, list(checked_entries(root)))
    recipe = recipe_of(root, files, tuple(file.seeds))
    _need_all(root, recipe)
    folder = f"tasks/{file.task_id}"
    hidden = [replace(found, target=f"{folder}/{path}") for path, found in files.items()]
    further = [helper] if (helper := _helper(root)) else []
    return Task(
        id=file.task_id,
        directory=root.path,
        origin="teambench",
        spec=_text(root, "spec.md"),
        brief=_text(root, "brief.md"),
        workspace=root.path / "workspace" if root.kind("workspace") else None,
        grader=ScriptSpec(run=f"{folder}/{GRADER}"),
        grader_files=(*hidden, *further),
        seconds=file.time_limit_sec,
        network=(),
        image=None,
        solution=None,
        digest=_digest(digest, (*further, *(recipe.inputs if recipe else ()))),
        notes=tuple(notes_of(root, _said(file), recipe)),
        recipe=recipe,
    )


def _need_all(root: Root, recipe: Recipe | None) -> None:
    """Refuse what is there in another form, and what is not there and nothing makes."""
    generated = recipe is not None and recipe.kind == "generator"
    for name in (*_TEXTS, "workspace"):
        wanted = "directory" if name == "workspace" else "file"
        kind = root.kind(name)
        if kind not in (None, wanted):
            raise TaskError(f"not a {wanted}", place=root.place(name), got=kind, expected=wanted)
        made = generated or (recipe is not None and name == "workspace")
        if kind is None and not made:
            raise TaskError(
                "neither there nor generated",
                place=root.place(name),
                got=f"no generators/gen_{root.path.name.lower()}.py two directories up",
                expected=f"the {wanted}, or what makes it",
            )


def _text(root: Root, name: str) -> str:
    return read_text(root, name) if root.kind(name) else ""


def _helper(root: Root) -> GraderFile | None:
    """The shared functions that ``grade.sh`` sources from two directories up, if it does."""
    if b"grader_helpers.sh" not in root.read(GRADER, 1 << 20):
        return None
    with Root(root.path.parent.parent, TaskError) as above:
        data = above.read(_HELPER, 1 << 20)
        digest = hashlib.sha256(data).hexdigest()
        return GraderFile(_HELPER, above.path, _HELPER, digest, executable=False)


def _digest(own: str, further: tuple[GraderFile, ...]) -> str:
    """Of the directory, and of what the task takes from outside it."""
    if not further:
        return own
    total = hashlib.sha256(own.encode())
    for file in further:
        total.update(f" {file.target} {file.sha256}".encode())
    return total.hexdigest()


def _said(file: _TaskFile) -> dict[str, Any]:
    return file.model_dump()
