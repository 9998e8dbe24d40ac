"""Tasks whose start is what their image holds: taken out of it before anything runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from rolewall._beneath import Root
from rolewall.errors import InputError, TaskError
from rolewall.graders import HarborSpec
from rolewall.policies import ROLES, condition
from rolewall.sandbox import (
    WORKSPACE,
    Backend,
    ImageFacts,
    Images,
    check_workdir,
    images_of,
    make_directory,
    temporary_directory,
)
from rolewall.tasks.harbor import DOCKERFILE, completed, local_image
from rolewall.tasks.harborscan import MOST_NAMED, places_outside
from rolewall.tasks.model import Task

__all__ = ["image_starts"]

GRADE_ZONES = ("tests", "logs", "reports", "submission")
# What a box sets for itself, or what would tell programs of another box.
OWN = frozenset(("HOME", "HOSTNAME", "OLDPWD", "PWD", "SHLVL", "TERM", "TMPDIR", "USER"))
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OWN_BEGINNINGS = ("GIT_", "ROLEWALL_")


@contextmanager
def image_starts(tasks: Sequence[Task], backend: Backend, *, granted: bool) -> Iterator[list[Task]]:
    """``tasks``, and those of Harbor's with the start, the place and the environment that
    their image gives them, as long as the context lasts.

    Args:
        granted: whether tasks may choose their image. Otherwise they are left as they are,
            for whoever refuses them.

    Raises:
        TaskError: an image is not there, with the command that gets it, or the task cannot
            be had with it.
        InputError: the backend has no images.
        InfrastructureError: the engine or the disk failed.
    """
    if not granted or not any(task.origin == "harbor" for task in tasks):
        yield list(tasks)
        return
    with temporary_directory() as scratch:
        starts = _Starts(_images(backend), scratch)
        yield [starts.complete(task) if task.origin == "harbor" else task for task in tasks]


def _images(backend: Backend) -> Images:
    try:
        return images_of(backend)
    except InputError as error:
        error.message = f"Harbor's tasks need an image: {error.message}"
        raise


class _Starts:
    """Starts below ``scratch``, one for each image and directory."""

    def __init__(self, images: Images, scratch: Path) -> None:
        self._images = images
        self._scratch = scratch
        self._made: dict[tuple[str, str], tuple[Path, list[str]]] = {}

    def complete(self, task: Task) -> Task:
        place = str(task.directory / task.file)
        facts = self._facts(task, place)
        cwd = str(PurePosixPath(task.workdir or facts.workdir))
        try:
            _check_apart(cwd, place)
            check_workdir(cwd, _zones(), f"{place}, image {facts.name}")
            start, left = self._start(facts, cwd)
        except InputError as error:
            raise TaskError(
                f"the image's work directory cannot be a workspace: {error.message}",
                place=error.place,
                got=error.got,
                expected=error.expected,
                hint="see docs/harbor.md for what can",
            ) from None
        env = _environment(facts.env) | dict(task.env)
        grader = task.grader
        assert isinstance(grader, HarborSpec)
        # The tests bring what they need: the box's own pytest would stand before theirs.
        inside = {
            "PATH": env.get("PATH", DEFAULT_PATH),
            "PYTHONPATH": env.get("PYTHONPATH", ""),
            "PYTEST_ADDOPTS": "-o cache_dir=/tmp/pytest-cache",
        }
        return dataclasses.replace(
            task,
            workspace=start,
            workdir=cwd,
            env=tuple(sorted(env.items())),
            grader=dataclasses.replace(
                grader, cwd=cwd, env=tuple(sorted({**inside, **dict(grader.env)}.items()))
            ),
            digest=completed(task, facts.id, [cwd]),
            notes=(*task.notes, *_notes(task, cwd, start, left)),
        )

    def _facts(self, task: Task, place: str) -> ImageFacts:
        assert task.image is not None
        try:
            return self._images.image_facts(task.image)
        except InputError as error:
            error.place = place
            if task.image == local_image(task.directory.name):
                context = str((task.directory / DOCKERFILE).parent)
                error.hint = f"make it: `docker build -t {task.image} {context}`"
            raise

    def _start(self, facts: ImageFacts, path: str) -> tuple[Path, list[str]]:
        key = (facts.id, path)
        if key not in self._made:
            into = self._scratch / f"start-{len(self._made)}"
            make_directory(into)
            self._made[key] = (into, self._images.copy_out(facts, path, into))
        return self._made[key]


def _check_apart(cwd: str, place: str) -> None:
    """The zone itself may be the image's place of work: its verdicts are then recorded as made
    beside the work. Nothing can be mounted below it."""
    if cwd != WORKSPACE and PurePosixPath(cwd).is_relative_to(WORKSPACE):
        raise InputError(
            f"below {WORKSPACE}, where roles write",
            place=place,
            got=cwd,
            expected=f"{WORKSPACE} itself, or a directory of the image's own, such as /app",
        )


def _zones() -> tuple[str, ...]:
    names = [zone.name for zone in condition("enforced")(ROLES).zones]
    return (*(name for name in names if f"/{name}" != WORKSPACE), *GRADE_ZONES)


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in env.items()
        if name and name not in OWN and not name.startswith(OWN_BEGINNINGS)
    }


def _notes(task: Task, cwd: str, start: Path, left: list[str]) -> Iterator[str]:
    with Root(start, TaskError) as root:
        if root.kind(".git") is not None:
            yield f"{cwd}/.git is left out: the workspace has a new repository of one commit"
    yield from (f"{cwd}: {line}" for line in left[:MOST_NAMED])
    outside = places_outside(task.spec, cwd)
    if outside:
        named = ", ".join(outside[:MOST_NAMED])
        more = f" and {len(outside) - MOST_NAMED} more" if len(outside) > MOST_NAMED else ""
        yield f"names places outside {cwd}, which no role can change for the tests: {named}{more}"
