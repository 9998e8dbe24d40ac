"""Whatever a policy says: a whole one that the lint takes, or one PolicyError."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolewall._files import load_yaml
from rolewall.errors import PolicyError
from rolewall.policies import HARNESS, Access, Policy, compile_mounts, lint, policy_from_mapping

if TYPE_CHECKING:
    from conftest import Junk, Read

POLICY = {
    "name": "two-hands",
    "roles": ["builder", "reviewer"],
    "zones": ["workspace", "findings", "spec", "tmp"],
    "private": ["tmp"],
    "owners": {"builder": ["workspace"], "reviewer": ["findings"], "harness": ["spec"]},
    "access": {
        "builder": {"workspace": "write", "findings": "hidden", "spec": "hidden", "tmp": "write"},
        "reviewer": {"workspace": "read", "findings": "write", "spec": "read", "tmp": "write"},
    },
    "network": {"builder": ["models.internal:443"]},
    "limits": {"phase_seconds": 60},
    "single_writer": True,
}


def load(data: bytes) -> Policy:
    return policy_from_mapping(load_yaml(data, "policy.yaml", error=PolicyError), "policy.yaml")


def stated(policy: Policy) -> dict[str, Any]:
    owners: dict[str, list[str]] = {}
    for zone in policy.zones:
        if not zone.private:
            owners.setdefault(zone.owner, []).append(zone.name)
    return {
        "name": policy.name,
        "roles": list(policy.roles),
        "zones": [zone.name for zone in policy.zones],
        "private": [zone.name for zone in policy.zones if zone.private],
        "owners": owners,
        "access": {
            role: {z: str(a) for z, a in row.items()} for role, row in policy.access.items()
        },
        "network": {role: [str(one) for one in many] for role, many in policy.network.items()},
        "limits": {name: getattr(policy.limits, name) for name in type(policy.limits).__slots__},
        "single_writer": policy.single_writer,
    }


@pytest.mark.pain(15)
@given(data=st.data())
def test_a_policy(junk: Junk, read: Read, data: st.DataObject) -> None:
    policy = read(load, data.draw(junk.yaml(POLICY, POLICY | {"single_writer": False})),
                  error=PolicyError)  # fmt: skip
    if policy is None:
        return
    lint(policy)
    assert policy.roles and policy.zones
    for role in policy.roles:
        assert set(policy.access[role]) == {zone.name for zone in policy.zones}
        compile_mounts(policy, role)
    for zone in policy.zones:
        writers = [r for r in policy.roles if policy.access[r][zone.name] is Access.WRITE]
        assert zone.owner == HARNESS or zone.owner in policy.roles
        assert zone.private or not policy.single_writer or len(writers) <= 1
    assert stated(load(junk.render(stated(policy)))) == stated(policy)


@pytest.mark.parametrize("key", ["\ud800", "\udcff", "\0", "\x1b[2J", "x" * 130])
def test_a_key_that_cannot_be_printed(key: str) -> None:
    with pytest.raises(PolicyError, match=r"unknown key|not acceptable") as caught:
        policy_from_mapping(POLICY | {key: 1})
    assert str(caught.value).isprintable() and caught.value.place
