"""Runs that are killed at random moments, resumed, and held against an undisturbed one.

    python bench/chaos.py [--runs N] [--signal KILL|TERM|INT|HUP] [--backend B] [--json]

Every run has a few episodes. It is killed (some again while it resumes), resumed to its
end and compared. Exit code 1 when anything was left behind, lost, doubled or different.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaks import KINDS, MARK, Search, owner_of, settled

from rolewall.errors import RolewallError
from rolewall.sandbox import BACKENDS, find_backend
from rolewall.sandbox.owner import Owner

__all__ = ["main"]

COMMAND_SECONDS = 120.0
SETTLE_SECONDS = 10.0
# Of the time that an undisturbed run takes: some kills come after the end.
SPREAD = 1.05
AGAIN, TWICE = 0.3, 0.5
FAULTS = (
    "lost",
    "doubled",
    "changed after the fact",
    "other table",
    "other files",
    "audit fails",
    "does not resume",
    "other exit code",
    "traceback",
)
ENV = "TMPDIR", "XDG_CACHE_HOME", "ROLEWALL_CACHE"


@dataclass
class Tally:
    """What came of the runs of one backend."""

    runs: int = 0
    kills: int = 0
    moments: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    leaks: Counter[str] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not (self.faults.total() or self.leaks.total())

    def json(self) -> dict[str, Any]:
        return {
            "runs": self.runs,
            "kills": self.kills,
            "moments": dict(self.moments),
            "leaks": {kind: self.leaks[kind] for kind in KINDS},
            "faults": {fault: self.faults[fault] for fault in FAULTS},
            "said": self.said,
        }


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _arguments(arguments)
    backends = [asked.backend] if asked.backend else _present()
    tallies = {name: Tally() for name in backends}
    with tempfile.TemporaryDirectory(prefix="rolewall-chaos-") as made:
        bench = Bench(Path(made).resolve(), asked.seed, asked.episodes, asked.signal)
        undisturbed = {name: bench.undisturbed(name) for name in backends}
        try:
            for number in range(asked.runs):
                name = backends[number % len(backends)]
                Case(bench, undisturbed[name], tallies[name], number).play()
                if not asked.json and (number + 1) % 20 == 0:
                    print(f"{number + 1} of {asked.runs}", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            print("interrupted; this is what there is:", file=sys.stderr)
    found = {name: tally.json() for name, tally in tallies.items()}
    print(json.dumps(found, indent=1) if asked.json else _as_text(found))
    return 0 if tallies and all(tally.clean for tally in tallies.values()) else 1


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, metavar="N", help="default: 200")
    parser.add_argument("--episodes", type=int, default=3, metavar="N", help="a run; default: 3")
    parser.add_argument("--seed", type=int, default=1, help="of the moments; default: 1")
    parser.add_argument("--signal", default="KILL", choices=["KILL", "TERM", "INT", "HUP"])
    parser.add_argument("--backend", choices=BACKENDS, help="default: all that are here, in turn")
    parser.add_argument("--json", action="store_true", help="JSON on standard output")
    asked = parser.parse_args(arguments)
    if asked.runs < 1 or asked.episodes < 1:
        parser.error("--runs, --episodes: at least 1")
    return asked


def _present() -> list[str]:
    found = []
    for name in BACKENDS:
        try:
            find_backend(name)
        except RolewallError as error:
            print(f"{name}: left out: {error}", file=sys.stderr)
        else:
            found.append(name)
    return found


@dataclass(frozen=True)
class Undisturbed:
    """A run that nobody touched: how long it took, what it found, what it left."""

    backend: str
    seconds: float
    table: Any
    files: frozenset[str]


class Bench:
    """A team, a task, and how to run them."""

    def __init__(self, root: Path, seed: int, episodes: int, number: str) -> None:
        self.root, self.seed, self.episodes = root, seed, episodes
        self.signal = signal.Signals[f"SIG{number}"]
        self.mark = root.name
        (root / "tmp").mkdir()
        self.env = {**os.environ, "TMPDIR": str(root / "tmp"), MARK: self.mark}
        _write_team(root / "team")
        _write_task(root / "tasks" / "note")
        self.places = (root / "tmp", *_kit_places(root / "tmp"))

    def start(self, backend: str, out: Path, jobs: int) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "rolewall", "run", self.root / "team" / "team.yaml",
                 "--tasks", self.root / "tasks", "--trials", self.episodes, "--jobs", jobs,
                 "--backend", backend, "-o", out, "--json"]  # fmt: skip
        return subprocess.Popen(
            [str(word) for word in words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.env,
            start_new_session=True,
        )

    def audit(self, out: Path) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "rolewall", "audit", str(out)]
        return subprocess.run(
            words, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
        )

    def undisturbed(self, backend: str) -> Undisturbed:
        for name in ("warm", "undisturbed"):  # the first may build what later ones find
            out = self.root / f"{name}-{backend}"
            began = time.monotonic()
            process = self.start(backend, out, 2)
            said, errors = process.communicate(timeout=COMMAND_SECONDS)
            seconds = time.monotonic() - began
            if process.returncode != 0:
                raise SystemExit(f"an undisturbed run on {backend} fails: {errors}")
        return Undisturbed(backend, seconds, json.loads(said)["table"], _files(out))


class Case:
    """One run: killed, perhaps killed again, resumed, compared."""

    def __init__(self, bench: Bench, right: Undisturbed, tally: Tally, number: int) -> None:
        self._bench, self._right, self._tally, self._number = bench, right, tally, number
        self._random = random.Random(f"{bench.seed} {number}")
        self._out = bench.root / f"run-{number}"
        self._owners: list[Owner] = []
        self._kept: dict[str, bytes] = {}
        self._search = Search(
            bench.places, bench.mark, docker=right.backend == "docker", env=bench.env
        )

    def play(self) -> None:
        self._tally.runs += 1
        kills = 1
        while kills < 4 and self._random.random() < AGAIN:
            kills += 1
        for _ in range(kills):
            self._kill()
        self._resume()
        self._compare()
        self._leaks()

    def _start(self) -> subprocess.Popen[str]:
        jobs = self._random.choice([1, 2, 3])
        process = self._bench.start(self._right.backend, self._out, jobs)
        self._owners.append(owner_of(process.pid))
        return process

    def _kill(self) -> None:
        process = self._start()
        moment = self._random.uniform(0, SPREAD * self._right.seconds)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.send_signal(self._bench.signal)
            if self._orderly and self._random.random() < TWICE:
                time.sleep(self._random.uniform(0, 0.3))
                process.send_signal(self._bench.signal)
        _, said = process.communicate(timeout=COMMAND_SECONDS)
        self._tally.kills += process.returncode != 0
        self._tally.moments[self._stage(process.returncode)] += 1
        self._look(process.returncode, said)

    @property
    def _orderly(self) -> bool:
        return self._bench.signal != signal.SIGKILL

    def _look(self, code: int, said: str) -> None:
        # Python takes a moment to be ready for signals, and one to go.
        early = not self._out.exists()
        late = self._finished() and code == -self._bench.signal
        if ("Traceback" in said or "a bug in" in said) and not early:
            self._fault("traceback", said)
        if self._orderly and code not in (0, 130) and not (early or late):
            self._fault("other exit code", f"{code}: {said}")
        if self._orderly:
            self._leaks(scratch=True)
        self._keep()

    def _finished(self) -> bool:
        return len(_records(self._out)) == self._bench.episodes

    def _stage(self, code: int) -> str:
        done = len(_records(self._out))
        if code == 0:
            return "came too late"
        if not (self._out / "run.json").exists():
            return "before the run was there"
        if not done:
            return "before the first record"
        return "between records" if done < self._bench.episodes else "after the last record"

    def _keep(self) -> None:
        """Records that are there may never change, unless they are errors."""
        found = _records(self._out)
        for name, data in self._kept.items():
            if found.get(name) != data:
                self._fault("changed after the fact", name)
        self._kept = {n: d for n, d in found.items() if json.loads(d)["status"] == "complete"}

    def _resume(self) -> None:
        process = self._start()
        said, errors = process.communicate(timeout=COMMAND_SECONDS)
        if process.returncode != 0:
            return self._fault("does not resume", f"{process.returncode}: {errors}")
        if json.loads(said)["table"] != self._right.table:
            self._fault("other table", said)
        return None

    def _compare(self) -> None:
        self._keep()
        names = [(r["task"], r["condition"], r["trial"]) for r in map(json.loads, _all(self._out))]
        if len(set(names)) < self._bench.episodes:
            self._fault("lost", str(names))
        if len(set(names)) < len(names):
            self._fault("doubled", str(names))
        if odd := _files(self._out) ^ self._right.files:
            self._fault("other files", ", ".join(sorted(odd)))
        done = self._bench.audit(self._out)
        if done.returncode != 0:
            self._fault("audit fails", done.stdout + done.stderr)

    def _leaks(self, *, scratch: bool = False) -> None:
        left = settled(self._search, self._owners, SETTLE_SECONDS)
        place = self._out / "scratch"
        if scratch and place.exists():
            left["kits and directories"].append(str(place))
        for kind, things in left.items():
            self._tally.leaks[kind] += len(things)
            self._tally.said += [f"run {self._number}: left: {kind}: {each}" for each in things]

    def _fault(self, fault: str, said: str) -> None:
        self._tally.faults[fault] += 1
        self._tally.said.append(f"run {self._number}: {fault}: {said.strip()[-2000:]}")


def _all(out: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(out.glob("episodes/*/episode.json"))]


def _records(out: Path) -> dict[str, bytes]:
    return {p.parent.name: p.read_bytes() for p in out.glob("episodes/*/episode.json")}


def _files(out: Path) -> frozenset[str]:
    """The names below a run directory, each as often as it must be the same: episodes by
    what is in them, objects of the store by their kind of name."""
    found: Counter[str] = Counter()
    for path in out.rglob("*"):
        parts = path.relative_to(out).parts
        if parts[0] == "episodes" and len(parts) > 1:
            parts = ("episodes", "*", *parts[2:])
        elif parts[0] == "blobs.git":
            parts = tuple("*" if set(p) <= set("0123456789abcdef") else p for p in parts)
            found["/".join(parts)] = 1
            continue
        found["/".join(parts)] += 1
    return frozenset(f"{name} x{count}" for name, count in found.items())


def _kit_places(tmp: Path) -> list[Path]:
    if os.geteuid() == 0:
        return [Path("/run/rolewall/kits")]
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return [Path(runtime) / "rolewall" if runtime else tmp / f"rolewall-{os.geteuid()}"]


def _write_team(root: Path) -> None:
    root.mkdir()
    roles = "".join(f"  {role}: {{agent: {{script: {role}.yaml}}}}\n" for role in SCRIPTS)
    limits = "limits: {phase_seconds: 60, memory_mb: 256, pids: 32}"
    (root / "team.yaml").write_text(f"team: chaos\n{limits}\nroles:\n{roles}")
    for role, script in SCRIPTS.items():
        (root / f"{role}.yaml").write_text(json.dumps(script))


SCRIPTS: dict[str, dict[str, Any]] = {
    "executor": {"steps": [{"run": "echo done > note.txt; sleep 0.05"}]},
    "verifier": {
        "steps": [
            {"run": "cat note.txt; echo no > /workspace/note.txt"},
            {"check": "cat note.txt"},
        ],
        "verdict": "approve",
    },
}


def _write_task(root: Path) -> None:
    for name in ("workspace", "grader"):
        (root / name).mkdir(parents=True)
    (root / "workspace" / "README").write_text("Work to be done.\n")
    (root / "grader" / "truth").write_text("done\n")
    for name in ("spec.md", "brief.md"):
        (root / name).write_text("Write a note.\n")
    grader = {"command": {"run": ["cmp", "note.txt", "/grader/truth"], "trust": "outside"}}
    (root / "task.yaml").write_text(json.dumps({"id": "note", "grader": grader}))


def _as_text(found: dict[str, dict[str, Any]]) -> str:
    lines = []
    for name, tally in found.items():
        lines.append(f"{name}: {tally['runs']} runs, {tally['kills']} kills")
        for part in ("moments", "leaks", "faults"):
            counts = ", ".join(f"{count} {what}" for what, count in tally[part].items())
            lines.append(f"  {part}: {counts}")
        lines += [f"  {line}" for line in tally["said"]]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
