"""TeamBench's tasks here and by TeamBench itself: are the grades of untouched work the same?

    python bench/teambench.py REPO --out FILE [--tasks NAME…] [--seed N] [--jobs J]
        [--seconds S] [--backend B…] [--known FILE]

REPO is a checkout of TeamBench. Each of its tasks that has a grader is loaded, generated
for the seed, staged, run by a team that does nothing and whose verifier approves, and
graded, on each backend. Beside that, TeamBench's own code stages the task, and its own
grader is called as ``harness/grade_task.py`` calls it, in a plain bubblewrap without
network and with an empty /tmp: once with the Python packages that boxes of the image
``host`` have (``reference``), once with those of this machine (``machine``). A grader gets
S seconds everywhere. FILE gets all of it as JSON, and what it holds already is not done
again; the table counts where two agree, and names where not. The file of ``--known`` holds
grades that were measured before.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from teambench_reference import Cell, Reference, cell

from rolewall.errors import RolewallError
from rolewall.plan import make_plan
from rolewall.roles import Team, load_team
from rolewall.run import run_plan
from rolewall.sandbox import BACKENDS, Backend, find_backend
from rolewall.sandbox.runtime import runtime_directory
from rolewall.tasks import Task, generated_tasks, load_task

__all__ = ["main"]

TEAM = """
team: does-nothing
rounds: 1
limits: {phase_seconds: 60, memory_mb: 2048, pids: 512}
roles:
  planner: {agent: {script: nothing.yaml}}
  executor: {agent: {script: nothing.yaml}}
  verifier: {agent: {script: approve.yaml}}
"""
KNOWN = Path(__file__).parents[1] / "tests" / "tasks" / "data" / "teambench-untouched.json"
TOOLS = ("git", "node", "npm", "go", "java")
COLUMNS = ("bubblewrap", "docker", "reference", "machine", "known")
PAIRS = (
    ("bubblewrap", "docker"),
    ("bubblewrap", "reference"),
    ("docker", "reference"),
    ("reference", "machine"),
    ("machine", "known"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _arguments(arguments)
    results = Results(asked)
    with tempfile.TemporaryDirectory(prefix="rolewall-bench-") as made:
        scratch = Path(made).resolve()
        team = load_team(_team(scratch / "team"))
        for name in asked.backend or BACKENDS:
            ours = Ours(asked, results, team, find_backend(name), scratch)
            ours.prepare(results.todo(name))
            results.fill(name, ours.graded)
        reference = Reference(asked.repo, asked.seed, asked.seconds, scratch / "reference")
        results.fill("machine", lambda name: _reference(reference, results, name))
    for name, known in _known(asked.known):
        if name in results.rows:
            results.put(name, "known", known)
    print(_as_text(results.whole()))
    return 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("repo", type=lambda text: Path(text).resolve(), metavar="REPO")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--tasks", nargs="*", metavar="NAME", help="default: all with a grader")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--jobs", type=int, default=2, metavar="J", help="default: 2")
    parser.add_argument("--seconds", type=float, default=90.0, metavar="S", help="default: 90")
    parser.add_argument("--backend", action="append", metavar="B", help="default: both")
    parser.add_argument("--known", type=Path, metavar="FILE", default=KNOWN)
    return parser.parse_args(arguments)


class Results:
    """A row of cells for each task, kept in the file as they come."""

    def __init__(self, asked: argparse.Namespace) -> None:
        found = sorted(path.parent.name for path in (asked.repo / "tasks").glob("*/grade.sh"))
        there = json.loads(asked.out.read_text())["tasks"] if asked.out.exists() else {}
        self.rows: dict[str, dict[str, Any]] = {n: there.get(n, {}) for n in asked.tasks or found}
        self._asked, self._lock, self._machine = asked, threading.Lock(), _machine()

    def fill(self, column: str, make: Callable[[str], Cell]) -> None:
        """The cells of ``column`` that are not there, some at a time."""
        todo = self.todo(column)
        with ThreadPoolExecutor(self._asked.jobs) as pool:
            for name, made in zip(todo, pool.map(make, todo), strict=True):
                self.put(name, column, made)
                print(f"{column} {name}: {made['grade']}", file=sys.stderr, flush=True)

    def todo(self, column: str) -> list[str]:
        return [name for name, row in self.rows.items() if column not in row]

    def put(self, name: str, column: str, value: object) -> None:
        with self._lock:
            self.rows[name][column] = value
            self._asked.out.write_text(json.dumps(self.whole(), indent=1) + "\n")

    def whole(self) -> dict[str, Any]:
        asked = {"seed": self._asked.seed, "seconds": self._asked.seconds}
        return {"machine": self._machine, **asked, "tasks": self.rows}


class Ours:
    """Episodes on one backend, each a run of its own: what goes wrong with one task costs no
    other."""

    def __init__(
        self,
        asked: argparse.Namespace,
        results: Results,
        team: Team,
        backend: Backend,
        scratch: Path,
    ) -> None:
        self._asked, self._results, self._scratch = asked, results, scratch
        self._team, self._backend = team, backend
        self._tasks: dict[str, Task | str] = {}

    def prepare(self, names: Sequence[str]) -> None:
        """Make the starts, one at a time: a generator that fails ends all boxes there are."""
        for name in names:
            try:
                self._tasks[name] = self._task(name)
            except RolewallError as error:
                self._tasks[name] = str(error)

    def graded(self, name: str) -> Cell:
        task, out = self._tasks[name], self._scratch / f"{self._backend.name}-{name}"
        if isinstance(task, str):
            return cell("refused", None, [], task)
        try:
            return self._episode(task, out)
        except RolewallError as error:
            return cell("error", None, [], str(error))
        finally:
            shutil.rmtree(out, ignore_errors=True)

    def _task(self, name: str) -> Task:
        """The whole task; what its start holds is kept, to be set beside TeamBench's own."""
        task = load_task(self._asked.repo / "tasks" / name)
        task = replace(task, seconds=min(task.seconds, self._asked.seconds))
        made = generated_tasks([task], [self._asked.seed], self._backend)(task, self._asked.seed)
        self._results.put(name, "start", tree(made.workspace) if made.workspace else "")
        return made

    def _episode(self, task: Task, out: Path) -> Cell:
        seed = self._asked.seed
        plan = make_plan(self._team, [task], ["enforced"], self._backend, seed=seed)
        (record,) = run_plan(plan, out).records
        graded = record.verdicts[-1].grade_after if record.verdicts else record.final
        if record.error or graded is None:
            kind, why = (record.error.kind, record.error.message) if record.error else ("", "")
            return cell("error", None, [], f"{kind}: {why}")
        modes = graded.details.get("failure_modes", [])
        return cell(graded.grade, graded.score, modes, graded.why, graded.seconds)


def _team(root: Path) -> Path:
    root.mkdir()
    (root / "team.yaml").write_text(TEAM)
    (root / "nothing.yaml").write_text("{}\n")
    (root / "approve.yaml").write_text("verdict: approve\n")
    return root / "team.yaml"


def _reference(reference: Reference, results: Results, name: str) -> Cell:
    with reference.staged(name) as run:
        if isinstance(run, str):
            results.put(name, "reference", cell("unstaged", None, [], run))
            return cell("unstaged", None, [], run)
        same = results.rows[name].get("start") == tree(run / "workspace")
        results.put(name, "same start", same)
        results.put(name, "reference", reference.graded(name, run, machine=False))
        return reference.graded(name, run, machine=True)


def tree(root: Path) -> str:
    """SHA-256 over names and contents below ``root``, as links stand."""
    total = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.is_symlink() or p.is_file()):
        data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        total.update(f"{path.relative_to(root)} {hashlib.sha256(data).hexdigest()}\n".encode())
    return total.hexdigest()


def _known(path: Path) -> Iterator[tuple[str, Cell]]:
    for name, found in json.loads(path.read_text())["tasks"].items():
        grade = "none" if found["noscore"] else "pass" if found["pass"] else "fail"
        yield name, cell(grade, found["partial"], found["fm"])


def _machine() -> dict[str, str]:
    version = subprocess.run(
        ["docker", "version", "--format", "{{.Server.Version}}"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    packages = sorted(p.name for p in runtime_directory().glob("*.dist-info"))
    return {
        "system": f"{platform.platform()}, Python {platform.python_version()}",
        "docker": version.stdout.strip() or "none",
        "packages of the boxes": ", ".join(name.removesuffix(".dist-info") for name in packages),
        "tools": ", ".join(filter(shutil.which, TOOLS)),
    }


def _as_text(result: dict[str, Any]) -> str:
    rows = result["tasks"]
    lines = [f"{name}: {value}" for name, value in result["machine"].items()]
    lines.append(f"seed {result['seed']}, {len(rows)} tasks with a grader")
    for column in COLUMNS:
        counts = Counter(row[column]["grade"] for row in rows.values() if column in row)
        lines.append(f"{column}: " + ", ".join(f"{counts[g]} {g}" for g in sorted(counts)))
    same = Counter(row.get("same start") for row in rows.values())
    lines.append(f"starts that are TeamBench's, byte for byte: {same[True]}; not: {same[False]}")
    for first, second in PAIRS:
        lines += _agreement(rows, first, second)
    return "\n".join(lines)


def _agreement(rows: dict[str, dict[str, Any]], first: str, second: str) -> Iterator[str]:
    both = {n: (r[first], r[second]) for n, r in rows.items() if first in r and second in r}
    apart = {n: (a, b) for n, (a, b) in both.items() if _found(a) != _found(b)}
    grades = sum(a["grade"] == b["grade"] for a, b in both.values())
    yield (
        f"{first} and {second}: {len(both)} tasks, {grades} with the same grade, "
        f"{len(both) - len(apart)} with the same score and failure modes too"
    )
    for name, (a, b) in sorted(apart.items()):
        yield f"  {name}: {_short(a)} | {_short(b)}"


def _found(found: Cell) -> tuple[object, ...]:
    return found["grade"], found["score"], found["modes"]


def _short(found: Cell) -> str:
    words = [found["grade"], str(found["score"]), *found["modes"][:6], found["why"]]
    return " ".join(words)[:300]


if __name__ == "__main__":
    sys.exit(main())
