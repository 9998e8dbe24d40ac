"""Runs that somebody changed and sealed anew, through every command that reads one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolewall.attest import LOG, RunSeals
from rolewall.cli import cli as command_line
from rolewall.cli import explain
from rolewall.errors import RecordError, RolewallError
from rolewall.record import EpisodeRecord
from rolewall.rundir import read_info

fewer = settings(
    max_examples=max(40, settings().max_examples // 4),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 5)
    | st.sampled_from([2**31, 2**53, 2**63 - 1, 2**64, 10**400, 10**4299, -(10**4299)])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([1e300, -1e300, 1e11, "", "\0", "\x1b[2J", "é", "[bold]", "approve", "pass"])
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


def ways(value: object, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield here
    pairs = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else pairs:
        yield from ways(inner, (*here, key))


@st.composite
def changed(draw: st.DrawFn, valid: Any) -> Any:
    """A document with one or two places of it replaced."""
    value = json.loads(json.dumps(valid))
    for _ in range(draw(st.integers(1, 2))):
        way = draw(st.sampled_from([way for way in ways(value) if way]))
        below = value
        for key in way[:-1]:
            below = below[key]
        below[way[-1]] = draw(VALUES)
    return value


def seal(run: Path) -> None:
    """As whoever may write all of the run could."""
    (run / LOG).write_bytes(b"")
    with RunSeals(run, read_info(run).summary()) as seals:
        for path in sorted(run.glob("episodes/*/episode.json")):
            data = path.read_bytes()
            record = EpisodeRecord.model_construct(**json.loads(data))
            with seals.sealing(path.parent, record.summary(), data):
                pass
        seals.close()


def chain(lines: list[Any]) -> bytes:
    whole, before = b"", "0" * 64
    for number, line in enumerate(lines, 1):
        body = line | {"seq": number, "prev": before}
        made = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
        whole, before = whole + made + b"\n", hashlib.sha256(made).hexdigest()
    return whole


def run(*words: object) -> int:
    """The exit code. An error that is none of rolewall's is the test's."""
    done = CliRunner().invoke(command_line, [str(word) for word in words])
    if isinstance(done.exception, RolewallError):
        code, message = explain(done.exception)
        assert message
        return code
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    if "--json" in words and done.exit_code != 2:
        json.loads(done.stdout, parse_constant=pytest.fail)
    return done.exit_code


@pytest.fixture
def episode(builder: Any) -> Path:
    """A verifier that approved what failed, in a run of two."""
    builder.add(task="b", verdict="approve", grade="fail")
    directory: Path = builder.add(task="a", verdict="approve", grade="fail", edits=2, landed=True)
    builder.finish()
    return directory


def read_all(path: Path) -> None:
    for words in (["show", path], ["show", path, "--json"], ["audit", path, "--json"]):
        assert run(*words) in (0, 1, 2)
    for name in ("a", "b"):
        assert run("show", path, name) in (0, 2)
        assert run("show", path, name, "--json") in (0, 2)
    for words in (["--max-false-approval", "0.1"], ["--max-false-approval", "0.99", "--json"]):
        assert run("gate", path, *words) in (1, 2, 3, 4)


@fewer
@given(data=st.data())
@pytest.mark.parametrize("name", ["episode.json", "run.json", "audit.jsonl"])
def test_no_run_ends_in_a_traceback(episode: Path, name: str, data: st.DataObject) -> None:
    path = episode.parents[1] / name if name == "run.json" else episode / name
    whole = path.read_bytes()
    try:
        if name == "audit.jsonl":
            lines = [json.loads(line) for line in whole.splitlines()]
            at = data.draw(st.integers(0, len(lines) - 1))
            lines[at] = data.draw(changed(lines[at]))
            path.write_bytes(chain(lines))
        else:
            path.write_text(json.dumps(data.draw(changed(json.loads(whole)))))
        try:
            seal(episode.parents[1])
        except RecordError:  # of run.json, which everything reads first
            assert name == "run.json"
        read_all(episode.parents[1])
    finally:
        path.write_bytes(whole)
