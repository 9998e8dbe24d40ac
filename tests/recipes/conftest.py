"""A GitHub runner as far as the recipe's workflow needs one: its steps run here.

Actions themselves cannot run here. ``actions/checkout`` is played by git with what the step asks
of it: ref, path, depth, and whether credentials are left in the configuration.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "recipes" / "pull-request-reviewer"
EXPRESSION = re.compile(r"\$\{\{ ([a-zA-Z_.-]+) \}\}")
SECRET = "AUTHORIZATION: basic c2VjcmV0LW9mLXRoZS1ydW5uZXI="
PROJECT = {
    "app.py": "def add(a, b):\n    return a - b\n",
    "test_app.py": "from app import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n",
}
FIXED = {"app.py": "def add(a, b):\n    return a + b\n"}


def workflow() -> dict[str, Any]:
    """With every value as text: by YAML 1.1 the bare word ``on`` would be true."""
    loaded = yaml.load((RECIPE / "workflow.yml").read_text("utf-8"), yaml.BaseLoader)
    assert isinstance(loaded, dict)
    return loaded


def steps() -> list[dict[str, Any]]:
    found = workflow()["jobs"]["review"]["steps"]
    assert isinstance(found, list)
    return found


def git(directory: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *who, *words], cwd=directory, check=True, text=True,
                          capture_output=True, timeout=60)  # fmt: skip
    return done.stdout.strip()


def lay(directory: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@dataclass(frozen=True)
class Reviewed:
    """What the review step came to."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str
    said: dict[str, Any]


@dataclass
class Forge:
    """A repository with the recipe in it, a pull request, and a runner for its workflow."""

    home: Path
    base: str = ""
    merge: str = ""
    body: str | None = None
    head_repository: str = "owner/project"
    secrets: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> Path:
        return self.home / "origin"

    @property
    def workspace(self) -> Path:
        return self.home / "workspace"

    @property
    def temp(self) -> Path:
        return self.home / "temp"

    def begin(self, files: dict[str, str | bytes] | None = None) -> None:
        """The base branch: the project, the recipe's reviewer, and ``files`` over both."""
        self.origin.mkdir()
        git(self.origin, "init", "-q", "-b", "main")
        lay(self.origin, dict(PROJECT))
        shutil.copytree(RECIPE / "reviewer", self.origin / ".github" / "reviewer",
                        ignore=shutil.ignore_patterns("__pycache__"))  # fmt: skip
        lay(self.origin, files or {})
        self.base = self.commit("base")

    def commit(self, message: str) -> str:
        git(self.origin, "add", "-A", "-f")
        git(self.origin, "commit", "-q", "-m", message)
        return git(self.origin, "rev-parse", "HEAD")

    def propose(self, *commits: dict[str, str | bytes], module: str = "") -> None:
        """A pull request of these commits' files, and of a submodule at the commit ``module``,
        merged as GitHub does to try it."""
        git(self.origin, "checkout", "-q", "-b", "feature")
        for files in commits:
            lay(self.origin, files)
            self.commit("feature")
        if module:
            (self.origin / "library").mkdir()
            entry = f"160000,{module},library"
            git(self.origin, "update-index", "--add", "--cacheinfo", entry)
            git(self.origin, "commit", "-q", "-m", "library")
        self._join()

    def _join(self) -> None:
        git(self.origin, "checkout", "-q", "-b", "merged", "main")
        git(self.origin, "merge", "-q", "--no-ff", "-m", "merge", "feature")
        self.merge = git(self.origin, "rev-parse", "HEAD")
        git(self.origin, "update-ref", "refs/pull/1/merge", self.merge)

    def checkouts(self) -> None:
        """Every checkout step of the workflow."""
        for step in steps():
            if str(step.get("uses", "")).startswith("actions/checkout@"):
                self._checkout({k: self._filled(v) for k, v in step["with"].items()})

    def _checkout(self, asked: dict[str, str]) -> None:
        place = self.workspace / asked["path"]
        place.mkdir(parents=True)
        git(place, "init", "-q")
        ref = {self.base: "refs/heads/main", self.merge: "refs/pull/1/merge"}[asked["ref"]]
        depth = asked.get("fetch-depth", "1")
        git(place, "fetch", "-q", f"--depth={depth}", f"file://{self.origin}", ref)
        git(place, "checkout", "-q", "--detach", "FETCH_HEAD")
        assert git(place, "rev-parse", "HEAD") == asked["ref"]
        if asked.get("persist-credentials", "true") != "false":
            git(place, "config", "http.https://github.com/.extraheader", SECRET)

    def run(self, name: str, **env: str) -> tuple[int, str]:
        """A step that is a shell script, as the runner runs one."""
        (step,) = [found for found in steps() if found["name"] == name]
        assert step["shell"] == "bash"
        script = self.home / "step.sh"
        script.write_text(step["run"])
        for file in ("output", "summary"):
            (self.home / file).touch()
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(self.home),
                "RUNNER_TEMP": str(self.temp),
                "GITHUB_WORKSPACE": str(self.workspace),
                "GITHUB_EVENT_PATH": str(self._event()),
                "GITHUB_SHA": self.merge,
                "GITHUB_OUTPUT": str(self.home / "output"),
                "GITHUB_STEP_SUMMARY": str(self.home / "summary"),
                **{k: self._filled(v) for k, v in step["env"].items()},
                **env,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout

    def review(self, **env: str) -> Reviewed:
        """Check out, and run the review step on bubblewrap."""
        if not self.workspace.exists():
            self.checkouts()
        code, log = self.run("Review", **{"REVIEW_BACKEND": "bubblewrap"} | env)
        lines = (self.home / "output").read_text().splitlines()
        kept = self.temp / "review" / "review.json"
        return Reviewed(
            code,
            log,
            dict(line.split("=", 1) for line in lines),
            (self.home / "summary").read_text(),
            json.loads(kept.read_text()) if kept.exists() else {},
        )

    def _event(self) -> Path:
        path = self.home / "event.json"
        request = {
            "title": "Add properly",
            "body": self.body,
            "head": {"repo": {"full_name": self.head_repository}},
            "base": {"repo": {"full_name": "owner/project"}, "sha": self.base},
        }
        path.write_text(json.dumps({"pull_request": request}))
        return path

    def _filled(self, text: str) -> str:
        known = {
            "github.sha": self.merge,
            "github.event.pull_request.base.sha": self.base,
            "runner.temp": str(self.temp),
            "vars.ROLEWALL_SOURCE": "",
            **{f"secrets.{name}": value for name, value in self.secrets.items()},
        }
        # A secret that is not there is empty, as it is for a fork.
        return EXPRESSION.sub(lambda m: known[m[1]] if m[1] in known else _secret(m[1]), text)


def _secret(name: str) -> str:
    assert name.startswith("secrets."), name
    return ""


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    """With rolewall as it is installed here, where the workflow's Install would put it."""
    made = Forge(tmp_path)
    python = made.temp / "rolewall-venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    # A venv's Python finds its packages by -I alone; this one has them where the tests have.
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    begin = f"import sys; sys.path[:0] = {paths!r}; "
    run = "import runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    python.write_text(
        f'#!/bin/sh\nif [ "$1" = -I ]; then shift; fi\n'
        f'exec {sys.executable} -I -c "{begin}{run}" "$@"\n'
    )
    python.chmod(0o755)
    return made


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    (made / "app.py").write_text("x = 1\n")
    (made / "test_app.py").write_text("import app\n\n\ndef test_x():\n    assert app.x == 1\n")
    subprocess.run(["git", "init", "-q", made], check=True, timeout=60)
    return made


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """What a user has who installed rolewall; a secret among it."""
    program = tmp_path / "bin" / "rolewall"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m rolewall "$@"\n')
    program.chmod(0o755)
    path = os.environ.get("PYTHONPATH", "")
    return {
        "PATH": f"{program.parent}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PYTHONPATH": path,
        "READ_ONLY_BACKEND": "bubblewrap",
        "MODEL_KEY": "sk-secret",
    }
