"""Grading a directory, for callers with work of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rolewall.errors import InputError
from rolewall.graders import GraderSpec, GradeTask, Grading, Submitted, grade, parse_grader
from rolewall.sandbox import Backend, copy_tree, find_backend, temporary_directory

__all__ = ["grade_directory"]


def grade_directory(
    directory: Path,
    grader: GraderSpec | Mapping[str, object],
    *,
    files: Path | None = None,
    start: Path | None = None,
    backend: str | Backend = "auto",
    image: str = "host",
    seconds: float = 300.0,
    memory_mb: int = 2048,
) -> Grading:
    """Grade the work in ``directory``, which is copied and never changed.

    Args:
        grader: what stands under ``grader:`` in a ``task.yaml``, as a mapping, or a spec.
        files: hidden tests and truth, at ``/grader`` in the grade box, read-only.
            They may not lie in ``directory``. None is an empty directory.
        start: the work before anybody touched it. Where the grader breaks on the
            work, it is graded too: if that works, the grade is ``fail (broke the
            grader)``, else ``error``. None judges by the work itself once more.
        backend: ``auto``, ``docker``, ``bubblewrap``, or a backend object.
        image: ``host`` or, on docker, the name of a local image.
        seconds: how long one grading may take.
        memory_mb: memory of the grade box, in mebibytes.

    Raises:
        InputError: a directory, the grader or the image is not acceptable.
        InfrastructureError: the grade box failed. That is nobody's grade.
    """
    spec = parse_grader(dict(grader), "grader") if isinstance(grader, Mapping) else grader
    _check(directory, files, start)
    ready = find_backend(backend) if isinstance(backend, str) else backend
    with _scratch() as scratch:
        hidden = files.resolve() if files else scratch / "no-files"
        return grade(
            Submitted(_copy(directory, scratch / "final")),
            spec,
            GradeTask(
                id=directory.name or "work",
                spec="",
                brief="",
                files=hidden,
                seconds=seconds,
                image=image,
                memory_mb=memory_mb,
            ),
            backend=ready,
            scratch=scratch / "room",
            start=lambda: _copy(start or directory, scratch / "start"),
        )


@contextmanager
def _scratch() -> Iterator[Path]:
    """A directory for one grading, removed afterwards whatever the work made of it."""
    with temporary_directory() as scratch:
        for name in ("room", "no-files"):
            (scratch / name).mkdir()
        yield scratch


def _check(directory: Path, files: Path | None, start: Path | None) -> None:
    for what, path in (("directory", directory), ("files", files), ("start", start)):
        if path is not None and not path.is_dir():
            raise InputError("not a directory", place=what, got=str(path))
    if files is not None and files.resolve().is_relative_to(directory.resolve()):
        raise InputError("the hidden tests lie in the work", place="files", got=str(files))


def _copy(source: Path, into: Path) -> Path:
    into.mkdir()
    copy_tree(source.resolve(), into, git=True)
    return into
