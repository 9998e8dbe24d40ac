"""What a report of a large run costs.

    python bench/report.py [--episodes N] [--tasks T] [--in DIR] [--json]

Makes a run of N episodes (default 10,000) with real ledgers, manifests, contents, records
and seals, of verifiers that are simulated: half under each of two conditions, a part of
each with false approvals, missing verdicts, errors, cross-role edits that are blocked or
land. Then `rolewall report` reads it, in a process of its own, as a user would.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rolewall.attest import RunSeals
from rolewall.policies import Ledger
from rolewall.record import EpisodeRecord
from rolewall.report import LIMIT
from rolewall.rundir import RunInfo, TaskRef, episode_key, write_run_info
from rolewall.sandbox import BlobStore, Entry, Manifest

__all__ = ["main"]

START = 1_800_000_000.0
ROLES = ("planner", "executor", "verifier")
CONDITIONS = ("prompt-only", "enforced")
SECONDS = 3600.0
CODE, TEAM = (hashlib.sha256(text).hexdigest() for text in (b"code", b"team"))


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _arguments(arguments)
    with tempfile.TemporaryDirectory(prefix="rolewall-bench-", dir=asked.place) as made:
        run = Path(made) / "run"
        began = time.monotonic()
        make_run(run, asked.episodes, asked.tasks)
        built = time.monotonic() - began
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "rolewall", "report", str(run), "--json"],
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        took = time.monotonic() - began
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        return done.returncode
    said = json.loads(done.stdout)
    found = {
        "episodes": said["episodes"],
        "seconds": round(took, 2),
        "memory_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
        "bytes": said["bytes"],
        "limit": LIMIT,
        "in_full": said["in_full"],
        "built_in_seconds": round(built, 1),
    }
    if asked.json:
        print(json.dumps(found, indent=1))
    else:
        print("  ".join(f"{name} {value}" for name, value in found.items()))
    return 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--in", dest="place", type=Path, default=None, metavar="DIR")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def make_run(run: Path, episodes: int, tasks: int) -> None:
    """A sealed run directory of simulated verifiers."""
    run.mkdir(parents=True)
    names = [f"task-{number:03}" for number in range(tasks)]
    trials = max(1, episodes // (tasks * len(CONDITIONS)))
    info = RunInfo(
        created=START, rolewall="0.1.0", python="3.11", team="simulated", team_digest=TEAM,
        tasks=tuple(TaskRef(id=name, digest=_digest(name)) for name in names),
        conditions=CONDITIONS, trials=trials, backend="bubblewrap", image="host",
        planned=tasks * trials * len(CONDITIONS), seed=7,
    )  # fmt: skip
    write_run_info(run, info)
    chance, store = random.Random(7), BlobStore(run / "blobs.git")
    contents = [store.put_bytes(_content(n)) for n in range(len(ROLES) + 1)]
    states = [
        Manifest((
            Entry(b"", "dir", 0o755),
            Entry(b"app.py", "file", 0o644, size=c.size, oid=c.oid, digest=f"sha256:{c.sha256}"),
        ))
        for c in contents
    ]  # fmt: skip
    with RunSeals(run, info.summary()) as seals:
        for name in names:
            for condition in CONDITIONS:
                for trial in range(trials):
                    _episode(run, seals, states, chance, (name, condition, trial))
        seals.close()


def _content(version: int) -> bytes:
    return b"".join(b"line %d of version %d\n" % (n, version * (n % 7 == 0)) for n in range(60))


def _episode(
    run: Path,
    seals: RunSeals,
    states: Sequence[Manifest],
    chance: random.Random,
    which: tuple[str, str, int],
) -> None:
    task, condition, trial = which
    digests = {"task": _digest(task), "team": TEAM, "code": CODE,
               "start:workspace": states[0].digest}  # fmt: skip
    key = episode_key(
        task=TaskRef(id=task, digest=_digest(task)), team_digest=TEAM, condition=condition,
        trial=trial, seed=7 + trial, backend="bubblewrap", image="host", code=CODE,
        observe="changes",
    )  # fmt: skip
    directory = run / "episodes" / key
    for folder in ("manifests", "transcripts", "handoffs"):
        (directory / folder).mkdir(parents=True)
    edits = chance.randrange(1, 12) if chance.random() < 0.3 else 0
    landed = bool(edits) and condition == "prompt-only"
    passing = chance.random() < 0.6
    verdict = chance.choices(("approve", "reject", "missing"), (7, 2, 1))[0]
    head, lines = _ledger(directory, edits, landed)
    phases = [_phase(directory, states, index, edits, landed) for index in range(len(ROLES))]
    grade = {"grade": "pass" if passing else "fail", "trust": "outside"}
    record = EpisodeRecord.model_validate({
        "key": key, "task": task, "team": "simulated", "condition": condition, "trial": trial,
        "seed": 7 + trial, "backend": "bubblewrap", "image": "host", "started": START,
        "ended": START + 4, "status": "complete", "verdict": verdict, "grade": grade["grade"],
        "trust": "outside", "digests": digests, "phases": phases,
        "verdicts": [{"round": 1, "phase": 2, "verdict": verdict, "why": "looks right to me",
                      "grade_before": grade, "grade_after": grade}],
        "attempts": {p["role"]: p["attempts"] for p in phases},
        "seconds": {"agents": 2.5, "grader": 1.0, "harness": 0.5},
        "ledger_head": head, "ledger_lines": lines,
    })  # fmt: skip
    data = record.model_dump_json(indent=1).encode() + b"\n"
    with seals.sealing(directory, record.summary(), data):
        (directory / "episode.json").write_bytes(data)


def _phase(
    directory: Path, states: Sequence[Manifest], index: int, edits: int, landed: bool
) -> dict[str, Any]:
    role = ROLES[index]
    crossed = role == "verifier" and edits > 0
    changed = role == "executor" or (crossed and landed)
    name = f"{index:02}-{role}-workspace.jsonl"
    if index == 0:
        _dump(states[0], directory / "manifests" / "start-workspace.jsonl")
    state = states[0 if index == 0 else 2 if crossed and landed else 1]
    _dump(state, directory / "manifests" / name)
    counts = {"own": 3}
    if crossed:
        outcome = "edit_allowed" if landed else "edit_blocked"
        counts |= {"edit_attempted": edits, outcome: edits, "distinct_edits": 1}
    change = {"zone": "workspace", "path": "app.py", "change": "modified", "what": ["content"],
              "cross_role": crossed}  # fmt: skip
    sums = {"cross_role": 1, "landed": 1} if crossed else {"own": 1}
    return {
        "index": index, "role": role, "round": 1, "started": START + index,
        "ended": START + index + 0.2 + int(directory.name[index : index + 2], 16) / 300,
        "outcome": "done", "returncode": 0, "attempts": counts,
        "manifests": {"workspace": state.digest},
        "changes": [change] if changed else [], "changed": sums if changed else {},
    }  # fmt: skip


def _dump(manifest: Manifest, path: Path) -> None:
    path.write_bytes(b"".join(manifest.lines()))


def _ledger(directory: Path, edits: int, landed: bool) -> tuple[str, int]:
    with Ledger(directory / "audit.jsonl") as ledger:
        ledger.append({"type": "note", "text": f"the ledger of {directory.name}"})
        for n in range(edits):
            ledger.append({
                "type": "attempt", "time": START + 2 + n / 100, "role": "verifier", "phase": 2,
                "pid": 12, "comm": "sed", "exe": "/usr/bin/sed", "syscall": "openat",
                "effect": "create-write", "paths": ["/workspace/app.py"], "flags": ["O_RDWR"],
                "zone": "workspace", "owner": "executor", "kind": "edit",
                "outcome": "allowed" if landed else "blocked",
                "why": "mount is writable" if landed else "mount is read-only",
            })  # fmt: skip
        return ledger.head, ledger.lines


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
