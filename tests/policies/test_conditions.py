from __future__ import annotations

import pytest

from rolewall.errors import PolicyError
from rolewall.policies.conditions import (
    CONDITIONS,
    HAS_VERIFIER,
    ROLES,
    condition,
    enforced,
    prompt_only,
)
from rolewall.policies.model import HARNESS, Access, HostPort, Limits, Policy, Zone
from rolewall.policies.mounts import compile_mounts

DESIGN = """
spec       harness   read   hidden read
brief      harness   read   read   read
workspace  executor  read   write  read
plan       planner   write  read   read
report     executor  hidden write  read
feedback   verifier  read   read   write
verdict    verifier  hidden hidden write
history    harness   hidden hidden hidden
grader     harness   hidden hidden hidden
"""


def rows() -> list[tuple[str, str, dict[str, str]]]:
    lines = [line.split() for line in DESIGN.strip().splitlines()]
    return [(zone, owner, dict(zip(ROLES, words, strict=True))) for zone, owner, *words in lines]


def test_enforced_is_the_table() -> None:
    policy = enforced()
    assert policy.single_writer
    assert [(z.name, z.owner) for z in policy.zones if not z.private] == [
        (zone, owner) for zone, owner, _ in rows()
    ]
    for zone, _, access in rows():
        assert {role: policy.access[role][zone] for role in ROLES} == access
    for role in ROLES:
        assert policy.access[role]["tmp"] == policy.access[role]["home"] == "write"


def test_prompt_only_differs_in_writing_alone() -> None:
    wall, none = enforced(), prompt_only()
    assert none.name == "prompt-only"
    assert not none.single_writer
    assert none.zones == wall.zones
    for role in ROLES:
        for zone in wall.zones:
            before, after = wall.access[role][zone.name], none.access[role][zone.name]
            assert (before is Access.HIDDEN) == (after is Access.HIDDEN)
            if before is not Access.HIDDEN:
                assert after is Access.WRITE


# Role, then the zones that it writes, those that it only reads, and those that it does not see.
OTHERS = {
    "prompt-only-open": """
        planner   spec brief workspace plan feedback history | - | report verdict grader
        executor  spec brief workspace plan report feedback history | - | verdict grader
        verifier  spec brief workspace plan report feedback verdict history | - | grader
    """,
    "enforced-shared-history": """
        planner   plan | spec brief workspace feedback history | report verdict grader
        executor  workspace report | brief plan feedback history | spec verdict grader
        verifier  feedback verdict | spec brief workspace plan report history | grader
    """,
    "solo": "executor  workspace report | spec brief | history grader",
    "restricted": "executor  workspace report | brief | spec history grader",
    "no-plan": """
        executor  workspace report | brief feedback | spec verdict history grader
        verifier  feedback verdict | spec brief workspace report | history grader
    """,
    "no-verify": """
        planner   plan | spec brief workspace | report history grader
        executor  workspace report | brief plan | spec history grader
    """,
}


def said(line: str) -> tuple[str, list[set[str]]]:
    role, _, zones = line.strip().partition(" ")
    return role, [set(part.split()) - {"-"} for part in zones.split("|")]


@pytest.mark.parametrize("name", OTHERS)
def test_the_other_conditions_are_their_tables(name: str) -> None:
    policy = condition(name)()
    lines = dict(map(said, OTHERS[name].strip().splitlines()))
    assert policy.name == name
    assert policy.roles == tuple(lines)
    assert policy.single_writer == (not name.startswith("prompt-only"))
    shared = {zone.name for zone in policy.zones if not zone.private}
    for role, (writes, reads, hidden) in lines.items():
        compiled = compile_mounts(policy, role)
        assert {m.zone for m in compiled.mounts if m.writable} == writes
        assert {m.zone for m in compiled.mounts if not m.writable} == reads
        assert {h.zone for h in compiled.hidden} == hidden
        assert writes | reads | hidden == shared
        assert compiled.private == ("tmp", "home")


def test_every_condition_has_its_table() -> None:
    assert {"enforced", "prompt-only", *OTHERS} == set(CONDITIONS) == set(HAS_VERIFIER)
    for name, has in HAS_VERIFIER.items():
        assert has == ("verifier" in condition(name)().roles)


@pytest.mark.parametrize("name", CONDITIONS)
def test_an_owner_is_the_same_in_every_condition(name: str) -> None:
    owners = {zone.name: zone.owner for zone in enforced().zones}
    assert all(owners[zone.name] == zone.owner for zone in condition(name)().zones)


@pytest.mark.parametrize("name", CONDITIONS)
def test_grader_is_hidden_in_every_condition(name: str) -> None:
    policy = condition(name)()
    for role in policy.roles:
        compiled = compile_mounts(policy, role)
        assert "grader" not in {mount.zone for mount in compiled.mounts}
        assert "grader" in {hidden.zone for hidden in compiled.hidden}


def test_unknown_condition_names_the_known() -> None:
    with pytest.raises(PolicyError, match=r"got 'duo'; expected one of enforced, prompt-only, "):
        condition("duo")


@pytest.mark.parametrize(
    ("name", "roles", "words"),
    [
        ("no-plan", ("executor", "verifier"), "takes away the planner, and the team has none"),
        ("no-verify", ("planner", "executor"), "takes away the verifier, and the team has none"),
        ("solo", ("planner", "verifier"), "nobody of the team takes part in condition solo"),
    ],
)
def test_a_condition_that_would_be_no_other(name: str, roles: tuple[str, ...], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        condition(name)(roles)
    assert condition("enforced")(roles).roles == roles


def test_the_network_of_who_has_no_part_is_left_out() -> None:
    network = {role: (HostPort("models.internal", 443),) for role in ROLES}
    assert set(condition("solo")(network=network).network) == {"executor"}
    with pytest.raises(PolicyError, match="network of an unknown role 'auditor'"):
        condition("solo")(network={"auditor": ()})


def test_a_team_without_a_planner_has_no_plan() -> None:
    policy = enforced(("executor", "verifier"))
    assert policy.roles == ("executor", "verifier")
    assert "plan" not in {zone.name for zone in policy.zones}


@pytest.mark.parametrize("roles", [(), ("executor", "reviewer")])
def test_roles_that_are_none(roles: tuple[str, ...]) -> None:
    with pytest.raises(PolicyError):
        enforced(roles)


def test_limits_and_network_are_carried() -> None:
    allow = {"executor": (HostPort("models.internal", 443),)}
    policy = enforced(limits=Limits(pids=32), network=allow)
    assert compile_mounts(policy, "executor").network == allow["executor"]
    assert compile_mounts(policy, "verifier").network == ()
    assert compile_mounts(policy, "verifier").limits.pids == 32
    with pytest.raises(PolicyError, match="network of an unknown role 'auditor'"):
        enforced(network={"auditor": ()})


def test_compiled_mounts_of_the_verifier() -> None:
    compiled = compile_mounts(enforced(), "verifier")
    assert [(m.target, m.writable) for m in compiled.mounts] == [
        ("/spec", False),
        ("/brief", False),
        ("/workspace", False),
        ("/plan", False),
        ("/report", False),
        ("/feedback", True),
        ("/verdict", True),
    ]
    assert {h.zone for h in compiled.hidden} == {"history", "grader"}
    assert compiled.private == ("tmp", "home")
    facts = {zone.name: zone for zone in compiled.view().zones}
    assert set(facts) == {zone.name for zone in enforced().zones}
    assert facts["workspace"].owner == "executor"
    assert (facts["tmp"].owner, facts["tmp"].private) == ("verifier", True)
    assert facts["grader"].owner == HARNESS


def test_compile_refuses_an_unknown_role_and_a_bad_policy() -> None:
    with pytest.raises(PolicyError, match="unknown role; got 'auditor'"):
        compile_mounts(enforced(), "auditor")
    silent = Policy("p", ("a",), (Zone("w", "a"),), {})
    with pytest.raises(PolicyError, match="nothing says"):
        compile_mounts(silent, "a")
