from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolewall.roles.verdict import read_verdict

NONCE = "b3f1c0ffee" * 4
GOOD: dict[str, Any] = {
    "schema_version": 1,
    "nonce": NONCE,
    "verdict": "approve",
    "summary": "it holds",
    "checks": [{"name": "tests", "ok": True, "evidence": "12 passed"}],
    "commands": ["rolewall-check -- pytest"],
}


def raw(**changes: object) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


def without(key: str) -> bytes:
    return json.dumps({k: v for k, v in GOOD.items() if k != key}).encode()


@pytest.mark.parametrize("word", ["approve", "reject"])
def test_a_verdict(word: str) -> None:
    found = read_verdict(raw(verdict=word), NONCE)
    assert (found.verdict, found.why) == (word, "it holds")
    assert found.checks[0].name == "tests"
    assert found.commands == ("rolewall-check -- pytest",)


def test_the_summary_may_be_absent() -> None:
    assert read_verdict(without("summary"), NONCE).verdict == "approve"


MISSING: dict[str, tuple[bytes | None, str]] = {
    "no file": (None, "no verdict was written"),
    "empty": (b"", "not JSON"),
    "word": (b"APPROVE", "not JSON"),
    "fence": (b"```json\n" + raw() + b"\n```\n", "not JSON"),
    "trailing text": (raw() + b"\nI approve.", "extra data"),
    "two": (raw() + raw(), "extra data"),
    "leading text": (b"Verdict: " + raw(), "not JSON"),
    "list": (b"[" + raw() + b"]", "not a mapping"),
    "duplicate key": (raw()[:-1] + b', "verdict": "approve"}', "duplicate key 'verdict'"),
    "other nonce": (raw(nonce=NONCE[::-1]), "not the nonce of this phase"),
    "nonce of another length": (raw(nonce=NONCE + "0"), "not the nonce"),
    "empty nonce": (raw(nonce=""), "not the nonce"),
    "no nonce": (without("nonce"), "nonce: missing"),
    "nonce of another type": (raw(nonce=1), "nonce: not acceptable; got 1"),
    "surrogate nonce": (raw(nonce="\ud800"), "surrogate"),
    "no version": (without("schema_version"), "schema_version: missing"),
    "version as text": (raw(schema_version="1"), "schema_version"),
    "true as version": (raw(schema_version=True), "schema_version"),
    "unknown key": (raw(mood="good"), "mood: unknown key"),
    "case": (raw(verdict="Approve"), "verdict: not acceptable; got 'Approve'"),
    "boolean": (raw(verdict=True), "verdict"),
    "list of verdicts": (raw(verdict=["approve"]), "verdict"),
    "ok as text": (raw(checks=[{"name": "a", "ok": "yes", "evidence": ""}]), "checks[0].ok"),
    "check without evidence": (raw(checks=[{"name": "a", "ok": True}]), "checks[0].evidence"),
    "nan": (raw()[:-1] + b', "x": NaN}', "NaN is no number"),
    "deep": (b"[" * 5000, "nested too deeply"),
    "not text": (b"\xff" + raw(), "not text"),
    "too large": (raw(summary="x" * 70_000), "too large"),
}


@pytest.mark.pain(6)
@pytest.mark.parametrize("case", MISSING)
def test_what_is_missing_says_why(case: str) -> None:
    data, why = MISSING[case]
    found = read_verdict(data, NONCE)
    assert found.verdict == "missing"
    assert why in found.why
    assert not found.checks
    assert not found.commands


def test_a_harness_without_a_nonce_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="without a nonce"):
        read_verdict(raw(nonce=""), "")


@pytest.mark.pain(6)
@pytest.mark.pain(25)
@settings(deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_are_an_approval(data: bytes) -> None:
    assert read_verdict(data, NONCE).verdict == "missing"


@settings(deadline=None)
@given(
    st.recursive(st.none() | st.booleans() | st.text() | st.integers(), st.lists),
    st.sampled_from(sorted(GOOD)),
)
def test_no_value_raises(value: object, key: str) -> None:
    found = read_verdict(raw(**{key: value}), NONCE)
    if key == "nonce":
        assert found.verdict == "missing"
