"""What roles and graders leave: read as what it says in full, or not counted at all."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolewall.errors import InputError, RecordError
from rolewall.graders import CommandSpec, ScriptSpec
from rolewall.graders.command import CommandGrader
from rolewall.graders.pytest_events import StreamError, read_events, replay
from rolewall.graders.script import ScriptGrader
from rolewall.roles import Collected, Handoff, complete_and_seal, sealed_bytes
from rolewall.roles.handoff import parse_handoff, read_handoff
from rolewall.roles.seal import Evidence, parse_sealed, verify_seal
from rolewall.roles.verdict import read_verdict
from rolewall.sandbox import Completed, Output

if TYPE_CHECKING:
    from conftest import Junk, Read

NONCE = "0123456789abcdef"
VERDICT = {
    "schema_version": 1,
    "nonce": NONCE,
    "verdict": "approve",
    "summary": "s",
    "checks": [{"name": "n", "ok": True, "evidence": "e"}],
    "commands": ["pytest -q"],
}
HANDOFF = {
    "schema_version": 1,
    "status": "blocked",
    "text": "t",
    "steps": [
        {"id": "a", "goal": "g", "depends_on": ["b"], "needs": ["n"]},
        {"id": "b", "goal": "g"},
    ],
    "conditions": [{"id": "c", "statement": "s", "status": "met", "authority": "a"}],
    "artifacts": [{"zone": "workspace", "path": "a/b", "sha256": "0" * 64}],
    "questions": ["q"],
}  # fmt: skip
SCORE = {"pass": True, "secondary": {"partial_score": 0.5}, "score": 1, "failure_modes": ["m"]}
EVIDENCE = Evidence(id="e", role="executor", tool="t", started=1.0, ended=2.0, ok=True)
SEALED = sealed_bytes(
    complete_and_seal(
        Collected(Handoff.model_validate(HANDOFF), ("p",)),
        author="executor", phase=1, time=1.5, previous="1" * 64, evidence=[EVIDENCE],
    )
)  # fmt: skip
ENDS = st.fixed_dictionaries(
    {"returncode": st.sampled_from([*range(4), 125, 126, 127, 128, 129, 137, 141, 255])},
    optional={
        name: st.booleans() for name in ("timed_out", "violation", "disk_full", "out_of_memory")
    },
)


@pytest.mark.pain(6)
@pytest.mark.pain(25)
@given(data=st.data())
def test_a_verdict(junk: Junk, data: st.DataObject) -> None:
    found = data.draw(junk.json(VERDICT, VERDICT | {"verdict": "reject"}))
    parsed = read_verdict(found, NONCE)
    if parsed.verdict == "missing":
        assert parsed.why and not parsed.checks
    else:
        said = json.loads(found.decode("utf-8-sig"))
        assert (said["verdict"], said["nonce"]) == (parsed.verdict, NONCE)
        assert type(said["schema_version"]) is int and set(said) <= set(VERDICT)
    assert read_verdict(found, "another nonce").verdict == "missing"


@given(data=st.data())
def test_a_handoff(junk: Junk, read: Read, data: st.DataObject) -> None:
    found = data.draw(junk.json(HANDOFF, {"schema_version": 1}))
    handoff = read(parse_handoff, found, "handoff.json", error=InputError)
    collected = read_handoff(found, "handoff.json")
    assert (handoff is None) == bool(collected.problems)
    if handoff is not None:
        assert collected.handoff == handoff
        again = handoff.model_dump_json().encode()
        assert parse_handoff(again, "handoff.json") == handoff
    elif collected.handoff.status != "done" or collected.handoff.text:
        raise AssertionError("something of a handoff that is none was kept")
    sealed = complete_and_seal(collected, author="executor", phase=1, time=1.0, previous=None)
    verify_seal(parse_sealed(sealed_bytes(sealed), "h"))


@given(data=st.data())
def test_a_sealed_handoff(junk: Junk, read: Read, data: st.DataObject) -> None:
    whole = json.loads(SEALED)
    found = data.draw(junk.json(whole))
    sealed = read(parse_sealed, found, "handoff.json", error=RecordError)
    if sealed is None:
        return
    if json.loads(sealed_bytes(sealed)) == whole:
        verify_seal(sealed, previous="1" * 64)
    else:
        assert read(verify_seal, sealed, error=RecordError) is None
        with pytest.raises(RecordError):
            verify_seal(sealed)


def completed(**ended: Any) -> Completed:
    silent = Output(b"", 0, truncated=False)
    return Completed(("a",), **{"returncode": 0, **ended}, stdout=silent, stderr=silent,
                     started=0.0, ended=0.1)  # fmt: skip


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@given(data=st.data())
def test_a_score(reports: Path, junk: Junk, data: st.DataObject) -> None:
    found = data.draw(junk.json(SCORE, {"pass": False}, {"pass": True}))
    (reports / "score.json").write_bytes(found)
    ended = data.draw(ENDS)
    finding = ScriptGrader(ScriptSpec("grade.sh")).conclude(completed(**ended), reports)
    unwell = any(value for name, value in ended.items() if name != "returncode")
    if unwell or ended["returncode"] in (126, 127, 129, 137):
        assert finding.grade == "error"
    elif finding.grade != "error":
        said = json.loads(found.decode("utf-8-sig"))
        assert said["pass"] is (finding.grade == "pass")
    json.dumps([finding.why, finding.score, dict(finding.details)], allow_nan=False).encode()


@pytest.mark.pain(10)
@pytest.mark.parametrize("how", ["timed_out", "violation", "disk_full", "out_of_memory"])
def test_a_score_of_a_grader_that_was_ended_is_none(reports: Path, how: str) -> None:
    """Also where its last program met a broken pipe, which alone says nothing."""
    (reports / "score.json").write_text(json.dumps(SCORE))
    grader = ScriptGrader(ScriptSpec("grade.sh"))
    assert grader.conclude(completed(returncode=141), reports).grade == "pass"
    assert grader.conclude(completed(returncode=141, **{how: True}), reports).grade == "error"


@given(data=st.data())
def test_an_exit_status(reports: Path, data: st.DataObject) -> None:
    ended = data.draw(ENDS)
    spec = CommandSpec(run=("a",), fail_codes=(1, 3))
    finding = CommandGrader(spec).conclude(completed(**ended), reports)
    if any(value for name, value in ended.items() if name != "returncode"):
        assert finding.grade == "error"
    else:
        grades = {0: "pass", 1: "fail", 3: "fail"}
        assert finding.grade == grades.get(ended["returncode"], "error")


EVENTS = [
    {"n": 0, "event": "begin", "pytest": "9", "python": "3"},
    {"n": 1, "event": "collected", "ids": ["t.py::a"], "dropped": []},
    {"n": 2, "event": "canary", "id": "t.py::c"},
    {"n": 3, "event": "report", "id": "t.py::a", "when": "call", "outcome": "passed",
     "expected_failure": False, "note": ""},
    {"n": 4, "event": "uncollected", "id": "t.py", "note": "n", "own": None},
    {"n": 5, "event": "end", "status": 0, "note": ""},
]  # fmt: skip


@given(data=st.data())
def test_events_of_a_test_run_by_who_has_the_key(junk: Junk, data: st.DataObject) -> None:
    lines = data.draw(st.lists(junk.json(*EVENTS), max_size=4))
    signed = [
        b"@" + hmac.new(b"key", line, hashlib.sha256).hexdigest().encode() + b" " + line
        for line in (line.replace(b"\n", b" ") for line in lines)
    ]
    try:
        run = replay(read_events(b"\n".join(signed), b"key"))
    except StreamError as problem:
        assert str(problem)
        return
    assert run.end is None or isinstance(run.end, int)
    json.dumps([run.collected, run.reports, run.notes, run.uncollected]).encode()
    assert not read_events(b"\n".join(signed), b"another key")
