"""A small directory of our own in TeamBench's layout, with generators in its protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

__all__ = ["Bench"]

BASE = """
import json, os


class Made:
    def __init__(self, spec_md, brief_md, expected, workspace_files):
        self.spec_md, self.brief_md = spec_md, brief_md
        self.expected, self.workspace_files = expected, workspace_files


class Base:
    def write_to_disk(self, made, workspace_dir, reports_dir):
        for name, text in made.workspace_files.items():
            path = os.path.join(workspace_dir, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        with open(os.path.join(reports_dir, "expected.json"), "w") as file:
            json.dump(made.expected, file)
"""
HEAD = "from generators.base import Base, Made\n\n\nclass Generator(Base):\n"
SUM = """    def generate(self, seed):
        a, b = seed + 3, seed * 2 + 1
        return Made(
            f"answer.txt holds {a} + {b}\\n",
            "write the sum of numbers.txt to answer.txt\\n",
            {"answer": a + b, "secret": f"truth-of-seed-{seed}"},
            {"numbers.txt": f"{a} {b}\\n", "src/app.py": "x = 1\\n"},
        )
"""
GRADE = """#!/bin/bash
set -uo pipefail
cd "$1"
python3 - "$2" "${5:-}" <<'EOF'
import json, pathlib, sys
wanted = str(json.load(open(sys.argv[2]))["answer"]) if sys.argv[2] else "4"
found = pathlib.Path("answer.txt")
right = found.is_file() and found.read_text().strip() == wanted
score = {"pass": right, "secondary": {"partial_score": 1.0 if right else 0.25}}
pathlib.Path(sys.argv[1], "score.json").write_text(json.dumps(score))
EOF
"""


class Bench:
    """``root`` is what a checkout of TeamBench would be; ``SUM`` a generator's body."""

    SUM = SUM

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "tasks").mkdir(parents=True)
        (root / "generators").mkdir()
        (root / "generators" / "__init__.py").write_text("")
        (root / "generators" / "base.py").write_text(BASE)

    def task(self, name: str, said: str = "", *, grade: str | None = GRADE) -> Path:
        """A task's directory with ``task.yaml`` and, unless that is None, its grader."""
        path = self.root / "tasks" / name
        path.mkdir()
        (path / "task.yaml").write_text(f"task_id: {name}\ntime_limit_sec: 60\n{said}")
        if grade is not None:
            (path / "grade.sh").write_text(grade)
        return path

    def generated(self, name: str, body: str = SUM, said: str = "", *, head: str = HEAD) -> Path:
        """A task with a generator: a class body with ``generate``."""
        path = self.task(name, said)
        (self.root / "generators" / f"gen_{name.lower()}.py").write_text(head + body)
        return path

    def static(self, path: Path) -> Path:
        """Give a task the static files, whose answer is 4."""
        (path / "workspace").mkdir()
        (path / "workspace" / "numbers.txt").write_text("1 3\n")
        (path / "spec.md").write_text("answer.txt holds 1 + 3\n")
        (path / "brief.md").write_text("write the sum of numbers.txt to answer.txt\n")
        return path


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "bench")


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is kept is kept for one test; the packages of boxes are those of all."""
    from rolewall.sandbox.runtime import runtime_directory

    runtime, cache = runtime_directory(), tmp_path / "cache"
    cache.mkdir()
    (cache / runtime.name).symlink_to(runtime)
    monkeypatch.setenv("ROLEWALL_CACHE", str(cache))
    return cache
