"""What a handoff makes of binding conditions, whoever wrote it and whatever it says."""

from __future__ import annotations

from typing import Any

import pytest

from rolewall.episode.conditions import Conditions
from rolewall.episode.eventlog import ROLE_EVENTS
from rolewall.episode.held import MOST_HELD
from rolewall.policies import TEAM_ROLES, enforced, prompt_only
from rolewall.roles import Condition, Handoff

GIVEN = {"authority": "verifier", "forbids": ["write deploy"]}


def state(*given: dict[str, Any], wall: bool = True) -> Conditions:
    policy = (enforced if wall else prompt_only)(TEAM_ROLES, zones={"deploy": "executor"})
    return Conditions(policy, [condition(**one) for one in given])


def condition(id: str = "c", **fields: Any) -> Condition:
    return Condition(id=id, statement="s", **fields)


def handoff(*conditions: Condition, done: tuple[str, ...] = (), steps: tuple[str, ...] = ()) -> Any:
    listed = [{"id": name, "goal": "g", "status": "done" if name in done else "open"}
              for name in dict.fromkeys((*steps, *done))]  # fmt: skip
    return Handoff.model_validate(
        {"schema_version": 1, "steps": listed, "conditions": [c.model_dump() for c in conditions]}
    )


def told(conditions: Conditions, role: str, *said: Condition, **more: Any) -> list[str]:
    return [event.event for event in conditions.hear(handoff(*said, **more), role, 1)]


def bound(conditions: Conditions, role: str = "executor", action: str = "write deploy") -> bool:
    return action in conditions.held(role).actions


@pytest.mark.parametrize("word", ["met", "waived"])
def test_the_authority_ends_it_by_either_word(word: str) -> None:
    one = state(GIVEN)
    assert bound(one)
    assert told(one, "verifier", condition(status=word)) == ["discharged"] and not bound(one)


@pytest.mark.parametrize("role", ["planner", "executor", "generator"])
def test_nobody_else_does(role: str) -> None:
    one = state(GIVEN)
    assert told(one, role, condition(status="met")) == ["refused"] and bound(one)


def test_who_opens_it_is_not_its_authority() -> None:
    one = state()
    said = condition(authority="verifier", forbids=["write deploy"], status="met")
    assert told(one, "executor", said) == ["opened", "refused"] and bound(one)


def test_its_own_authority_may_open_and_end_it_at_once() -> None:
    one = state()
    said = condition(authority="verifier", forbids=["write deploy"], status="waived")
    assert told(one, "verifier", said) == ["opened", "discharged"] and not bound(one)


@pytest.mark.parametrize(
    "other",
    [
        {"forbids": ["write workspace"]},
        {"authority": "executor"},
        {"prerequisite": "x"},
    ],
)
def test_it_stands_as_it_was_opened(other: dict[str, Any]) -> None:
    one = state(GIVEN)
    assert told(one, "executor", condition(**other)) == ["refused"]
    assert told(one, "executor", condition(authority="executor", status="met"))[-1] == "refused"
    assert one.held("executor").actions == {"write deploy": ("c",)}


def test_who_passes_it_on_in_other_words_or_less_of_them_changes_nothing() -> None:
    one = state(GIVEN)
    lost = Condition(id="c", statement="other words", **GIVEN)
    assert told(one, "executor", lost) == told(one, "planner", condition()) == [] and bound(one)


def test_only_its_authority_opens_it_again() -> None:
    one = state(GIVEN)
    told(one, "verifier", condition(status="met"))
    assert told(one, "executor", condition()) == [] and not bound(one)
    assert told(one, "verifier", condition()) == ["opened"] and bound(one)


def test_an_authority_that_has_no_part_never_ends_it() -> None:
    one = state()
    (event,) = one.hear(
        handoff(condition(authority="the boss", forbids=["write deploy"])), "planner", 0
    )
    assert event.event == "opened" and "nobody can discharge it" in event.why
    assert told(one, "verifier", condition(status="met")) == ["refused"]
    assert bound(one, "planner") and not bound(one)


def test_what_it_waits_for_may_be_ended_in_the_same_handoff_in_any_order() -> None:
    one = state(GIVEN | {"prerequisite": "d"}, {"id": "d", "authority": "verifier"})
    said = (condition(status="met"), condition("d", status="met"))
    assert told(one, "verifier", *said) == ["discharged", "discharged"] and not bound(one)


def test_conditions_that_wait_for_each_other_wait_for_good() -> None:
    one = state(
        GIVEN | {"prerequisite": "d"}, {"id": "d", "authority": "verifier", "prerequisite": "c"}
    )
    said = (condition(status="met"), condition("d", status="met"))
    assert told(one, "verifier", *said) == ["refused", "refused"] and bound(one)


def test_a_step_is_done_by_its_authoritys_word_alone() -> None:
    one = state(GIVEN | {"prerequisite": "s1"})
    told(one, "planner", steps=("s1",))
    told(one, "executor", done=("s1",))
    assert told(one, "verifier", condition(status="met")) == ["refused"]
    assert told(one, "verifier", condition(status="met"), done=("s1",)) == ["discharged"]


def test_a_verdict_that_approves_a_step_is_such_a_word() -> None:
    one = state(GIVEN | {"prerequisite": "s1"})
    told(one, "planner", steps=("s1",))
    one.step_approved("verifier", "s1")
    assert told(one, "verifier", condition(status="met")) == ["discharged"]


def test_a_step_that_is_not_of_the_plan_is_nothing() -> None:
    one = state(GIVEN | {"prerequisite": "s1"})
    assert told(one, "verifier", condition(status="met"), done=("s1",)) == ["refused"]


def steps_and(conditions: Conditions, role: str, *said: Condition, **more: Any) -> dict[str, str]:
    """What each id came to, at last, and why."""
    events = conditions.hear(handoff(*said, **more), role, 1)
    return {event.condition: f"{event.event} {event.why}".strip() for event in events}


@pytest.mark.parametrize("planned", [("s1",), ()])
def test_a_condition_with_the_id_of_the_step_does_not_stand_for_it(planned: tuple[str]) -> None:
    """Whether the plan has the step that the task waits for, or leaves it out."""
    one = state(GIVEN | {"prerequisite": "s1"})
    swapped = condition("s1", authority="planner", status="met")
    words = {"s1": "refused s1 is a step: no condition has its id"}
    assert steps_and(one, "planner", swapped, steps=planned) == words
    assert told(one, "verifier", condition(status="met")) == ["refused"] and bound(one)


@pytest.mark.parametrize("squat", [True, False])
def test_a_condition_with_the_id_of_the_step_does_not_stand_in_its_way(squat: bool) -> None:
    one = state(GIVEN | {"prerequisite": "s1"})
    told(one, "planner", steps=("s1",))
    assert told(one, "executor", condition("s1" if squat else "own", forbids=["use x"])) == [
        "refused" if squat else "opened"
    ]
    said = told(one, "verifier", condition(status="met"), done=("s1",))
    assert said == ["discharged"] and not bound(one)


def test_a_step_with_the_id_of_a_condition_is_refused_by_name() -> None:
    one = state(GIVEN, {"id": "d", "authority": "verifier", "prerequisite": "c"})
    found = steps_and(one, "planner", steps=("c", "s1"))
    assert list(found) == ["c"] and found["c"].startswith("refused a step of the plan has its id")
    said = told(one, "verifier", condition("d", status="met"), done=("c",))
    assert said == ["refused"] and bound(one)
    said = told(one, "verifier", condition("d", status="met"), condition(status="met"))
    assert said == ["discharged", "discharged"]


@pytest.mark.parametrize("opener", ["planner", "executor"])
def test_a_role_waits_for_its_own_condition_and_for_nobody_elses(opener: str) -> None:
    one = state()
    told(one, opener, condition("first", authority="executor"))
    told(one, "planner", condition("c", prerequisite="first", **GIVEN))
    assert told(one, "executor", condition("first", status="met")) == ["discharged"]
    assert told(one, "verifier", condition(status="met")) == [
        "discharged" if opener == "planner" else "refused"
    ]


def test_what_a_role_opens_may_wait_for_another_of_the_same_handoff() -> None:
    one = state()
    first = condition("first", authority="verifier")
    told(one, "planner", condition("c", prerequisite="first", **GIVEN), first)
    assert told(one, "verifier", condition(status="met")) == ["refused"]
    said = (condition(status="met"), condition("first", status="met"))
    assert told(one, "verifier", *said) == ["discharged", "discharged"]


# Who opens it, then whom it binds to write: with an authority, and without.
@pytest.mark.parametrize(
    "opener,valid,none",
    [
        ("planner", "planner executor generator", "planner"),
        ("executor", "executor generator", "executor"),
        ("verifier", "planner executor verifier generator", "verifier"),
        ("generator", "generator", "generator"),
    ],
)
def test_a_role_binds_whoever_acts_after_it(opener: str, valid: str, none: str) -> None:
    for authority, bind in (("planner", valid), ("", none), ("boss", none)):
        one = state()
        told(one, opener, condition(authority=authority, forbids=["write deploy"]))
        assert [role for role in TEAM_ROLES if bound(one, role)] == bind.split()
    given = state(GIVEN)
    assert all(bound(given, role) for role in TEAM_ROLES)


@pytest.mark.parametrize("action", ["read workspace", "use fetch"])
@pytest.mark.parametrize("opener", TEAM_ROLES)
@pytest.mark.parametrize("authority", ["", "planner", "executor", "verifier"])
def test_what_the_verifier_judges_by_is_the_tasks_to_hold(
    action: str, opener: str, authority: str
) -> None:
    one = state()
    told(one, opener, condition(authority=authority, forbids=[action]))
    held = one.held("verifier")
    assert not held.actions and not held.tools and not held.closed("workspace")
    assert held.policy.allows("verifier", "workspace") == "read"
    given = state({"authority": authority, "forbids": [action]})
    assert bound(given, "verifier", action)


@pytest.mark.parametrize("wall", [True, False])
def test_work_that_a_task_holds_is_closed_where_there_is_a_wall(wall: bool) -> None:
    one = state(GIVEN | {"forbids": ["read workspace"]}, wall=wall)
    assert one.held("verifier").closed("workspace") == (("c",) if wall else ())


def test_what_a_violation_says_ends_nothing_and_opens_what_it_opens() -> None:
    one = state(GIVEN)
    said = handoff(condition(status="met"), condition("d", authority="planner"))
    events = one.hear(said, "verifier", 1, unheard="a violation")
    assert [event.event for event in events] == ["opened", "refused"] and bound(one)


def test_a_step_that_a_violation_says_is_done_is_not() -> None:
    one = state(GIVEN | {"prerequisite": "s1"})
    told(one, "planner", steps=("s1",))
    one.hear(handoff(done=("s1",)), "verifier", 1, unheard="a violation")
    assert told(one, "verifier", condition(status="met")) == ["refused"] and bound(one)


def test_a_word_given_beside_the_work_is_marked() -> None:
    one = state(GIVEN)
    (event,) = one.hear(handoff(condition(status="met")), "verifier", 1, beside="make")
    assert (event.event, event.why) == ("discharged", "beside it ran make")


def test_a_zone_that_is_not_there_is_told_and_the_rest_binds() -> None:
    one = state()
    said = condition(authority="verifier", forbids=["write deploy", "write ship"])
    (event,) = one.hear(handoff(said), "planner", 0)
    assert "no such zone" in event.why and bound(one)
    assert {found.zone for found in one.held("executor").policy.holds} == {"deploy"}


def test_without_a_wall_it_is_held_and_lowers_nothing() -> None:
    held = state(GIVEN, wall=False).held("executor")
    assert held.actions and not held.binding
    assert held.policy.allows("executor", "deploy") == "write"


def test_tools_are_told_by_their_names() -> None:
    held = state({"forbids": ["use fetch", "use x"]}).held("verifier")
    assert held.tools == {"fetch": ("c",), "x": ("c",)}


def test_a_flood_is_bounded_in_the_record_and_binds_all_the_same() -> None:
    one = state()
    for turn in range(6):
        names = [f"c{turn}-{n}" for n in range(1000)]
        many = [
            condition(n, authority="verifier", forbids=["write deploy", f"use t{n}"]) for n in names
        ]
        one.record(one.hear(handoff(*many), "executor", turn), "seal")
    assert (len(one.log.events), one.log.omitted) == (ROLE_EVENTS, 6000 - ROLE_EVENTS)
    held = one.held("executor")
    assert len(held.actions["write deploy"]) == 6000
    assert len(held.listed()) == MOST_HELD and held.listed()["write deploy"][-1] == "and 5995 more"


def test_a_flood_takes_no_room_from_what_others_say_or_end() -> None:
    """Three handoffs of a thousand claims each, before the authority's word."""
    one = state(GIVEN)
    own = condition("own", authority="verifier", forbids=["write deploy"])
    one.record(one.hear(handoff(own), "planner", 0), "seal")
    for turn in range(3):
        many = [condition(f"z{turn}-{n}", authority="a", status="met") for n in range(1000)]
        one.record(one.hear(handoff(*many), "executor", turn), "seal")
    assert one.log.omitted == 6000 - ROLE_EVENTS
    said = (condition(status="met"), condition("own", status="waived"))
    one.record(one.hear(handoff(*said), "verifier", 8), "seal")
    assert [(e.condition, e.event) for e in one.log.events[-2:]] == [
        ("c", "discharged"), ("own", "discharged"),
    ]  # fmt: skip
    assert not bound(one) and one.log.omitted == 6000 - ROLE_EVENTS


def test_what_one_role_opens_and_ends_in_turn_is_bounded_and_the_tasks_is_kept() -> None:
    one = state(GIVEN)
    for turn in range(4):
        mine = [condition(f"m{n}", authority="executor") for n in range(1000)]
        over = [one_.model_copy(update={"status": "met"}) for one_ in mine]
        one.record(one.hear(handoff(*mine), "executor", turn), "seal")
        one.record(one.hear(handoff(*over), "executor", turn), "seal")
        for word in ("met", "open"):
            one.record(one.hear(handoff(condition(status=word)), "verifier", turn), "seal")
    own = [event for event in one.log.events if event.role == "executor"]
    assert len(own) == 2 * ROLE_EVENTS and one.log.omitted == 8000 - len(own)
    assert len([event for event in one.log.events if event.condition == "c"]) == 1 + 2 * 4
