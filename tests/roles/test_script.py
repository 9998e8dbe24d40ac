from __future__ import annotations

import pytest

from rolewall.errors import TeamError
from rolewall.roles.script import parse_script

GOOD = b"""
steps:
  - {id: look, run: "ls"}
  - {id: tests, check: "pytest -q", timeout: 30, stop_on_failure: true}
  - {run: "true"}
handoff: {text: "prose", status: blocked, questions: ["why?"], steps: [{id: s, goal: g}]}
verdict: {when: tests, then: approve, else: reject}
summary: "as the tests say"
"""


def test_a_verifiers_script() -> None:
    script = parse_script(GOOD, "verify.yaml", "verifier")
    assert script.checks
    assert [step.command for step in script.steps] == ["ls", "pytest -q", "true"]
    assert script.handoff is not None
    assert script.handoff.status == "blocked"
    assert script.decide(frozenset({"look", "tests"})) == "approve"
    assert script.decide(frozenset({"look"})) == "reject"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("verdict: approve", "approve"),
        ("verdict: reject", "reject"),
        ("verdict: none", None),
        ("steps: []", None),
        ("steps: [{id: a, run: x}]\nverdict: {when: a, then: approve, else: none}", None),
    ],
)
def test_verdicts(text: str, verdict: str | None) -> None:
    assert parse_script(text.encode(), "v.yaml", "verifier").decide(frozenset()) == verdict


@pytest.mark.parametrize("role", ["planner", "executor"])
def test_only_a_verifier_judges(role: str) -> None:
    parse_script(b"steps: [{run: ls}]", "s.yaml", role)
    with pytest.raises(TeamError, match=r"s.yaml: verdict: only a verifier gives a verdict"):
        parse_script(b"verdict: none", "s.yaml", role)
    with pytest.raises(TeamError, match=r"steps\[1\].check: only a verifier has a check box"):
        parse_script(b"steps: [{run: ls}, {check: ls}]", "s.yaml", role)


REFUSED = {
    "both": ("steps: [{run: a, check: b}]", "steps[0]: a step has either run or check"),
    "neither": ("steps: [{id: a}]", "either run or check"),
    "unknown step key": (
        "steps: [{run: a, shell: b}]",
        "steps[0].shell: unknown key; got 'shell'; expected one of id, run, check, timeout",
    ),
    "unknown key": ("step: []", "step: unknown key; got 'step'; expected one of steps"),
    "same id": ("steps: [{id: a, run: x}, {id: a, run: y}]", "step id 'a' is there 2 times"),
    "unknown when": (
        "steps: [{id: a, run: x}, {id: b, run: x}]\nverdict: {when: c, then: approve, else: none}",
        "unknown step 'c'; known: a, b",
    ),
    "no ids": (
        "steps: [{run: x}]\nverdict: {when: c, then: approve, else: none}",
        "known: none; give a step an id",
    ),
    "no else": (
        "steps: [{id: a, run: x}]\nverdict: {when: a, then: approve}",
        "verdict.else: missing",
    ),
    "no when": ("verdict: {when: null, then: approve, else: reject}", "when names no step"),
    "word": ("verdict: maybe", "not a verdict, one of approve, reject, none"),
    "branch": (
        "steps: [{id: a, run: x}]\nverdict: {when: a, then: yes, else: none}",
        "verdict.then: not acceptable; got True",
    ),
    "YAML's own truth": ("verdict: yes", "verdict"),
    "no time": ("steps: [{run: a, timeout: 0}]", "steps[0].timeout"),
    "nul": ('steps: [{run: "a\\0b"}]', "steps[0].run"),
    "handoff": ("handoff: {status: stuck}", "handoff.status"),
    "handoff circle": (
        "handoff: {steps: [{id: a, goal: g, depends_on: [a]}]}",
        "handoff: steps depend on one another in a circle",
    ),
    "empty file": ("", "not a mapping; got 'nothing'"),
    "list": ("- run: ls", "not a mapping"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    text, message = REFUSED[case]
    with pytest.raises(TeamError) as caught:
        parse_script(text.encode(), "v.yaml", "verifier")
    assert message in str(caught.value)
    assert str(caught.value).startswith("v.yaml")
