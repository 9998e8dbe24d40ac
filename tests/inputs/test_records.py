"""Whatever a run directory holds: what was written, or one RecordError with its place."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolewall.attest import read_log
from rolewall.attest.statement import EPISODE_TYPE, parse_seal
from rolewall.errors import RecordError
from rolewall.policies import Attempt, Ledger, read_ledger, verify_ledger
from rolewall.record import EpisodeRecord
from rolewall.recordfile import parse
from rolewall.records.ours import read_ours
from rolewall.rundir import RunInfo
from rolewall.sandbox import load_manifest

if TYPE_CHECKING:
    from conftest import Junk, Read

SHA = "0" * 64
ATTEMPT = {
    "type": "attempt", "time": 1.5, "role": "verifier", "phase": 2, "pid": 12, "comm": "sed",
    "exe": "/usr/bin/sed", "syscall": "openat", "effect": "create-write", "paths": ["/workspace/a"],
    "flags": ["O_RDWR"], "zone": "workspace", "owner": "executor", "kind": "edit",
    "outcome": "blocked", "why": "the mount is read-only",
}  # fmt: skip
PHASE = {
    "index": 0, "role": "verifier", "round": 1, "started": 1.0, "ended": 2.5, "outcome": "done",
    "returncode": 0, "box": {"uid": 1}, "attempts": {"own": 3, "edit_attempted": 1},
    "manifests": {"workspace": SHA}, "changed": {"own": 1},
    "changes": [{"zone": "workspace", "path": "a", "change": "modified", "what": ["content"]}],
    "handoff": SHA, "transcript": "transcripts/a", "transcript_sha256": {"a": SHA},
}  # fmt: skip
GRADE = {"grade": "fail", "trust": "outside", "why": "w", "score": 0.5, "details": {"a": [1]}}
ROW = {
    "round": 1, "phase": 0, "verdict": "reject", "why": "w", "nonce": "n", "isolated": True,
    "checks": [{"name": "n"}], "claims": [{"command": "c", "seen": "no"}], "grade_before": GRADE,
    "grade_after": GRADE,
}  # fmt: skip
EPISODE = {
    "schema_version": 1, "key": "k", "task": "t", "team": "m", "condition": "enforced", "trial": 0,
    "seed": 7, "backend": "docker", "image": "host", "started": 1.0, "ended": 3.5,
    "status": "complete", "verdict": "reject", "grade": "fail", "isolated": True,
    "trust": "outside", "phases": [PHASE], "verdicts": [ROW],
    "attempts": {"verifier": {"own": 3, "edit_attempted": 1}}, "seconds": {"agents": 1.5},
    "ledger_head": "1" * 64, "ledger_lines": 4, "digests": {"task": SHA, "team": SHA, "code": SHA},
}  # fmt: skip
RUN = {
    "schema_version": 1, "created": 1.5, "rolewall": "0.1.0", "python": "3.11.2",
    "host": {"machine": "x"}, "team": "m", "team_digest": SHA,
    "tasks": [{"id": "t", "digest": SHA}],
    "conditions": ["enforced", "prompt-only"], "trials": 2, "backend": "docker", "image": "host",
    "limits": {"pids": 8}, "planned": 2, "seed": 7, "keys": ["k", "l"], "shard": [1, 2],
}  # fmt: skip
SEAL = {
    "_type": "https://in-toto.io/Statement/v1", "predicateType": EPISODE_TYPE,
    "subject": [{"name": "audit.jsonl", "digest": {"sha256": SHA}}], "predicate": {"key": "k"},
}  # fmt: skip
LOG = [
    {"type": "opened", "run": SHA},
    {"type": "sealed", "episode": "k", "seal": SHA},
    {"type": "counted", "episode": "k", "seal": SHA},
    {"type": "discarded", "episode": "k", "seal": SHA},
    {"type": "closed", "episodes": 0},
]
OWNED = {"mode": "0755", "uid": 0, "gid": 0, "mtime_ns": 5}
ENTRY = {
    "path": "a", "kind": "file", "mode": "0644", "uid": 1, "gid": 1, "mtime_ns": 5, "size": 2,
    "digest": f"sha256:{SHA}", "oid": "1" * 40, "nlink": 2, "first": "b", "xattrs": {"user.a": "b"},
}  # fmt: skip
MANIFEST = [
    {"path": "", "kind": "dir", **OWNED},
    ENTRY,
    {"path": "c", "kind": "link", "target": "d\\x0a", **OWNED},
]


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records") / "file"


def chained(lines: list[bytes]) -> bytes:
    """Lines that are JSON objects get the place and the digest that the chain wants of them."""
    whole, before = b"", SHA
    for number, line in enumerate(lines, 1):
        try:
            body = json.loads(line) | {"seq": number, "prev": before}
            made = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
        except (ValueError, TypeError, RecursionError):
            made = line.replace(b"\n", b"")
        before = hashlib.sha256(made).hexdigest()
        whole += made + b"\n"
    return whole


@given(data=st.data())
def test_a_ledger(place: Path, junk: Junk, read: Read, data: st.DataObject) -> None:
    other = [{"type": kind, "text": "t"} for kind in ("note", "own", "exec", "read")]
    lines = data.draw(st.lists(junk.json(ATTEMPT, *other), max_size=3))
    whole = data.draw(st.sampled_from([chained(lines), b"".join(lines), b"\n".join(lines) + b"\n"]))
    place.write_bytes(whole)
    found = read(lambda: list(read_ledger(place)), error=RecordError)
    check = read(verify_ledger, place, error=RecordError)
    assert (found is None) == (check is None)
    if found is None:
        return
    written = [json.dumps(line, sort_keys=True, separators=(",", ":")) for line in found]
    assert "".join(f"{line}\n" for line in written).encode() == whole
    assert sum(check.types.values()) == check.lines == len(found)
    for line in found:
        if line["type"] == "attempt":
            attempt = read(partial(Attempt.from_line, place="a:1"), line, error=RecordError)
            if attempt is not None:
                kept = {key: line[key] for key in line if key not in ("seq", "prev")}
                assert json.loads(json.dumps(attempt.to_line(), allow_nan=False)) == kept
    with Ledger(place) as ledger:
        ledger.append({"type": "note"})
    assert verify_ledger(place).lines == len(found) + 1


@given(data=st.data())
def test_an_attempt(junk: Junk, read: Read, data: st.DataObject) -> None:
    line = data.draw(junk.plain(ATTEMPT))
    if isinstance(line, dict):
        found = read(lambda: Attempt.from_line(line, place="a:1"), error=RecordError)
        assert found is None or set(found.to_line()) == set(ATTEMPT)


@given(data=st.data())
@pytest.mark.parametrize(("model", "valid"), [(EpisodeRecord, EPISODE), (RunInfo, RUN)])
def test_a_record(
    junk: Junk, read: Read, model: type[Any], valid: dict[str, Any], data: st.DataObject
) -> None:
    assert parse(model, json.dumps(valid).encode(), "f")
    found = read(parse, model, data.draw(junk.json(valid)), "episode.json", error=RecordError)
    if found is None:
        return
    again = found.model_dump_json().encode()
    assert parse(model, again, "again") == found
    if isinstance(found, EpisodeRecord):
        assert found.verdict == (found.verdicts[-1].verdict if found.verdicts else "missing")


@given(data=st.data())
def test_a_file_of_records(junk: Junk, read: Read, data: st.DataObject) -> None:
    lines = b"\n".join(data.draw(st.lists(junk.json(EPISODE), max_size=3)))
    found = read(read_ours, lines, "records.jsonl", error=RecordError)
    assert found is None or len({record.key for record in found}) == len(found)


def test_the_manifest_that_is_changed_is_one(place: Path) -> None:
    lines = [{"entries": len(MANIFEST), "rolewall_manifest": 1}, *MANIFEST]
    place.write_bytes(b"".join(compact(json.dumps(line).encode()) for line in lines))
    assert len(load_manifest(place).entries) == len(MANIFEST)


@given(data=st.data())
def test_a_manifest(place: Path, junk: Junk, read: Read, data: st.DataObject) -> None:
    lines = [data.draw(junk.json(line)) for line in MANIFEST]
    lines = [compact(line) for line in lines[: data.draw(st.integers(0, 3))]]
    count = data.draw(st.sampled_from([len(lines)] * 3 + [0, True, -1]))
    header = {"entries": count, "rolewall_manifest": data.draw(st.sampled_from([1, 1, 2, True]))}
    place.write_bytes(b"".join([compact(json.dumps(header).encode()), *lines]))
    found = read(load_manifest, place, error=RecordError)
    if found is not None:
        assert b"".join(found.lines()) == place.read_bytes()


def compact(line: bytes) -> bytes:
    try:
        return json.dumps(json.loads(line), sort_keys=True, separators=(",", ":")).encode() + b"\n"
    except (ValueError, RecursionError):
        return line


@given(data=st.data())
def test_the_log_of_seals(place: Path, junk: Junk, read: Read, data: st.DataObject) -> None:
    lines = data.draw(st.lists(junk.json(*LOG), max_size=4))
    place.write_bytes(
        chained(data.draw(st.sampled_from([lines, [json.dumps(LOG[0]).encode(), *lines]])))
    )
    log = read(read_log, place, error=RecordError)
    assert log is None or log.size + log.cut == place.stat().st_size


@given(data=st.data())
def test_a_seal(junk: Junk, read: Read, data: st.DataObject) -> None:
    found = data.draw(junk.json(SEAL))
    statement = read(parse_seal, found, "seal.json", EPISODE_TYPE, error=RecordError)
    assert statement is None or statement.predicate_type == EPISODE_TYPE
