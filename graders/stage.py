"""The directories of a grade box: made new, after every role is gone."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rolewall.errors import BoxError, StorageError, TaskError
from rolewall.graders.links import remove_leading_out
from rolewall.graders.protocol import GradeTask, Submitted
from rolewall.policies import escape, shorten
from rolewall.sandbox import copy_tree, reopen, walk

__all__ = ["Room", "make_room"]


@dataclass(frozen=True)
class Room:
    """One grading's directories on the host.

    ``work`` and ``reports`` are writable in the box, all else is read-only.
    ``report`` is the executor's report, or None. ``removed_links`` are paths
    of the work that led out of it, escaped. ``digest`` is of the hidden tests;
    ``copies`` is where copies of the work for ``rolewall-check`` go.
    """

    work: Path
    reports: Path
    submission: Path
    grader: Path
    spec: Path
    brief: Path
    copies: Path
    report: Path | None
    removed_links: tuple[str, ...]
    digest: str

    def check_unchanged(self) -> None:
        """Raises BoxError when the hidden tests are not what was staged."""
        if _digest(self.grader) != self.digest:
            raise BoxError("the hidden tests changed during grading", place=str(self.grader))


def make_room(
    path: Path,
    task: GradeTask,
    given: Submitted,
    into_reports: Mapping[str, str],
    directories: Sequence[str] = (),
) -> Room:
    """Make the directories below ``path``, which must not exist.

    Nothing that roles left takes the place of a result: ``reports`` is new and
    holds only what the task itself puts there.

    Raises:
        TaskError: the grader's files hold something that is no file, or lack one.
        StorageError: the directories cannot be made.
    """
    try:
        names = ("reports", "submission", "grader", "spec", "brief", "copies")
        made = {name: path / name for name in names}
        for directory in (path, *made.values()):
            directory.mkdir(mode=0o755)
        copy_tree(task.files, made["grader"], git=True)
        (made["spec"] / "spec.md").write_text(task.spec, encoding="utf-8")
        (made["brief"] / "brief.md").write_text(task.brief, encoding="utf-8")
        for name in directories:
            (made["reports"] / name).mkdir(mode=0o755)
        for name, source in into_reports.items():
            _copy_one(made["grader"] / source, made["reports"] / name)
        links = [shorten(escape(path)) for path in remove_leading_out(given.work, task.workdir)]
        made["submission"] = given.submission or made["submission"]
        digest = _digest(made["grader"])
    except OSError as error:
        raise StorageError(
            f"the grade box's files cannot be made: {error.strerror}", place=str(error.filename)
        ) from error
    return Room(
        work=given.work, report=given.report, removed_links=tuple(links), digest=digest, **made
    )


def _copy_one(source: Path, target: Path) -> None:
    if not source.is_file():
        raise TaskError("the grader lacks a file", place=source.name, expected="a regular file")
    shutil.copyfile(source, target, follow_symlinks=False)


def _digest(directory: Path) -> str:
    """SHA-256 over names, kinds and contents; only files and directories are accepted."""
    total = hashlib.sha256()
    for node in walk(directory):
        if node.kind not in ("file", "dir"):
            name = node.path.decode("utf-8", "backslashreplace")
            raise TaskError("not a file or directory", place=f"grader/{name}", got=node.kind)
        if node.leaving:
            continue
        content = b""
        if node.kind == "file":
            with os.fdopen(reopen(node.fd, os.O_RDONLY), "rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
        total.update(b"%d:%b%b:%b" % (len(node.path), node.path, node.kind.encode(), content))
    return total.hexdigest()
