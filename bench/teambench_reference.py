"""What TeamBench itself makes of a task: its own staging and its own grader, in a plain
bubblewrap. Used by ``teambench.py``."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rolewall.sandbox.bubblewrap.find import find_bwrap
from rolewall.sandbox.runtime import runtime_directory

__all__ = ["Cell", "Reference", "cell"]

STAGE_SECONDS = 120.0
PARTS = ("workspace", "reports", "submission")
STAGE = """
import sys
from generators.registry import get_generator, has_generator
name, seed, workspace, reports = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
if has_generator(name):
    generator = get_generator(name)
    made = generator.generate(seed=seed)
    generator.write_to_disk(made, workspace_dir=workspace, reports_dir=reports)
"""
OWN = ("--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session")
Cell = dict[str, Any]


def cell(
    grade: str, score: float | None, modes: Sequence[str], why: str = "", seconds: float = 0.0
) -> Cell:
    """``grade``: pass, fail, error, none (no ``score.json``), refused or unstaged."""
    return {
        "grade": grade,
        "score": score,
        "modes": sorted(map(str, modes)),
        "why": why,
        "seconds": round(seconds, 2),
    }


class Reference:
    """TeamBench's checkout ``repo``, one seed, and ``seconds`` for a grader."""

    def __init__(self, repo: Path, seed: int, seconds: float, scratch: Path) -> None:
        self._repo, self._seed, self._seconds, self._scratch = repo, seed, seconds, scratch

    @contextmanager
    def staged(self, name: str) -> Iterator[Path | str]:
        """A run's directory, staged and attested; or why its generator failed."""
        run = self._scratch / name
        for part in PARTS:
            (run / part).mkdir(parents=True)
        static = self._repo / "tasks" / name / "workspace"
        if static.is_dir():
            shutil.copytree(static, run / "workspace", dirs_exist_ok=True, symlinks=True)
        zones = [str(run / part) for part in ("workspace", "reports")]
        argv = ["python3", "-B", "-c", STAGE, name, str(self._seed), *zones]
        ran = self._plainly(run, argv, STAGE_SECONDS, machine=True)
        attested = {"task_id": name, "run_id": "bench", "verdict": "pass", "checklist": []}
        (run / "submission" / "attestation.json").write_text(json.dumps(attested))
        try:
            if ran is None or ran.returncode:
                yield ran.stderr.strip().rpartition("\n")[2] if ran else "out of time"
            else:
                yield run
        finally:
            shutil.rmtree(run)

    def graded(self, name: str, run: Path, *, machine: bool) -> Cell:
        """What its grader says of a copy of ``run``.

        Args:
            machine: with the machine's Python packages, in place of those of a box.
        """
        copy = self._scratch / f"{name}-{'machine' if machine else 'box'}"
        shutil.copytree(run, copy, symlinks=True)
        folder = self._repo / "tasks" / name
        argv = ["bash", f"{folder}/grade.sh", *(f"{copy}/{part}" for part in PARTS), str(folder)]
        if (copy / "reports" / "expected.json").exists():
            argv.append(f"{copy}/reports/expected.json")
        try:
            ran = self._plainly(copy, argv, self._seconds, machine=machine)
            return _score(copy / "reports" / "score.json", ran)
        finally:
            shutil.rmtree(copy)

    def _plainly(
        self, run: Path, argv: Sequence[str], seconds: float, *, machine: bool
    ) -> subprocess.CompletedProcess[str] | None:
        """Run a command over the whole machine, read-only but for ``run``; None for no end."""
        binds = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
        binds += ["--ro-bind", str(self._repo), str(self._repo), "--bind", str(run), str(run)]
        prefix = Path(sys.base_prefix).resolve()
        if not machine:
            version = f"python{sys.version_info.major}.{sys.version_info.minor}"
            site = prefix / "lib" / version / "site-packages"
            binds += ["--ro-bind", str(runtime_directory()), str(site)]
        path = f"{prefix}/bin:/usr/local/bin:/usr/bin:/bin"
        try:
            return subprocess.run(
                [str(find_bwrap()), *binds, *OWN, "--chdir", str(self._repo), *argv],
                capture_output=True, text=True, errors="replace", timeout=seconds, check=False,
                stdin=subprocess.DEVNULL,
                env={"PATH": path, "HOME": "/root", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None


def _score(path: Path, ran: subprocess.CompletedProcess[str] | None) -> Cell:
    if not path.is_file():
        said = f"exit {ran.returncode}: {ran.stderr[-300:]}" if ran else "out of time"
        return cell("none", None, [], f"no score.json, {said}")
    try:
        data = json.loads(path.read_text())
    except ValueError as error:
        return cell("none", None, [], f"score.json: {error}")
    partial = (data.get("secondary") or {}).get("partial_score", data.get("partial_score"))
    return cell("pass" if data.get("pass") else "fail", partial, data.get("failure_modes") or [])
