"""``rolewall``'s own task layout."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from rolewall._beneath import Root
from rolewall._validate import Strict, validate
from rolewall.critical import Critical, unique_items
from rolewall.errors import TaskError
from rolewall.graders import CommandSpec, GraderSpec, PytestSpec, ScriptSpec, parse_grader
from rolewall.policies import TEAM_ROLES, HostPort, parse_host_port
from rolewall.roles import Condition
from rolewall.tasks.model import GraderFile, Task, checked_entries, fingerprint, read_text

__all__ = ["load_native"]

DEFAULT_SECONDS = 300.0


class _NetworkFile(Strict):
    allow: list[str] = Field(default_factory=list, max_length=100)


def _conditions(found: list[Condition]) -> list[Condition]:
    """Of the task's author, so that a slip is refused and binds nobody for good."""
    names: set[str] = set()
    for one in found:
        if one.id in names:
            raise ValueError(f"condition {one.id!r} is there twice")
        names.add(one.id)
        if one.authority not in TEAM_ROLES:
            known = ", ".join(TEAM_ROLES)
            raise ValueError(
                f"condition {one.id!r} has no role for its authority, not one of {known}"
            )
        if one.status != "open":
            raise ValueError(f"condition {one.id!r} is {one.status}: what a task brings is open")
    return found


class _TaskFile(Strict):
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    grader: dict[str, Any]
    seconds: Annotated[float, Field(gt=0, le=86_400)] = DEFAULT_SECONDS
    network: _NetworkFile = _NetworkFile()
    image: Annotated[str, Field(min_length=1, max_length=512, pattern=r"^\S+$")] | None = None
    conditions: Annotated[list[Condition], Field(max_length=100), AfterValidator(_conditions)] = (
        Field(default_factory=list)
    )
    critical: Annotated[list[Critical], Field(max_length=100), AfterValidator(unique_items)] = (
        Field(default_factory=list)
    )


def load_native(root: Root, data: object) -> Task:
    """The task beneath ``root``, whose ``task.yaml`` holds ``data``.

    Raises:
        TaskError: a key, value or file that is missing, unknown or not acceptable.
    """
    place = root.place("task.yaml")
    file = validate(_TaskFile, data, place, TaskError)
    grader = parse_grader(file.grader, f"{place}: grader")
    _need_directory(root, "grader")
    entries = list(checked_entries(root))
    digest, files = fingerprint(root, entries)
    hidden = _hidden(files)
    _check_grader(grader, hidden, f"{place}: grader")
    return Task(
        id=file.id,
        directory=root.path,
        origin="native",
        spec=read_text(root, "spec.md"),
        brief=read_text(root, "brief.md"),
        workspace=_directory(root, "workspace"),
        grader=grader,
        grader_files=tuple(hidden.values()),
        seconds=file.seconds,
        network=_network(file, place),
        image=file.image,
        solution=_directory(root, "solution"),
        digest=digest,
        conditions=tuple(file.conditions),
        critical=tuple(file.critical),
    )


def _network(file: _TaskFile, place: str) -> tuple[HostPort, ...]:
    return tuple(
        parse_host_port(text, f"{place}: network.allow[{index}]", TaskError)
        for index, text in enumerate(file.network.allow)
    )


def _hidden(files: dict[str, GraderFile]) -> dict[str, GraderFile]:
    inside = [file for path, file in files.items() if path.startswith("grader/")]
    placed = [replace(file, target=file.source.removeprefix("grader/")) for file in inside]
    return {file.target: file for file in placed}


def _check_grader(grader: GraderSpec, hidden: dict[str, GraderFile], place: str) -> None:
    """Every file that the grader names is there, so that a slip is no grader error later."""
    if isinstance(grader, PytestSpec):
        named = grader.tests
    elif isinstance(grader, CommandSpec):
        words = (word for word in grader.run if word.startswith("/grader/"))
        named = tuple(word.removeprefix("/grader/") for word in words)
    elif isinstance(grader, ScriptSpec):
        named = (grader.run, grader.expected) if grader.expected else (grader.run,)
    else:
        named = (grader.run,)
    for name in named:
        if name not in hidden:
            there = ", ".join(sorted(hidden)[:20]) or "none"
            raise TaskError(
                "no such file in grader/", place=place, got=name, expected=f"one of: {there}"
            )


def _need_directory(root: Root, name: str) -> None:
    if _directory(root, name) is None:
        raise TaskError("does not exist", place=root.place(name), expected="a directory")


def _directory(root: Root, name: str) -> Path | None:
    kind = root.kind(name)
    if kind in (None, "directory"):
        return root.path / name if kind else None
    raise TaskError("not a directory", place=root.place(name), got=kind, expected="a directory")
