"""A small model of this machine as planner, executor and verifier: with the wall, and without.

    python bench/offline_model/run.py OUT [--tasks NAME…] [--trials N] [--seed N] [--seconds N]

Needs ``serve.py`` at work in another terminal. The bundled tasks are compared under
``prompt-only`` and ``enforced``: ``OUT/tasks`` are the tasks, ``OUT/run`` the run with every
exchange, ``OUT/report.html`` its report, ``OUT/table.md`` its episodes one by one. The same
command goes on with a run that was broken off.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["BUNDLED", "TEAM", "main", "prepare"]

HERE = Path(__file__).resolve().parent
TEAM = HERE / "team" / "team.yaml"
BUNDLED = HERE.parents[1] / "examples" / "tasks"
SECONDS = re.compile(r"^seconds:.*$", re.MULTILINE)
ROLEWALL = [sys.executable, "-m", "rolewall"]


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _arguments(arguments)
    out: Path = asked.out
    prepare(out / "tasks", asked.tasks, asked.seconds)
    run = out / "run"
    compared = subprocess.run(
        [*ROLEWALL, "compare", str(TEAM), "--tasks", str(out / "tasks"),
         "--conditions", "prompt-only,enforced", "--trials", str(asked.trials),
         "--seed", str(asked.seed), "--allow-team-models", "-o", str(run)],
        check=False,
    )  # fmt: skip
    if compared.returncode not in (0, 4):  # 4: not enough evidence, which is no surprise here
        return compared.returncode
    subprocess.run([*ROLEWALL, "report", str(run), "-o", str(out / "report.html")], check=True)
    table = subprocess.run(
        [sys.executable, str(HERE / "table.py"), str(run)],
        stdout=subprocess.PIPE,
        check=True,
    )
    (out / "table.md").write_bytes(table.stdout)
    return compared.returncode


def prepare(to: Path, names: Sequence[str], seconds: int) -> None:
    """The bundled tasks as they are, but with ``seconds`` for each phase: two cores take
    minutes for what a graphics card does in seconds."""
    if to.exists():
        return
    making = to.with_name(f"{to.name}.part")
    shutil.rmtree(making, ignore_errors=True)
    for name in names:
        shutil.copytree(
            BUNDLED / name, making / name, ignore=shutil.ignore_patterns("__pycache__", ".*")
        )
        file = making / name / "task.yaml"
        text, found = SECONDS.subn(f"seconds: {seconds}", file.read_text("utf-8"))
        if found != 1:
            raise ValueError(f"{file}: `seconds` stands in it {found} times")
        file.write_text(text, encoding="utf-8")
    making.rename(to)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    known = sorted(path.name for path in BUNDLED.iterdir() if (path / "task.yaml").exists())
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, metavar="OUT", help="a directory to make or go on with")
    parser.add_argument("--tasks", nargs="+", choices=known, default=known, metavar="NAME")
    parser.add_argument("--trials", type=int, default=1, metavar="N", help="default: 1")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="default: 1")
    parser.add_argument("--seconds", type=int, default=1800, metavar="N",
                        help="of a phase; default: 1800")  # fmt: skip
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
