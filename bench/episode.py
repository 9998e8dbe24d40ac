"""What an episode costs besides its agents' and its grader's own time.

    python bench/episode.py [--repeat N] [--json]

A team of scripts that run a few small commands plays one task whose grader does
nothing, N times on each backend. Beside it the same commands as bare
subprocesses, and each in a ``docker run`` of its own with the same image.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rolewall.errors import RolewallError
from rolewall.plan import make_plan
from rolewall.roles import load_team
from rolewall.run import run_plan
from rolewall.sandbox import BACKENDS, find_backend
from rolewall.tasks import load_task

__all__ = ["main"]

COMMANDS = {
    "planner": ["ls", "cat README"],
    "executor": ["cat README", "printf 'done\\n' > note.txt", "cat note.txt"],
    "verifier": ["git diff HEAD~1", "cat note.txt"],
}
FLAT = [command for commands in COMMANDS.values() for command in commands]
GIT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
COMMAND_SECONDS = 60.0


@dataclass
class Measured:
    """Seconds of each repetition, by part; or why there are none."""

    name: str
    parts: dict[str, list[float]] = field(default_factory=dict)
    skipped: str = ""

    def add(self, **seconds: float) -> None:
        for part, value in seconds.items():
            self.parts.setdefault(part, []).append(value)


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _arguments(arguments)
    with tempfile.TemporaryDirectory(prefix="rolewall-bench-") as made:
        root = Path(made).resolve()
        _write_team(root / "team")
        _write_task(root / "task")
        rows = [_episodes(name, root, asked.repeat) for name in BACKENDS]
        rows.append(_bare(root / "bare", asked.repeat))
        rows.append(_docker_run(root / "plain", asked.repeat))
    print(json.dumps(_as_json(rows), indent=1) if asked.json else _as_text(rows))
    return 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="default: 5")
    parser.add_argument("--json", action="store_true", help="JSON on standard output")
    asked = parser.parse_args(arguments)
    if asked.repeat < 1:
        parser.error("--repeat: at least 1")
    return asked


def _write_team(root: Path) -> None:
    root.mkdir()
    roles = "".join(f"  {role}: {{agent: {{script: {role}.yaml}}}}\n" for role in COMMANDS)
    (root / "team.yaml").write_text(f"team: bench\nrounds: 1\nroles:\n{roles}")
    for role, commands in COMMANDS.items():
        script: dict[str, Any] = {"steps": [{"run": command} for command in commands]}
        if role == "verifier":
            script["verdict"] = "approve"
        (root / f"{role}.yaml").write_text(json.dumps(script))


def _write_task(root: Path) -> None:
    for name in ("workspace", "grader"):
        (root / name).mkdir(parents=True)
    (root / "workspace" / "README").write_text("Work to be done.\n")
    (root / "grader" / "truth").write_text("\n")
    for name in ("spec.md", "brief.md"):
        (root / name).write_text("Write a note.\n")
    grader = {"command": {"run": ["true"], "trust": "outside"}}
    (root / "task.yaml").write_text(json.dumps({"id": "bench", "grader": grader}))


def _episodes(backend: str, root: Path, repeat: int) -> Measured:
    row = Measured(f"rolewall, {backend}")
    try:
        ready = find_backend(backend)
    except RolewallError as error:
        row.skipped = str(error)
        return row
    team, task = load_team(root / "team" / "team.yaml"), load_task(root / "task")
    plan = make_plan(team, [task], ["enforced"], ready, trials=repeat)
    for record in run_plan(plan, root / f"run-{backend}").records:
        if record.status != "complete" or (record.verdict, record.grade) != ("approve", "pass"):
            raise SystemExit(f"an episode on {backend} is not as it must be: {record.error}")
        parts = record.seconds
        row.add(**parts, fixed=parts["harness"] + parts["grader"], all=sum(parts.values()))
    return row


def _workspace(root: Path) -> Path:
    """What an episode stages too, ready beforehand: a repository of two commits."""
    root.mkdir()
    (root / "README").write_text("Work to be done.\n")
    who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "start")):
        _git(root, *words)
    _git(root, *who, "commit", "-q", "--allow-empty", "-m", "executor")
    return root


def _git(root: Path, *words: str) -> None:
    command = ["git", *words]
    subprocess.run(command, cwd=root, check=True, timeout=60, env={**os.environ, **GIT})


def _bare(root: Path, repeat: int) -> Measured:
    workspace, row = _workspace(root), Measured("bare subprocesses")

    def run(command: str) -> None:
        subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=workspace,
            env={**os.environ, **GIT},
            check=True,
            timeout=COMMAND_SECONDS,
            capture_output=True,
        )

    return _timed(row, run, repeat)


def _docker_run(root: Path, repeat: int) -> Measured:
    """The commands as most harnesses run them: a container each, over the same mounts."""
    row = Measured("docker run, each")
    try:
        import docker

        client: Any = docker.from_env(timeout=60)
        image = _host_image(client)
    except Exception as error:
        row.skipped = str(error)
        return row
    workspace = _workspace(root)
    volumes = [f"{workspace}:/workspace"] + [
        f"{path}:{path}:ro" for path in ("/usr", "/etc/alternatives") if os.path.isdir(path)
    ]

    def run(command: str) -> None:
        client.containers.run(
            image, ["/bin/sh", "-c", command], remove=True, network_mode="none",
            working_dir="/workspace", volumes=volumes, read_only=True,
            environment={**GIT, "GIT_CONFIG_COUNT": "1",
                         "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"},
        )  # fmt: skip

    try:
        return _timed(row, run, repeat)
    finally:
        client.close()


def _host_image(client: Any) -> str:
    for image in client.images.list():
        for tag in image.tags:
            if tag.startswith("rolewall-host:"):
                return str(tag)
    raise LookupError("the image rolewall-host is not there: no episode ran on docker")


def _timed(row: Measured, run: Callable[[str], None], repeat: int) -> Measured:
    for _ in range(repeat):
        began = time.monotonic()
        for command in FLAT:
            run(command)
        row.add(all=time.monotonic() - began)
    return row


PARTS = {
    "harness": "harness",
    "grader": "grade box",
    "fixed": "fixed cost",
    "agents": "agents",
    "all": "all",
}


def _as_text(rows: Sequence[Measured]) -> str:
    lines = [f"{name}: {value}" for name, value in _machine().items()]
    lines.append(
        f"{len(FLAT)} commands by {len(COMMANDS)} roles; milliseconds: median (least to most)"
    )
    heads = ["", *PARTS.values()]
    cells = [[row.name, *(_cell(row.parts.get(part)) for part in PARTS)] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for line in [heads, *cells]:
        cols = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        lines.append("  ".join(cols).rstrip())
    lines += [f"skipped: {row.name}: {row.skipped}" for row in rows if row.skipped]
    return "\n".join(lines)


def _cell(seconds: Sequence[float] | None) -> str:
    if not seconds:
        return "-"
    low, middle, high = (1000 * f(seconds) for f in (min, statistics.median, max))
    return f"{middle:.0f} ({low:.0f} to {high:.0f})"


def _machine() -> dict[str, str]:
    load = os.getloadavg()[0]
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f} at the end",
        "system": f"{platform.platform()}, Python {platform.python_version()}",
        "user": "root" if os.geteuid() == 0 else "an ordinary user",
    }


def _as_json(rows: Sequence[Measured]) -> dict[str, Any]:
    measured = [
        {"name": row.name, "seconds": row.parts, "skipped": row.skipped or None} for row in rows
    ]
    return {"machine": _machine(), "commands": len(FLAT), "rows": measured}


if __name__ == "__main__":
    sys.exit(main())
