from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from rolewall.errors import InputError
from rolewall.policies import (
    CONDITIONS,
    HAS_VERIFIER,
    ROLES,
    HostPort,
    compile_mounts,
    condition,
    enforced,
)
from rolewall.roles.handoff import parse_handoff
from rolewall.roles.prompt import TaskFacts, render_prompt
from rolewall.roles.verdict import read_verdict

FACTS = TaskFacts("fix-parser", 900, round=1, rounds=2)
VERIFIER = (
    "The verifier is the first to judge it; if its feedback from an earlier round is there, "
    "answer it."
)
NONCE = "0123456789abcdef" * 2


def prompt(role: str, name: str = "enforced") -> str:
    policy = condition(name)()
    nonce = NONCE if role == "verifier" else None
    facts = replace(FACTS, roles=policy.roles)
    return render_prompt(compile_mounts(policy, role), facts, nonce=nonce)


def examples(text: str) -> list[bytes]:
    return [block.encode() for block in re.findall(r"```json\n(.*?)\n```", text, re.DOTALL)]


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


CASES = [(name, role) for name in CONDITIONS for role in condition(name)().roles]


@pytest.mark.parametrize(("name", "role"), CASES)
def test_only_the_access_paragraph_differs_between_conditions(name: str, role: str) -> None:
    wall, other = sections(prompt(role)), sections(prompt(role, name))
    assert list(wall) == list(other)
    differ = {title for title in wall if wall[title] != other[title]}
    alone = "" if {"verifier", "planner"} & set(condition(name)().roles) else "of a team"
    if HAS_VERIFIER[name] or role != "executor":
        assert differ <= {"Access"}
        assert differ or name == "enforced"
    else:
        # No word about a verifier whom there is not, and all other words as they are.
        left = wall[""].replace(f" {VERIFIER}", "").replace(f" {alone}" if alone else "", "")
        assert VERIFIER in wall[""] and other[""] == left
        assert differ <= {"", "Access"}
        assert "verifier" not in prompt(role, name)
    for known in CONDITIONS:
        assert not re.search(rf"\b{known}\b", prompt(role, name))


@pytest.mark.parametrize("role", ["planner", "executor"])
def test_nonce_and_verdict_are_the_verifiers_alone(role: str) -> None:
    text = prompt(role)
    assert "nonce" not in text
    assert "verdict.json" not in text
    assert "rolewall-check" not in text
    with pytest.raises(InputError, match="nobody else"):
        render_prompt(compile_mounts(enforced(), role), FACTS, nonce=NONCE)


def test_the_verifier_needs_a_nonce() -> None:
    with pytest.raises(InputError, match="a nonce is for the verifier"):
        render_prompt(compile_mounts(enforced(), "verifier"), FACTS)
    assert NONCE in prompt("verifier")
    assert "rolewall-check -- COMMAND" in prompt("verifier")


@pytest.mark.parametrize("role", ROLES)
def test_examples_are_valid(role: str) -> None:
    found = examples(prompt(role))
    assert parse_handoff(found[0], "example").steps
    if role == "verifier":
        assert read_verdict(found[1], NONCE).verdict == "reject"
        assert json.loads(found[1])["nonce"] == NONCE
    assert len(found) == (2 if role == "verifier" else 1)


def test_places_are_those_that_the_role_can_see() -> None:
    assert "/spec/spec.md" not in prompt("executor")
    assert "/spec/spec.md" in prompt("verifier")
    assert "/grader" not in "".join(prompt(role) for role in ROLES)
    assert "/plan/handoff.json" in prompt("executor")
    alone = enforced(("executor", "verifier"))
    assert "/plan" not in render_prompt(compile_mounts(alone, "executor"), FACTS)


def test_access_says_what_the_mounts_are() -> None:
    assert "You can write in `/feedback` and `/verdict`." in prompt("verifier")
    assert "You can reach no network." in prompt("verifier")
    policy = enforced(network={"executor": (HostPort("models.internal", 443),)})
    text = render_prompt(compile_mounts(policy, "executor"), FACTS)
    assert "You can reach `models.internal:443`." in text


@pytest.mark.parametrize(
    ("role", "name", "zones"),
    [
        ("planner", "enforced", ["feedback"]),
        ("executor", "enforced", ["plan", "feedback"]),
        ("verifier", "enforced", ["plan", "report"]),
        ("executor", "no-plan", ["feedback"]),
        ("executor", "solo", []),
    ],
)
def test_the_briefings_of_others_are_named_and_no_other(
    role: str, name: str, zones: list[str]
) -> None:
    found = re.findall(r"/rolewall/handoffs/(\w+)/briefing\.md", prompt(role, name))
    assert found == zones
    assert ("`handoff steps`" in prompt(role, name)) == bool(zones)
