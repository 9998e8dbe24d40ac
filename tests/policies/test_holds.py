"""What conditions hold, as policy: lowered for everybody, judged, and carried to the tap."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rolewall.errors import PolicyError
from rolewall.policies import (
    HAS_VERIFIER,
    TEAM_ROLES,
    Access,
    Call,
    Effect,
    Hold,
    Kind,
    Outcome,
    Policy,
    Target,
    View,
    compile_mounts,
    condition,
    enforced,
    hold,
    is_own,
    judge,
    judge_peek,
    prompt_only,
)

ZONES = {"deploy": "executor"}
Made = Callable[..., Policy]


def held(*holds: Hold, wall: bool = True) -> Policy:
    made = (enforced if wall else prompt_only)(TEAM_ROLES, zones=ZONES)
    return hold(made, holds, binding=wall)


def write(view: View, path: str, *, read_only: bool) -> tuple[Kind, Outcome, str]:
    target = Target(path, exists=True, read_only=read_only, permits=True)
    found = judge(view, Call("openat", Effect.WRITE, (target,)))
    return found.kind, found.outcome, found.why


@pytest.mark.parametrize("role", TEAM_ROLES)
def test_what_may_not_be_written_is_written_by_nobody(role: str) -> None:
    mounts = {m.zone: m for m in compile_mounts(held(Hold("write", "deploy", "c")), role).mounts}
    assert not mounts["deploy"].writable and mounts["deploy"].held == ("c",)
    free = {m.zone: m for m in compile_mounts(held(), role).mounts}
    assert free["deploy"].writable == (role == "executor") and not free["deploy"].held


@pytest.mark.parametrize("role", TEAM_ROLES)
def test_what_may_not_be_read_is_not_there(role: str) -> None:
    compiled = compile_mounts(held(Hold("read", "workspace", "c")), role)
    assert "workspace" not in {mount.zone for mount in compiled.mounts}
    assert "workspace" in {hidden.zone for hidden in compiled.hidden}


def test_a_hold_is_from_whom_it_binds_alone() -> None:
    holds = (
        Hold("read", "workspace", "r", ("executor",)),
        Hold("write", "deploy", "w", ("planner",)),
    )
    policy = held(*holds)
    seen = {role: policy.allows(role, "workspace") for role in TEAM_ROLES}
    assert seen == dict.fromkeys(TEAM_ROLES, Access.READ) | {"executor": Access.HIDDEN}
    assert policy.allows("executor", "deploy") is Access.WRITE
    mounts = {mount.zone: mount for mount in compile_mounts(policy, "verifier").mounts}
    assert not mounts["workspace"].held and not mounts["deploy"].held
    assert policy.held("planner", "deploy") == ("w",) and not policy.held("executor", "deploy")


@pytest.mark.parametrize("made", [condition(name) for name in HAS_VERIFIER if HAS_VERIFIER[name]])
def test_a_generator_reads_of_a_teams_zones_what_a_verdict_can_cover(made: Made) -> None:
    zones = {"deploy": "executor", "mine": "generator", "proof": "verifier"}
    policy = made(TEAM_ROLES, zones=zones)
    closed = {zone for zone, found in policy.access["generator"].items() if found is Access.HIDDEN}
    assert closed >= {"proof", "spec", "history"} and not closed & {"deploy", "mine", "workspace"}
    if "planner" in policy.roles:
        assert policy.allows("planner", "proof") is not Access.HIDDEN


def test_a_hold_gives_nobody_anything() -> None:
    base, policy = (
        enforced(TEAM_ROLES, zones=ZONES),
        held(
            Hold("write", "workspace", "a"),
            Hold("read", "output", "b"),
            Hold("write", "deploy", "c"),
        ),
    )
    order = [Access.HIDDEN, Access.READ, Access.WRITE]
    for role in TEAM_ROLES:
        for zone in base.access[role]:
            now, was = policy.allows(role, zone), base.allows(role, zone)
            assert order.index(now) <= order.index(was)
    assert {"spec", "verdict", "plan"} <= {
        h.zone for h in compile_mounts(policy, "generator").hidden
    }


def test_the_owner_of_what_is_held_does_what_is_forbidden() -> None:
    view = View.of(held(Hold("write", "deploy", "c1"), Hold("write", "deploy", "c2")), "executor")
    assert not is_own(view, "/deploy/now") and is_own(view, "/workspace/x")
    why = "mount is read-only; forbidden by condition c1, c2"
    assert write(view, "/deploy/now", read_only=True) == (Kind.FORBIDDEN, Outcome.BLOCKED, why)


def test_anothers_zone_stays_a_cross_role_edit_and_names_the_condition() -> None:
    view = View.of(held(Hold("write", "deploy", "c")), "verifier")
    kind, outcome, why = write(view, "/deploy/now", read_only=True)
    assert (kind, outcome) == (Kind.EDIT, Outcome.BLOCKED) and why.endswith("by condition c")


def test_a_refused_cache_is_incidental_all_the_same() -> None:
    view = View.of(held(Hold("write", "workspace", "c")), "executor")
    kind, _, why = write(view, "/workspace/__pycache__/a.pyc", read_only=True)
    assert (kind, why) == (Kind.INCIDENTAL, "cache")


def test_without_a_wall_access_stays_and_the_attempt_is_forbidden() -> None:
    policy = held(Hold("write", "deploy", "c"), Hold("read", "output", "r"), wall=False)
    assert policy.allows("executor", "deploy") is Access.WRITE
    assert policy.allows("executor", "output") is Access.WRITE
    view = View.of(policy, "executor")
    kind, outcome, _ = write(view, "/deploy/now", read_only=False)
    assert (kind, outcome) == (Kind.FORBIDDEN, Outcome.ALLOWED)
    zone = view.closed_at("/output/x")
    assert zone is not None
    look = judge_peek(zone, there=True)
    assert (look.kind, look.outcome) == (Kind.FORBIDDEN, Outcome.ALLOWED)


def test_a_look_at_what_was_hidden_before_is_a_peek() -> None:
    view = View.of(held(Hold("read", "output", "r")), "executor")
    hidden, closed = view.closed_at("/verdict/x"), view.closed_at("/output/x")
    assert hidden and judge_peek(hidden, there=False).kind is Kind.PEEK
    assert closed and judge_peek(closed, there=False).kind is Kind.FORBIDDEN
    assert view.closed_at("/brief/brief.md") is None


def test_a_view_reaches_the_tap_whole() -> None:
    view = View.of(held(Hold("write", "deploy", "c"), Hold("read", "output", "r")), "planner")
    assert View.from_json(view.to_json()) == view


def test_of_many_conditions_a_few_are_named() -> None:
    policy = held(*(Hold("write", "deploy", f"c{n}") for n in range(1000)))
    assert policy.held("executor", "deploy") == ("c0", "c1", "c2", "c3", "c4", "and 995 more")


@pytest.mark.parametrize("zone", ["spec", "brief", "history", "grader", "tmp", "home", "nowhere"])
def test_what_no_condition_can_hold_is_refused(zone: str) -> None:
    with pytest.raises(PolicyError):
        held(Hold("write", zone, "c"))
