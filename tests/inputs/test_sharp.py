"""Single inputs that a reader of less care takes for ever on, breaks at, or takes for another."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall._files import load_json, load_yaml
from rolewall.errors import InputError, RecordError
from rolewall.graders.pytest_events import StreamError, read_events, replay
from rolewall.policies import Attempt, read_ledger
from rolewall.recordfile import parse
from rolewall.roles.verdict import MAX_VERDICT, read_verdict
from rolewall.rundir import RunInfo

if TYPE_CHECKING:
    from conftest import Read

TWICE = b"".join(b"b%d: &a%d [*a%d,*a%d]\n" % (n, n + 1, n, n) for n in range(60))
LONG = {
    "a text without an end": (load_json, b'"' + b'\\"' * 500_000),
    "a number of base 60": (load_yaml, b"a: 1" + b":59" * 340_000),
    "one text, many times": (
        load_yaml,
        b"a: &a " + b"x" * 500_000 + b"\nb: [*a" + b",*a" * 9000 + b"]",
    ),
    "a list of lists of lists": (
        load_yaml,
        b"a: &a0 [x]\n" + TWICE,
    ),
    "merges of merges": (
        load_yaml,
        b"a: &a0 {k: 1}\n"
        + b"".join(b"b%d: &a%d {<<: [*a%d, *a%d]}\n" % (n, n + 1, n, n) for n in range(60)),
    ),
    "brackets": (load_yaml, b"[" * 500_000),
    "dashes": (load_yaml, b"- " * 500_000),
    "question marks": (load_yaml, b"? " * 500_000),
    "braces": (load_json, b'{"a":' * 200_000),
    "digits": (load_json, b"9" * 1_000_000),
    "an exponent": (load_json, b"1e" + b"9" * 1_000_000),
}  # fmt: skip


def shown(line: bytes) -> str:
    return line[:60].decode()


@pytest.mark.parametrize("name", LONG)
def test_what_has_no_good_end_is_refused_soon(read: Read, name: str) -> None:
    load, data = LONG[name]
    assert read(load, data, "f", error=InputError) is None


def test_what_they_are_the_short_twins_of_is_read() -> None:
    assert load_json(b'"\\"\\""', "f") == '""'
    assert load_yaml(b"a: &a [x]\nb: [*a, *a]\nc: {<<: {k: 1}, l: 2}", "f") == {
        "a": ["x"], "b": [["x"], ["x"]], "c": {"k": 1, "l": 2},
    }  # fmt: skip
    assert load_yaml(b"1:30", "f") == 90


def test_a_verdict_of_escapes_alone_holds_nobody_up() -> None:
    junk = (b'{"a": "' + b'\\"' * MAX_VERDICT)[:MAX_VERDICT]
    assert read_verdict(junk, "n").verdict == "missing"


@pytest.mark.parametrize(
    "line",
    [
        b'{"prev":"0","seq":1,"type":[]}',
        b'{"prev":"0","seq":1,"type":{}}',
        b'{"prev":"0","seq":true,"type":"note"}',
        b'{"prev":"0","seq":1.0,"type":"note"}',
        b'{"prev":"0","seq":1,"time":NaN,"type":"note"}',
        b'{"prev":"0","seq":1,"time":Infinity,"type":"note"}',
        b'{"prev":"0","seq":1,"type":"note","type":"note"}',
        b'{"prev":"0","seq":1,"type":"note","x":' + b"[" * 100_000 + b"}",
    ],
    ids=shown,
)
def test_a_line_that_no_ledger_has(read: Read, tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "audit.jsonl"
    zeros = b'"' + b"0" * 64 + b'"'
    path.write_bytes(b'{"prev":' + zeros + b',"seq":1,"type":"note"}\n')
    assert len(list(read_ledger(path))) == 1, "the twin"
    path.write_bytes(line.replace(b'"prev":"0"', b'"prev":' + zeros) + b"\n")
    assert read(lambda: list(read_ledger(path)), error=RecordError) is None


@pytest.mark.parametrize("time", [10**400, -(10**400), float("nan"), float("inf"), True, "1"])
def test_a_time_that_is_none(time: object) -> None:
    line: dict[str, Any] = {
        "time": 1, "role": "r", "phase": 1, "pid": 1, "comm": "", "exe": "", "syscall": "open",
        "effect": "write", "paths": [], "flags": [], "zone": "", "owner": "", "kind": "own",
        "outcome": "blocked", "why": "",
    }  # fmt: skip
    assert Attempt.from_line(line).time == 1
    with pytest.raises(RecordError, match="not an attempt"):
        Attempt.from_line(line | {"time": time})


@pytest.mark.parametrize(
    "change", [{"trials": 10**30}, {"planned": 10**400}, {"shard": [1, 0]}, {"shard": [0, -1]},
               {"shard": [3, 2]}, {"seed": 10**30}],
)  # fmt: skip
def test_a_run_that_nobody_can_have_asked_for(read: Read, change: dict[str, object]) -> None:
    run = {
        "schema_version": 1, "created": 1.0, "rolewall": "1", "python": "3", "team": "t",
        "team_digest": "d", "tasks": [{"id": "a", "digest": "b"}], "conditions": ["enforced"],
        "trials": 1, "backend": "b", "image": "i", "planned": 1, "seed": 0, "keys": ["a"],
    }  # fmt: skip
    assert parse(RunInfo, json.dumps(run).encode(), "run.json").planned == 1
    changed = json.dumps(run | change).encode()
    assert read(parse, RunInfo, changed, "run.json", error=RecordError) is None


@pytest.mark.pain(8)
@pytest.mark.parametrize(
    "text",
    [
        b'{"n":0,"event":"begin"}', b'{"n":0,"event":"collected","ids":1,"dropped":[]}',
        b'{"n":0,"event":"end","status":"x","note":""}', b'{"n":0,"event":"end","status":Infinity}',
        b'{"n":0,"event":"report","id":"\\ud800"}', b"{", b"[" * 100_000, b'{"n":0,"n":0}',
    ],
    ids=shown,
)  # fmt: skip
def test_events_that_stolen_keys_sign(text: bytes) -> None:
    """Work that is imported beside the tests may come by the key; it breaks no more than itself."""
    mac = hmac.new(b"key", text, hashlib.sha256).hexdigest().encode()
    with pytest.raises(StreamError):
        replay(read_events(b"@" + mac + b" " + text, b"key"))
