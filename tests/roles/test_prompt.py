from __future__ import annotations

import json
import re

import pytest

from rolewall.errors import InputError
from rolewall.policies import ROLES, HostPort, compile_mounts, enforced, prompt_only
from rolewall.roles.handoff import parse_handoff
from rolewall.roles.prompt import TaskFacts, render_prompt
from rolewall.roles.verdict import read_verdict

FACTS = TaskFacts("fix-parser", 900, round=1, rounds=2)
NONCE = "0123456789abcdef" * 2


def prompt(role: str, *, wall: bool = True) -> str:
    policy = (enforced if wall else prompt_only)()
    nonce = NONCE if role == "verifier" else None
    return render_prompt(compile_mounts(policy, role), FACTS, nonce=nonce)


def examples(text: str) -> list[bytes]:
    return [block.encode() for block in re.findall(r"```json\n(.*?)\n```", text, re.DOTALL)]


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("role", ROLES)
def test_only_the_access_paragraph_differs_between_conditions(role: str) -> None:
    wall, none = sections(prompt(role)), sections(prompt(role, wall=False))
    assert [name for name in wall if wall[name] != none[name]] == ["Access"]
    for text in (prompt(role), prompt(role, wall=False)):
        assert "enforced" not in text
        assert "prompt-only" not in text


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
