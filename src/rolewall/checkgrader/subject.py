"""What a task offers to shortcuts: modules to take over, tests to delete, words of its grader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from rolewall._beneath import Root
from rolewall.errors import TaskError
from rolewall.graders import CommandSpec, PytestSpec
from rolewall.mutants import Overlay
from rolewall.tasks import GraderFile, Task

__all__ = ["Subject", "look_at"]

MOST_SOURCE = 1 << 20
TEST_FOLDERS = frozenset(("test", "tests", "__tests__", "spec"))
TEST_FILE = re.compile(r"test_.*\.py|.*_test\.(py|go|sh)|.*\.(test|spec)\.[cm]?[jt]sx?|test_.*\.sh")
NAMED = re.compile(r"/(?:workspace|tmp)/[\w./+@-]+")
QUOTED = re.compile(r"\"([^\"\n]{1,80})\"|'([^'\n]{1,80})'")
MOST_NAMED, MOST_LITERALS = 100, 500
_SPECIAL = frozenset((".", "..", ".git"))
CODE = (".py", ".pyc", ".sh")
ANSWER = re.compile(r"out|expect|want|gold|truth|answer|result|correct|ref")
NOT_WORK = frozenset(("conftest.py", "setup.py", "sitecustomize.py", "usercustomize.py"))


@dataclass(frozen=True)
class Subject:
    """One task as shortcuts see it. Paths are relative to the workspace.

    Attributes:
        modules: Python files that are no tests, with their source; empty for those
            that only the solution, or ``work_modules``, brings.
        tests: files of tests. ``scripts``: shell scripts that are no tests.
        folders: directories that are not empty, the workspace itself (empty text) first.
        paths: every file and link.
        grader: what the grader says in its command and files, in lower case; ``said``: as it is.
        hidden: the grader's data files, relative to ``/grader``, likely answers first.
        solved: the paths that the solution touches.
    """

    modules: Mapping[str, bytes]
    tests: Mapping[str, bytes]
    scripts: Mapping[str, bytes]
    folders: tuple[str, ...]
    paths: frozenset[str]
    grader: str
    said: str = ""
    hidden: tuple[str, ...] = ()
    solved: frozenset[str] = frozenset()

    def grader_says(self, *words: str) -> bool:
        return any(word in self.grader for word in words)

    @property
    def named(self) -> tuple[str, ...]:
        """Absolute paths of the work, and below ``/tmp``, that the grader's text has."""
        found = dict.fromkeys(match[0].rstrip("./") for match in NAMED.finditer(self.said))
        return tuple(path for path in found if not _SPECIAL & set(path.split("/")))[:MOST_NAMED]

    @property
    def literals(self) -> tuple[str, ...]:
        """Short texts that stand in quotes in the grader."""
        found = (match[1] or match[2] for match in QUOTED.finditer(self.said))
        return tuple(dict.fromkeys(found))[:MOST_LITERALS]


def look_at(task: Task, solution: Overlay | None) -> Subject:
    """Raises TaskError when a file cannot be read."""
    found = _sources(task)
    paths = frozenset(found)
    python = {path: data for path, data in found.items() if path.endswith(".py")}
    tests = {path: data for path, data in found.items() if _is_test(path) and data is not None}
    work = {path: data for path, data in python.items() if data is not None and _is_work(path)}
    brought = dict.fromkeys(_brought(task, solution) - paths, b"")
    return Subject(
        modules={**brought, **work},
        tests=tests,
        scripts={
            path: data
            for path, data in found.items()
            if data is not None and not _is_test(path) and _is_script(path, data)
        },
        folders=_folders(paths),
        paths=paths,
        grader=(said := _words(task)).lower(),
        said=said,
        hidden=_data_files(task),
        solved=frozenset(solution.paths) if solution else frozenset(),
    )


def _data_files(task: Task) -> tuple[str, ...]:
    found = [file.target for file in task.grader_files if not file.target.endswith(CODE)]
    return tuple(sorted(found, key=lambda path: (not ANSWER.search(path.lower()), path)))


def _sources(task: Task) -> dict[str, bytes | None]:
    """Every file and link of the workspace; the contents of regular files of moderate size."""
    if task.workspace is None:
        return {}
    found: dict[str, bytes | None] = {}
    with Root(task.workspace, TaskError) as root:
        for entry in root.walk(skip=frozenset((".git", "__pycache__"))):
            if entry.kind == "file" and entry.stat.st_size <= MOST_SOURCE:
                found[entry.path] = root.read(entry.path, MOST_SOURCE)
            elif entry.kind != "directory":
                found[entry.path] = None
    return found


def _folders(paths: Iterable[str]) -> tuple[str, ...]:
    above = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
    return ("", *sorted(above - {"."}))


def _brought(task: Task, solution: Overlay | None) -> set[str]:
    """Python files that right work has and the untouched workspace may lack."""
    added = {path for path in solution.files if path.endswith(".py")} if solution else set()
    if isinstance(task.grader, PytestSpec):
        added |= {f"{module}.py" for module in task.grader.work_modules}
    return {path for path in added if _is_work(path)}


def _is_test(path: str) -> bool:
    *folders, name = path.split("/")
    return bool(TEST_FOLDERS & set(folders)) or TEST_FILE.fullmatch(name) is not None


def _is_work(path: str) -> bool:
    return not _is_test(path) and path.rpartition("/")[2] not in NOT_WORK


def _is_script(path: str, data: bytes) -> bool:
    first = data.partition(b"\n")[0]
    return path.endswith((".sh", ".bash")) or (first.startswith(b"#!") and first.endswith(b"sh"))


def _words(task: Task) -> str:
    spec = task.grader
    said: list[str] = []
    if isinstance(spec, PytestSpec):
        said.append("python3 pytest")
    elif isinstance(spec, CommandSpec):
        said += spec.run
    else:
        said.append("bash score.json")
    said += _texts(file for file in task.grader_files if "/workspace/" not in f"/{file.target}")
    return "\n".join(said)


def _texts(hidden: Iterable[GraderFile]) -> list[str]:
    texts = []
    for file in hidden:
        with Root(file.root, TaskError) as root:
            found = root.stat(file.source)
            if found is not None and found.st_size <= MOST_SOURCE:
                texts.append(root.read(file.source, MOST_SOURCE).decode("utf-8", "replace"))
    return texts
