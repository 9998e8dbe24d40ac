from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from rolewall.errors import PolicyError
from rolewall.policies.lint import lint
from rolewall.policies.model import Access, HostPort, Policy, Zone
from rolewall.policies.network import parse_host_port
from rolewall.policies.parse import policy_from_mapping

GOOD: dict[str, Any] = {
    "name": "two-hands",
    "roles": ["builder", "reviewer"],
    "zones": ["workspace", "findings", "rules", "grader", "tmp"],
    "private": ["tmp"],
    "owners": {
        "builder": ["workspace"],
        "reviewer": ["findings"],
        "harness": ["rules", "grader"],
    },
    "access": {
        "builder": {
            "workspace": "write",
            "findings": "hidden",
            "rules": "read",
            "grader": "hidden",
            "tmp": "write",
        },
        "reviewer": {
            "workspace": "read",
            "findings": "write",
            "rules": "read",
            "grader": "hidden",
            "tmp": "write",
        },
    },
    "network": {"builder": ["models.internal:443"]},
    "limits": {"phase_seconds": 60},
}


def test_a_good_policy_is_taken_as_it_is() -> None:
    policy = policy_from_mapping(GOOD)
    assert policy.zone("workspace").owner == "builder"
    assert policy.access["reviewer"]["workspace"] is Access.READ
    assert policy.network["builder"] == (HostPort("models.internal", 443),)
    assert policy.limits.phase_seconds == 60
    assert policy.zone("tmp").private
    lint(policy)


Edit = Callable[[dict[str, Any]], object]

REFUSED: dict[str, tuple[Edit, str]] = {
    "no owner": (lambda d: d["owners"].pop("builder"), "zone 'workspace' has no owner"),
    "two owners": (
        lambda d: d["owners"]["reviewer"].append("workspace"),
        "zone 'workspace' has 2 owners: builder, reviewer",
    ),
    "duplicate zone": (
        lambda d: d["zones"].append("workspace"),
        "zone 'workspace' is named 2 times",
    ),
    "unknown owner": (
        lambda d: d["owners"].update(ghost=["workspace"]),
        "owned by an unknown role 'ghost'",
    ),
    "owner of an unknown zone": (
        lambda d: d["owners"]["builder"].append("attic"),
        "owner of an unknown zone 'attic'",
    ),
    "missing pair": (
        lambda d: d["access"]["reviewer"].pop("findings"),
        "nothing says what role 'reviewer' may do with zone 'findings'",
    ),
    "missing role": (lambda d: d["access"].pop("builder"), "nothing says what role 'builder'"),
    "unknown pair": (
        lambda d: d["access"]["builder"].update(attic="read"),
        "access of 'builder' to an unknown zone 'attic'",
    ),
    "unknown role": (
        lambda d: d["access"].update(ghost={}),
        "access of an unknown role 'ghost'",
    ),
    "visible grader": (
        lambda d: d["access"]["reviewer"].update(grader="read"),
        "grader zone is not hidden from 'reviewer'",
    ),
    "owned grader": (
        lambda d: d["owners"].update(harness=["rules"], reviewer=["findings", "grader"]),
        "grader zone is owned by 'reviewer'",
    ),
    "two writers": (
        lambda d: d["access"]["reviewer"].update(workspace="write"),
        "zone 'workspace' has 2 writers: builder, reviewer",
    ),
    "writer of the harness's zone": (
        lambda d: d["access"]["builder"].update(rules="write"),
        "zone 'rules' has 2 writers: harness, builder",
    ),
    "owner that cannot write": (
        lambda d: d["access"]["builder"].update(workspace="read"),
        "'builder' owns zone 'workspace' and cannot write",
    ),
    "private and read": (
        lambda d: d["access"]["builder"].update(tmp="read"),
        "private zone 'tmp' is made empty for 'builder'",
    ),
    "private and shared": (
        lambda d: d["owners"]["builder"].append("tmp"),
        "private zone 'tmp' of builder is shared with 'reviewer'",
    ),
    "private and unknown": (
        lambda d: d["private"].append("attic"),
        "private zone 'attic' is not among the zones",
    ),
    "reserved": (lambda d: d["zones"].append("etc"), "'etc' has a name that a box needs"),
    "bad zone name": (lambda d: d["zones"].append("../x"), "'../x' cannot be the name of a zone"),
    "role called harness": (lambda d: d["roles"].append("harness"), "'harness' cannot be the name"),
    "role twice": (lambda d: d["roles"].append("builder"), "role 'builder' is named 2 times"),
    "access word": (
        lambda d: d["access"]["builder"].update(rules="rw"),
        "unknown access 'rw' of 'builder' to 'rules', not one of hidden, read, write",
    ),
    "no roles": (lambda d: d.update(roles=[], access={}, owners={}, network={}), "no roles"),
    "no zones": (
        lambda d: d.update(zones=[], private=[], access={}, owners={}, network={}),
        "no shared zones",
    ),
    "network of nobody": (
        lambda d: d["network"].update(ghost=[]),
        "network of an unknown role 'ghost'",
    ),
    "wildcard": (lambda d: d["network"].update(builder=["*.com:443"]), "wildcards"),
    "unknown key": (lambda d: d.update(colour="red"), "unknown key; got 'colour'"),
    "unknown limit": (lambda d: d["limits"].update(ram=1), "limits.ram: unknown key"),
    "zero limit": (lambda d: d["limits"].update(pids=0), "limits.pids: not acceptable; got 0"),
    "wrong type": (lambda d: d.update(roles="builder"), "roles: not acceptable"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    edit, message = REFUSED[case]
    data = copy.deepcopy(GOOD)
    edit(data)
    with pytest.raises(PolicyError) as caught:
        policy_from_mapping(data, "policy.yaml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("policy.yaml")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("data", [None, [], "text", {}])
def test_an_empty_policy_refuses(data: object) -> None:
    with pytest.raises(PolicyError):
        policy_from_mapping(data)


def test_two_writers_are_allowed_where_nobody_asks_for_one() -> None:
    data = copy.deepcopy(GOOD)
    data["access"]["reviewer"]["workspace"] = "write"
    data["single_writer"] = False
    assert policy_from_mapping(data).access["reviewer"]["workspace"] is Access.WRITE


def test_all_findings_are_told_at_once() -> None:
    data = copy.deepcopy(GOOD)
    data["access"]["reviewer"]["grader"] = "read"
    data["owners"]["builder"] = []
    with pytest.raises(PolicyError, match=r"no owner; .*grader zone is not hidden"):
        policy_from_mapping(data)


def test_lint_of_a_policy_object() -> None:
    access = {"a": {"w": Access.WRITE}, "b": {"w": Access.READ}}
    lint(Policy("p", ("a", "b"), (Zone("w", "a"),), access))
    twice = Policy("p", ("a", "b"), (Zone("w", "a"), Zone("w", "b")), access)
    with pytest.raises(PolicyError, match="2 owners: a, b"):
        lint(twice)
    with pytest.raises(PolicyError, match="no roles; no shared zones"):
        lint(Policy("p", (), (), {}))


DESTINATIONS = {
    "https://models.internal": "URL",
    "https://models.internal:443/v1": "URL",
    "user@host:443": "URL",
    "*.internal:443": "wildcard",
    "models.internal": "no port",
    ":443": "no port",
    "models.internal:": "port",
    "models.internal:0": "port",
    "models.internal:65536": "port",
    "models.internal:https": "port",
    "models.internal:80-90": "port",
    "[::1]:443": "IPv6",
    "a b:443": "host name",
    "-x:443": "host name",
    "a..b:443": "host name",
    "a\n:443": "host name",
    "": "no port",
    "10.0.0.1:443": "must be a name or an IPv4 loopback address",
    "169.254.169.254:80": "must be a name or an IPv4 loopback address",
    "10.1:80": "must be a name or an IPv4 loopback address",
    "127.1:80": "must be a name or an IPv4 loopback address",
    "2130706433:80": "must be a name or an IPv4 loopback address",
    "0x7f000001:80": "must be a name or an IPv4 loopback address",
    "256.1.1.1:80": "must be a name or an IPv4 loopback address",
}


@pytest.mark.parametrize("text", DESTINATIONS)
def test_destinations_refused_with_an_example(text: str) -> None:
    with pytest.raises(PolicyError, match=r"expected host:port, such as") as caught:
        parse_host_port(text, "p", PolicyError)
    assert DESTINATIONS[text] in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["models.internal:443", "LOCALHOST:1", "127.0.0.7:65535", "a_b:80", "4.x:80", "x.0x7g:1"],
)
def test_destinations_taken(text: str) -> None:
    assert str(parse_host_port(text, "p")) == text.lower()
    with pytest.raises(PolicyError):
        parse_host_port(443, "p", PolicyError)
