"""Harbor's task layout, which Terminal-Bench 2 has too, taken as it is.

::

    ID/task.toml  instruction.md  tests/test.sh …  environment/Dockerfile …  solution/

A task is loaded from its files alone, and asks for an image. What its workspace holds, and
where that is, says the image: ``image_starts`` completes the task once a backend is chosen
and images are granted.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace

from rolewall._beneath import Entry, Root
from rolewall.errors import TaskError
from rolewall.graders import HarborSpec
from rolewall.tasks.harborfile import FILE, HarborFile, read_file
from rolewall.tasks.harborscan import fetching
from rolewall.tasks.model import GraderFile, Task, fingerprint, read_text

__all__ = ["FILE", "is_harbor", "load_harbor", "local_image"]

INSTRUCTION, TESTS, TEST = "instruction.md", "tests", "test.sh"
DOCKERFILE = "environment/Dockerfile"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_MANY = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
_SCRIPTS = (".sh", ".bash")
_MOST_SCRIPT = 1 << 20


def is_harbor(root: Root) -> bool:
    """Whether a directory is one of Harbor's tasks."""
    return root.kind(FILE) is not None


def local_image(name: str) -> str:
    """The name under which Harbor itself keeps the image that it builds for a task."""
    return f"hb__{name.lower()}"


def load_harbor(root: Root) -> Task:
    """The task beneath ``root``, which has a ``task.toml``; its start is not known yet.

    Raises:
        TaskError: a file is missing or not acceptable, or it asks for what cannot be had.
    """
    name = root.path.name
    if not _ID.match(name):
        raise TaskError(
            "the directory's name cannot be a task's id", place=root.place(""), expected=_ID.pattern
        )
    file = read_file(root)
    _need_one_container(root)
    if root.kind("steps") is not None:
        raise TaskError("a task of several steps is not supported", place=root.place("steps"))
    digest, files = fingerprint(root, list(_entries(root)))
    hidden = tuple(_hidden(files))
    fetches = fetching(_scripts(root, hidden))
    instruction = read_text(root, INSTRUCTION)
    return Task(
        id=name,
        directory=root.path,
        origin="harbor",
        spec=instruction,
        brief=instruction,
        workspace=None,
        grader=HarborSpec(run=TEST, env=tuple(sorted(file.verifier.env.items())), fetches=fetches),
        grader_files=hidden,
        seconds=file.agent.timeout_sec,
        network=(),
        image=_image(root, file),
        solution=None,
        digest=digest,
        notes=tuple(_notes(root, file, fetches)),
        grader_seconds=file.verifier.timeout_sec,
        workdir=file.environment.workdir,
        env=tuple(sorted(file.environment.env.items())),
    )


def _need_one_container(root: Root) -> None:
    for name in _MANY:
        if root.kind(f"environment/{name}") is not None:
            raise TaskError(
                "an environment of several containers is not supported",
                place=root.place(f"environment/{name}"),
                hint="run this task with Harbor itself",
            )


def _image(root: Root, file: HarborFile) -> str:
    if file.environment.docker_image:
        return file.environment.docker_image
    if root.kind(DOCKERFILE) is None:
        raise TaskError(
            "the task names no image",
            place=root.place(FILE),
            expected=f"environment.docker_image, or {root.place(DOCKERFILE)}",
        )
    return local_image(root.path.name)


def _entries(root: Root) -> Iterator[Entry]:
    """What a grade and an agent depend on. The image has the rest, and the solution none."""
    for name in (FILE, INSTRUCTION, TESTS, f"{TESTS}/{TEST}"):
        found = root.stat(name)
        wanted = "directory" if name == TESTS else "file"
        kind = None if found is None else Entry.of(name, found).kind
        if found is None or kind != wanted:
            raise TaskError(
                "does not exist" if found is None else f"not a {wanted}",
                place=root.place(name),
                got=kind,
                expected=f"a {wanted}",
            )
        if name in (FILE, INSTRUCTION):
            yield Entry.of(name, found)
    for entry in root.walk(TESTS, skip=frozenset({"__pycache__"})):
        if entry.kind not in ("file", "directory"):
            raise TaskError(
                f"a {entry.kind} in a task is not followed",
                place=root.place(entry.path),
                got=entry.kind,
                expected="regular files and directories",
            )
        yield entry


def _hidden(files: dict[str, GraderFile]) -> Iterator[GraderFile]:
    for path, file in files.items():
        if path.startswith(f"{TESTS}/"):
            target = path.removeprefix(f"{TESTS}/")
            # Archives and repositories lose the mode; Harbor makes it one that can run, too.
            yield replace(file, target=target, executable=file.executable or target == TEST)


def _scripts(root: Root, hidden: tuple[GraderFile, ...]) -> Iterator[str]:
    for file in hidden:
        found = root.stat(file.source)
        if file.source.endswith(_SCRIPTS) and found and found.st_size <= _MOST_SCRIPT:
            yield root.read(file.source, _MOST_SCRIPT).decode("utf-8", "replace")


def _notes(root: Root, file: HarborFile, fetches: tuple[str, ...]) -> Iterator[str]:
    yield from file.notes()
    if fetches:
        yield f"its tests call {', '.join(fetches)}: what those fetch must be in the image"
    if root.kind("solution") is not None:
        yield "solution/ is a program and is not used: no calibration, no check with a solution"


def completed(task: Task, image: str, parts: list[str]) -> str:
    """The digest of ``task`` with the start that the image with id ``image`` gives it."""
    total = hashlib.sha256(f"{task.digest} {image}".encode())
    for part in parts:
        total.update(f" {len(part)} {part}".encode("utf-8", "surrogateescape"))
    return total.hexdigest()
