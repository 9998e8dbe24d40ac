from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolewall.errors import InputError, RecordError
from rolewall.roles.handoff import Collected, Handoff, empty_handoff, parse_handoff, read_handoff
from rolewall.roles.seal import (
    Evidence,
    SealedHandoff,
    complete_and_seal,
    parse_sealed,
    sealed_bytes,
    verify_seal,
)

GOOD: dict[str, Any] = {
    "schema_version": 1,
    "status": "done",
    "text": "prose — with ünïcode",
    "steps": [
        {"id": "a", "goal": "first"},
        {"id": "b", "goal": "second", "depends_on": ["a"], "needs": ["network"], "status": "done"},
    ],
    "conditions": [
        {
            "id": "c",
            "statement": "tests pass",
            "status": "met",
            "forbids": ["use deploy", "write workspace"],
        }
    ],
    "artifacts": [{"zone": "workspace", "path": "src/app.py"}],
    "questions": ["which time zone?"],
}


def raw(**changes: object) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


def seal(handoff: bytes = b"", **changes: Any) -> SealedHandoff:
    collected = read_handoff(handoff or raw(), "h")
    values: dict[str, Any] = {
        "author": "planner",
        "phase": 0,
        "time": 1.5,
        "previous": None,
        "digests": {("workspace", "src/app.py"): "a" * 64},
    }
    return complete_and_seal(collected, **(values | changes))


def test_a_good_handoff() -> None:
    handoff = parse_handoff(raw(), "h")
    assert handoff.steps[1].depends_on == ["a"]
    assert handoff.status == "done"
    assert parse_handoff(b'{"schema_version": 1}', "h").text == ""


def step(name: str, *needs: str) -> dict[str, object]:
    return {"id": name, "goal": "g", "depends_on": list(needs)}


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "unknown key": ({"colour": 1}, "h: colour: unknown key; got 'colour'; expected one of status"),
    "own evidence": ({"evidence": []}, "evidence: unknown key"),
    "own seal": ({"seal": {}}, "seal: unknown key"),
    "schema": ({"schema_version": 2}, "schema_version: not acceptable; got 2"),
    "status": ({"status": "finished"}, "'done' or 'blocked'"),
    "step status": ({"steps": [step("a") | {"status": "DONE"}]}, "h: steps[0].status"),
    "step twice": ({"steps": [step("a"), step("a")]}, "step 'a' is there 2 times"),
    "unknown step": ({"steps": [step("a", "z")]}, "depends on unknown 'z', not one of a"),
    "circle": ({"steps": [step("a", "b"), step("b", "a")]}, "in a circle"),
    "own circle": ({"steps": [step("a", "a")]}, "in a circle: a → a"),
    "id": ({"steps": [step("a b")]}, "steps[0].id"),
    "artifact out": ({"artifacts": [{"zone": "plan", "path": "../x"}]}, "not a plain path"),
    "artifact root": ({"artifacts": [{"zone": "plan", "path": "/etc/x"}]}, "not a plain path"),
    "artifact zone": ({"artifacts": [{"zone": "../x", "path": "x"}]}, "artifacts[0].zone"),
    "text": ({"text": 5}, "text: not acceptable; got 5"),
    "long text": ({"text": "x" * 200_001}, "text"),
    "surrogate": ({"text": "\ud800"}, "text"),
    "number as text": ({"questions": [1]}, "questions[0]"),
}


def held(**changes: object) -> dict[str, object]:
    return {"conditions": [{"id": "c", "statement": "s", **changes}]}


REFUSED |= {
    "prose forbids": (held(forbids="deploy"), "conditions[0].forbids"),
    "no action": (held(forbids=["deploy"]), "no action"),
    "two spaces": (held(forbids=["write  output"]), "no action"),
    "line end": (held(forbids=["write output\n"]), "no action"),
    "other word": (held(forbids=["delete output"]), "no action"),
    "no zone": (held(forbids=["write ../x"]), "no action"),
    "held report": (held(forbids=["write report"]), "cannot hold the zone report"),
    "held spec": (held(forbids=["read spec"]), "cannot hold the zone spec"),
    "many": (held(forbids=["use x"] * 21), "conditions[0].forbids"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    changes, message = REFUSED[case]
    with pytest.raises(InputError) as caught:
        parse_handoff(raw(**changes), "h")
    assert message in str(caught.value)
    str(caught.value).encode()


@pytest.mark.parametrize(
    "junk", [b"", b"\xff\xfe", b"[]", b"null", b"{} {}", b"x" * (256 * 1024 + 1)]
)
def test_junk_becomes_an_empty_handoff_with_the_problem(junk: bytes) -> None:
    collected = read_handoff(junk, "/report/handoff.json")
    assert collected.handoff == Handoff(schema_version=1)
    assert collected.problems[0].startswith("/report/handoff.json")
    sealed = complete_and_seal(collected, author="executor", phase=1, time=1.0, previous=None)
    assert sealed.problems == list(collected.problems)
    verify_seal(sealed)


def test_none_becomes_an_empty_handoff() -> None:
    assert read_handoff(None, "h").problems == ("h: no handoff was written",)
    assert empty_handoff("p") == Collected(Handoff(schema_version=1), ("p",))


def test_seal_holds_through_the_file_and_chains() -> None:
    evidence = Evidence(
        id="e1", role="planner", tool="run", arguments={"argv": ["ls"]}, started=1, ended=2, ok=True
    )
    first = seal(evidence=[evidence])
    second = seal(author="executor", phase=1, previous=first.seal.sha256)
    for handoff, previous in ((first, None), (second, first.seal.sha256)):
        again = parse_sealed(sealed_bytes(handoff), "f")
        assert again == handoff
        verify_seal(again, previous=previous)
        verify_seal(again)
    assert first.evidence == [evidence]
    with pytest.raises(RecordError, match="sealed to another one"):
        verify_seal(second, previous=None)
    with pytest.raises(RecordError, match="sealed to another one"):
        verify_seal(first, previous="0" * 64)


def test_artifact_digests_are_the_harnesss() -> None:
    sealed = seal()
    assert sealed.artifacts[0].sha256 == "a" * 64
    assert sealed.problems == []
    assert seal(digests={}).problems == ["artifact workspace/src/app.py does not exist"]
    lied = raw(artifacts=[{"zone": "workspace", "path": "src/app.py", "sha256": "b" * 64}])
    assert seal(lied).artifacts[0].sha256 == "a" * 64
    assert "digest" in seal(lied).problems[0]


def flip(value: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    return [*value, "x"] if isinstance(value, list) else "x"


@pytest.mark.parametrize("key", ["text", "questions", "problems"])
def test_a_changed_part_breaks_the_seal(key: str) -> None:
    data = json.loads(sealed_bytes(seal()))
    data[key] = flip(data[key])
    with pytest.raises(RecordError, match="not what was sealed"):
        verify_seal(parse_sealed(json.dumps(data).encode(), "f"))


@pytest.mark.parametrize("key", ["author", "phase", "time"])
def test_a_changed_seal_breaks(key: str) -> None:
    data = json.loads(sealed_bytes(seal()))
    data["seal"][key] = flip(data["seal"][key])
    with pytest.raises(RecordError, match="not what was sealed"):
        verify_seal(parse_sealed(json.dumps(data).encode(), "f"))


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    read_handoff(data, "h")
    with pytest.raises(RecordError):
        parse_sealed(data, "f")


def test_a_seal_of_an_earlier_version_holds() -> None:
    """There ``forbids`` was prose: it is kept as it was, and forbids nothing."""
    condition = {
        "id": "c", "statement": "s", "status": "open", "prerequisite": "", "authority": "a person",
        "fallback": "", "forbids": "deploy", "consequence": "",
    }  # fmt: skip
    body: dict[str, Any] = {
        "status": "done", "text": "", "steps": [], "conditions": [condition], "artifacts": [],
        "questions": [], "schema_version": 1, "evidence": [], "problems": [],
        "seal": {"author": "planner", "phase": 0, "time": 1.0, "previous": None},
    }  # fmt: skip
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    body["seal"]["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    found = parse_sealed(json.dumps(body).encode(), "old")
    verify_seal(found)
    assert found.conditions[0].actions == ()
    body["conditions"][0]["forbids"] = "nothing"
    with pytest.raises(RecordError):
        verify_seal(parse_sealed(json.dumps(body).encode(), "old"))
