"""Builds run directories from real files: records, ledgers, manifests, sealed handoffs."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rolewall.attest import LOG, RunSeals
from rolewall.cli import cli, explain
from rolewall.policies import Ledger
from rolewall.record import EpisodeRecord
from rolewall.roles import Collected, Handoff, complete_and_seal, sealed_bytes
from rolewall.rundir import (
    RunInfo,
    TaskRef,
    episode_key,
    read_info,
    write_record,
    write_run_info,
)
from rolewall.sandbox import BlobStore, Entry, Manifest
from rolewall.terminal import escape

START = 1_700_000_000.0
ROLES = ("planner", "executor", "verifier")


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def make_record(
    task: str = "t0",
    condition: str = "enforced",
    trial: int = 0,
    verdict: str = "approve",
    grade: str = "pass",
    **more: Any,
) -> EpisodeRecord:
    """One finished episode; ``more`` overrides any field of the record.

    Phases, rows, sums and ledger are made to agree with the rest where they are not given."""
    digests = {"task": digest_of(task), "team": digest_of("team"), "code": digest_of("code")}
    fields: dict[str, Any] = {
        "task": task,
        "team": "fixers",
        "condition": condition,
        "trial": trial,
        "seed": 7 + trial,
        "backend": "bubblewrap",
        "image": "host",
        "started": START,
        "ended": START + 3.5,
        "status": "complete",
        "verdict": verdict,
        "grade": grade,
        "trust": "outside",
        "digests": digests,
        "seconds": {"agents": 2.0, "grader": 1.0, "harness": 0.5},
        **more,
    }
    fields.setdefault(
        "key",
        episode_key(
            task=TaskRef(id=fields["task"], digest=fields["digests"].get("task", "")),
            team_digest=fields["digests"].get("team", ""),
            condition=fields["condition"],
            trial=fields["trial"],
            seed=fields["seed"],
            backend=fields["backend"],
            image=fields["image"],
            code=fields["digests"].get("code", ""),
            observe=fields.get("observe", "changes"),
        ),
    )
    _agree(fields)
    return EpisodeRecord.model_validate(fields)


def _agree(fields: dict[str, Any]) -> None:
    fields.setdefault("isolated", True)
    if fields["grade"] == "error" and "error" not in fields:
        fields |= {"status": "error", "error": {"kind": "grader", "message": ""}}
    if "phases" not in fields:
        tried = fields.get("attempts") or {"verifier": {}}
        fields["phases"] = [
            bare_phase(role, index=n, attempts=done) for n, (role, done) in enumerate(tried.items())
        ]
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for phase in fields["phases"]:
        sums[phase["role"]].update(phase.get("attempts", {}))
    fields.setdefault("attempts", {role: dict(found) for role, found in sums.items()})
    graded = {"grade": fields["grade"], "trust": fields["trust"]}
    row = {"round": 1, "phase": 0, "verdict": fields["verdict"], "isolated": fields["isolated"],
           "grade_after": graded}  # fmt: skip
    last = fields["phases"][-1]["index"] if fields["phases"] else 0
    fields.setdefault("verdicts", [row | {"phase": last}])
    fields.setdefault("ledger_head", digest_of(fields["key"]))
    fields.setdefault("ledger_lines", 1)


def bare_phase(role: str, **more: Any) -> dict[str, Any]:
    return {"index": 0, "role": role, "round": 1, "started": START, "ended": START + 1,
            "outcome": "done", "returncode": 0, **more}  # fmt: skip


def counts(edits: int = 0, landed: bool = False) -> dict[str, int]:
    outcome = "edit_allowed" if landed else "edit_blocked"
    return {"edit_attempted": edits, outcome: edits, "distinct_edits": min(edits, 1), "own": 3}


def seal_anew(run: Path) -> None:
    """Seal a run as it stands, as whoever may write all of it could."""
    (run / LOG).write_bytes(b"")
    with RunSeals(run, read_info(run).summary()) as seals:
        for path in sorted(run.glob("episodes/*/episode.json")):
            data = path.read_bytes()
            record = EpisodeRecord.model_construct(**json.loads(data))
            with seals.sealing(path.parent, record.summary(), data):
                pass
        seals.close()


@dataclass
class RunBuilder:
    """Writes a run directory; ``add`` gives an episode all its evidence."""

    path: Path
    records: list[EpisodeRecord] = field(default_factory=list)

    def add(self, *, edits: int = 0, landed: bool = False, **fields: Any) -> Path:
        record = make_record(**fields)
        directory = self.path / "episodes" / record.key
        for name in ("manifests", "handoffs", "transcripts"):
            (directory / name).mkdir(parents=True)
        phases = self._phases(directory, edits, landed)
        head, lines = self._ledger(directory, edits, landed)
        verdict = {
            "round": 1,
            "phase": 2,
            "verdict": record.verdict,
            "why": "looks right to me",
            "claims": [{"command": "pytest", "seen": "no"}],
            "isolated": record.isolated,
            "grade_before": {"grade": record.grade, "trust": record.trust, "why": "1 test failed"},
            "grade_after": {"grade": record.grade, "trust": record.trust},
        }
        full = {
            **record.model_dump(),
            "phases": phases,
            "verdicts": [verdict],
            "attempts": {phase["role"]: phase["attempts"] for phase in phases},
            "ledger_head": head,
            "ledger_lines": lines,
        }
        made = EpisodeRecord.model_validate(full)
        write_record(directory, made)
        self.records.append(made)
        return directory

    def finish(self, **fields: Any) -> Path:
        tasks = sorted({r.task for r in self.records}) or ["t0"]
        self.path.mkdir(exist_ok=True)
        shape: dict[str, Any] = {
            "created": START,
            "rolewall": "0.1.0",
            "python": "3.11.2",
            "team": "fixers",
            "team_digest": digest_of("team"),
            "tasks": [TaskRef(id=t, digest=digest_of(t)) for t in tasks],
            "conditions": sorted({r.condition for r in self.records}) or ["enforced"],
            "trials": 1,
            "backend": "bubblewrap",
            "image": "host",
            "planned": len(self.records),
            "seed": 7,
            **fields,
        }
        write_run_info(self.path, RunInfo.model_validate(shape))
        seal_anew(self.path)
        return self.path

    def _phases(self, directory: Path, edits: int, landed: bool) -> list[dict[str, Any]]:
        phases: list[dict[str, Any]] = []
        previous: str | None = None
        store = BlobStore(self.path / "blobs.git")
        for index, role in enumerate(ROLES):
            app = store.put_bytes(b"x" * index)
            manifest = Manifest(
                (
                    Entry(b"", "dir", 0o755),
                    Entry(b"app.py", "file", 0o644, size=app.size, oid=app.oid,
                          digest=f"sha256:{app.sha256}"),
                )
            )  # fmt: skip
            (directory / "manifests" / f"{index:02}-{role}-workspace.jsonl").write_bytes(
                b"".join(manifest.lines())
            )
            sealed = complete_and_seal(
                Collected(Handoff(schema_version=1, text=f"{role} is done"), ()),
                author=role,
                phase=index,
                time=START + index,
                previous=previous,
            )
            previous = sealed.seal.sha256
            (directory / "handoffs" / f"{index:02}-{role}.json").write_bytes(sealed_bytes(sealed))
            transcript = f"{index:02}-{role}.jsonl"
            (directory / "transcripts" / transcript).write_text("hello\n")
            crossed = role == "verifier" and edits > 0
            change = {"zone": "workspace", "path": "app.py", "change": "modified",
                      "what": ["content"], "cross_role": True}  # fmt: skip
            phases.append(
                {
                    "index": index,
                    "role": role,
                    "round": 1,
                    "started": START + index,
                    "ended": START + index + 0.9,
                    "outcome": "done",
                    "returncode": 0,
                    "attempts": counts(edits, landed) if crossed else counts(),
                    "manifests": {"workspace": manifest.digest},
                    "changes": [change] if crossed and landed else [],
                    "changed": {"cross_role": 1, "landed": 1} if crossed and landed else {},
                    "handoff": previous,
                    "transcript": f"transcripts/{transcript}",
                    "transcript_sha256": {transcript: digest_of("hello\n")},
                }
            )
        return phases

    def _ledger(self, directory: Path, edits: int, landed: bool) -> tuple[str, int]:
        with Ledger(directory / "audit.jsonl") as ledger:
            ledger.append({"type": "note", "text": f"phase 0 of {directory.name}"})
            for n in range(edits):
                ledger.append(
                    {
                        "type": "attempt",
                        "time": START + 2 + n / 100,
                        "role": "verifier",
                        "phase": 2,
                        "pid": 12,
                        "comm": "sed",
                        "exe": "/usr/bin/sed",
                        "syscall": "openat",
                        "effect": "create-write",
                        "paths": ["/workspace/app.py"],
                        "flags": ["O_RDWR", "O_CREAT"],
                        "zone": "workspace",
                        "owner": "executor",
                        "kind": "edit",
                        "outcome": "allowed" if landed else "blocked",
                        "why": "the mount is writable" if landed else "the mount is read-only",
                    }
                )
            ledger.append({"type": "own", "role": "executor", "phase": 1, "count": 3})
            return ledger.head, ledger.lines


@pytest.fixture
def edit() -> Callable[..., None]:
    """Change keys of a record, and seal the run anew so that nothing but the record itself
    tells."""

    def change(path: Path, **fields: Any) -> None:
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
        seal_anew(path.parents[2])

    return change


@pytest.fixture
def builder(tmp_path: Path) -> RunBuilder:
    return RunBuilder(tmp_path / "run")


@pytest.fixture
def record() -> Callable[..., EpisodeRecord]:
    return make_record


@pytest.fixture
def many() -> Callable[..., list[EpisodeRecord]]:
    def make(pairs: Sequence[tuple[str, str]], **more: Any) -> list[EpisodeRecord]:
        """One record for each (verdict, grade), each of a task of its own."""
        return [
            make_record(task=f"t{n}", verdict=verdict, grade=grade, **more)
            for n, (verdict, grade) in enumerate(pairs)
        ]

    return make


@dataclass(frozen=True)
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Here = Callable[..., Ran]


@pytest.fixture
def here() -> Here:
    """The command in this process, where nothing is run: many words cost little so."""

    def call(*arguments: object) -> Ran:
        done = CliRunner().invoke(cli, list(map(str, arguments)), standalone_mode=False)
        error = done.exception
        if isinstance(error, Exception):
            code, message = explain(error)
            return Ran(code, done.stdout, f"{done.stderr}rolewall: {escape(message)}\n")
        code = done.return_value if isinstance(done.return_value, int) else done.exit_code
        return Ran(code, done.stdout, done.stderr)

    return call
