"""What deciding on another harness's records costs: `rolewall gate`, whole, by process.

    python bench/records.py [--records N] [--repeat N] [--run DIR] [--json]

N records (default 100,000; ten trials of each task) are written as CSV and as JSON lines, and
the gate decides on each file, N times in turn, each time in a process of its own from its
start to its end. With --run it also decides on that run directory. The measures are of the
whole process: seconds by the clock and of processor time, and the most memory it had.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["main"]

TRIALS = 10
SEED = 7
LONGEST = 600.0  # seconds
DECIDED = {0, 1, 4}


@dataclass(frozen=True)
class Cost:
    """``wall`` and ``busy`` are seconds; ``memory_mb`` is the most there was."""

    wall: float
    busy: float
    memory_mb: float


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _arguments(arguments)
    with tempfile.TemporaryDirectory() as name:
        records = list(_records(asked.records))
        paths = {"CSV": _csv(Path(name), records), "JSON lines": _json(Path(name), records)}
        del records
        sizes = {kind: path.stat().st_size for kind, path in paths.items()}
        if asked.run:
            paths["run directory"] = asked.run
        costs: dict[str, list[Cost]] = {kind: [] for kind in paths}
        for _ in range(asked.repeat):
            for kind, path in paths.items():
                costs[kind].append(_gate(path, asked.condition if path == asked.run else None))
    if asked.json:
        found = {kind: [asdict(cost) for cost in each] for kind, each in costs.items()}
        print(json.dumps({"records": asked.records, "bytes": sizes, "costs": found}, indent=1))
    else:
        _print(asked.records, sizes, costs)
    return 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=100_000, metavar="N")
    parser.add_argument("--repeat", type=int, default=5, metavar="N")
    parser.add_argument("--run", type=Path, metavar="DIR", help="A run directory to decide on.")
    parser.add_argument("--condition", help="Of that run, where it holds several.")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def _records(number: int) -> Iterator[dict[str, object]]:
    """Records of a verifier that approves one failing work in twenty."""
    rng = random.Random(SEED)
    for n in range(number):
        grade = rng.choice(("pass", "fail"))
        approves = rng.random() < (0.95 if grade == "pass" else 0.05)
        yield {
            "task": f"task-{n // TRIALS:06}",
            "condition": "enforced",
            "trial": n % TRIALS,
            "verdict": "approve" if approves else "reject",
            "grade": grade,
            "model": "model-1",
            "score": round(rng.random(), 3),
            "seconds": round(rng.uniform(1, 900), 2),
            "comment": "reads well, tests pass",
        }


def _csv(place: Path, records: Sequence[dict[str, object]]) -> Path:
    path = place / "records.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    return path


def _json(place: Path, records: Sequence[dict[str, object]]) -> Path:
    path = place / "records.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def _gate(path: Path, condition: str | None) -> Cost:
    command = [sys.executable, "-m", "rolewall", "gate", str(path), "--max-false-approval", "0.10"]
    command += ["--condition", condition] if condition else []
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        late = threading.Timer(LONGEST, process.kill)
        late.start()
        _, status, used = os.wait4(process.pid, 0)
        late.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - began
    if process.returncode not in DECIDED:
        raise SystemExit(f"the gate ended with {process.returncode} on {path}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def _print(records: int, sizes: dict[str, int], costs: dict[str, list[Cost]]) -> None:
    load = os.getloadavg()[0]
    print(f"machine: {platform.machine()}, {os.cpu_count()} cores, load {load:.1f} at the end")
    print(f"system: {platform.platform()}, Python {platform.python_version()}")
    print(f"{records} records; median (least to most)")
    print(f"{'':16}{'MB':>6}  {'seconds':22}{'busy':22}{'memory, MB':>10}")
    for kind, each in costs.items():
        size = f"{sizes[kind] / 1e6:.1f}" if kind in sizes else "-"
        wall, busy = _spread([c.wall for c in each]), _spread([c.busy for c in each])
        print(f"{kind:16}{size:>6}  {wall:22}{busy:22}{max(c.memory_mb for c in each):10.0f}")


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    sys.exit(main())
