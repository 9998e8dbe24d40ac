"""A TeamBench task for one seed, out of what its generator or ``setup.sh`` made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rolewall._beneath import Root
from rolewall.errors import TaskError
from rolewall.graders import ScriptSpec
from rolewall.tasks.model import GraderFile, Recipe, Task, read_text

__all__ = ["instance_of"]

_EXPECTED = "reports/expected.json"
_TEXTS = ("spec.md", "brief.md")
_TELLING = 16  # bytes; a shorter file says nothing that could not stand elsewhere by chance


def instance_of(
    task: Task, recipe: Recipe, root: Root, made: Mapping[str, GraderFile], digest: str, seed: int
) -> Task:
    """The whole task.

    Args:
        task: the one that ``recipe`` is of.
        root: what was made: ``workspace``, ``reports`` and ``told``.
        made: its regular files.
        digest: of all of it.

    Raises:
        TaskError: what was made is no start of a task.
    """
    generated = recipe.kind == "generator"
    if generated and _EXPECTED not in made:
        raise TaskError("does not exist", place=root.place(_EXPECTED), expected="the truth")
    told = {name: read_text(root, f"told/{name}") for name in _TEXTS} if generated else {}
    folder = f"tasks/{task.id}"
    placed = {file.target: file for file in task.grader_files}
    for name in told:
        placed[f"{folder}/{name}"] = replace(made[f"told/{name}"], target=f"{folder}/{name}")
    if _EXPECTED in made:
        placed[_EXPECTED] = replace(made[_EXPECTED], target=_EXPECTED)
    whole = f"instance 1 {task.digest} {seed} {digest}"
    return replace(
        task,
        spec=told.get("spec.md", task.spec),
        brief=told.get("brief.md", task.brief),
        workspace=root.path / "workspace",
        grader=ScriptSpec(f"{folder}/grade.sh", expected=_EXPECTED if _EXPECTED in made else None),
        grader_files=tuple(placed.values()),
        digest=hashlib.sha256(whole.encode()).hexdigest(),
        notes=(*task.notes, *_notes(recipe, root, made, seed)),
        recipe=None,
    )


def _notes(recipe: Recipe, root: Root, made: Mapping[str, GraderFile], seed: int) -> Iterator[str]:
    if recipe.seeds and seed not in recipe.seeds:
        named = ", ".join(map(str, recipe.seeds[:20]))
        yield f"seed {seed} is none of those that the task names: {named}"
    for name, file in made.items():
        if name.startswith("reports/") and name != _EXPECTED:
            yield f"{name}, made with the start, is not put into the grade box"
        if name.startswith("workspace/") and _tells(root, file, made.get(_EXPECTED)):
            yield f"{name} shows every role what the grader expects, word for word"


def _tells(root: Root, file: GraderFile, expected: GraderFile | None) -> bool:
    if expected is None or file.sha256 != expected.sha256:
        return False
    found = root.stat(file.source)
    return found is not None and found.st_size >= _TELLING
