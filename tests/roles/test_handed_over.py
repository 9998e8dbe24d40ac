"""Arms, briefings and the files of a box: what is left, in which shape, and never more."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolewall.errors import InputError
from rolewall.roles import (
    ARMS,
    Collected,
    Evidence,
    Given,
    Handoff,
    SealedHandoff,
    arm_named,
    complete_and_seal,
    handed_files,
    lacks_evidence,
    left_of,
    parse_sealed,
    sealed_bytes,
    shown_bytes,
    verify_seal,
)
from rolewall.roles.briefing import MOST_BRIEFING, briefing

NOW = 1_000_000.0
WORDS = st.text(max_size=400)
IDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)
STEPS = st.lists(
    st.fixed_dictionaries({"id": IDS, "goal": st.text(min_size=1, max_size=400)},
                          optional={"done_when": WORDS}),
    max_size=40, unique_by=lambda step: step["id"],
)  # fmt: skip
CONDITIONS = st.lists(
    st.fixed_dictionaries(
        {"id": IDS, "statement": st.text(min_size=1, max_size=400)},
        optional={
            "status": st.sampled_from(["open", "met", "waived"]),
            **dict.fromkeys(("prerequisite", "authority", "fallback", "consequence"), WORDS),
        },
    ),
    max_size=40,
    unique_by=lambda condition: condition["id"],
)


def used(number: int, **changes: Any) -> Evidence:
    given: dict[str, Any] = {"id": f"00-planner-{number}", "role": "planner", "tool": "fetch",
                             "started": NOW - 60, "ended": NOW - 50, "ok": True}  # fmt: skip
    return Evidence(**(given | changes))


def sealed(evidence: tuple[Evidence, ...] = (), **parts: Any) -> SealedHandoff:
    handoff = Handoff.model_validate({"schema_version": 1, **parts})
    return complete_and_seal(
        Collected(handoff), author="planner", phase=0, time=NOW, previous=None, evidence=evidence
    )


def nothing(_: Evidence) -> Given:
    return Given(why="not in this test")


def page(handoff: SealedHandoff) -> str:
    return briefing("plan", handoff, NOW).decode()


@given(
    text=st.text(max_size=9_000),
    steps=STEPS,
    conditions=CONDITIONS,
    questions=st.lists(st.text(min_size=1, max_size=400), max_size=30),
    uses=st.lists(st.dictionaries(st.text(max_size=9), WORDS, max_size=3), max_size=60),
)
def test_a_page_is_a_page_and_each_line_is_its_own(
    text: str, steps: Any, conditions: Any, questions: Any, uses: Any
) -> None:
    evidence = tuple(used(i, arguments=arguments) for i, arguments in enumerate(uses, 1))
    handoff = sealed(evidence, text=text, steps=steps, conditions=conditions, questions=questions)
    told = page(handoff)
    assert len(told.encode()) <= MOST_BRIEFING
    assert all(c == "\n" or c.isprintable() for c in told)
    heads = [line for line in told.splitlines() if line.startswith("#")]
    assert len(heads) == len(set(heads))
    assert all(line[:1] in ("", "#", "-", ">", "[") for line in told.splitlines()[3:])


def test_what_binds_stands_first_and_what_is_left_out_is_counted() -> None:
    handoff = sealed(
        tuple(used(i, arguments={"url": "u" * 90}) for i in range(1, 101)),
        text="\n".join(f"line {i}" for i in range(500)),
        steps=[{"id": f"s{i}", "goal": "g" * 100} for i in range(100)],
        conditions=[
            {"id": "late", "statement": "is over", "status": "met"},
            {"id": "early", "statement": "the owner agreed", "forbids": ["write workspace"]},
        ],
    )
    told = page(handoff)
    order = [told.index(f"## {title}") for title in (
        "Open conditions", "Conditions that it says are settled", "Steps", "Evidence",
        "In its own words")]  # fmt: skip
    assert order == sorted(order)
    assert "- early: the owner agreed; forbids: write workspace" in told
    for section, noun in (("steps", "steps"), ("evidence", "uses of tools"), ("text", "lines")):
        shown = {"steps": "\n- s", "evidence": "\n- 00-", "text": "\n> "}[section]
        whole = {"steps": 100, "evidence": 100, "text": 500}[section]
        word = "earlier" if section == "evidence" else "more"
        left = whole - told.count(shown)
        assert 0 < left < whole
        assert f"[{left} {word} {noun}: `handoff plan {section}`]" in told
    assert "- 00-planner-100, ok" in told and "- 00-planner-1, ok" not in told


def test_freshness_is_that_of_the_readers_hour() -> None:
    handoff = sealed((used(1, fresh_until=NOW + 5, origin="cached"), used(2, ok=False),
                      used(3, fresh_until=NOW - 5, origin="live")))  # fmt: skip
    lines = handed_files("plan", handoff, now=NOW, given=nothing)["evidence"].decode().splitlines()
    fields = [line.split("\t") for line in lines]
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW + 5))
    assert [f[1:3] for f in fields] == [["ok", "cached"], ["failed", "live"], ["ok", "live"]]
    assert fields[0][4] == f"fresh until {until}"
    assert fields[1][4] == "no time limit"
    assert fields[2][4].startswith("stale since ")


def test_an_arm_leaves_what_it_says() -> None:
    whole = sealed((used(1),), text="x" * 700, questions=["q"],
                   steps=[{"id": "a", "goal": "first\nof all"}, {"id": "b", "goal": "second"}],
                   conditions=[{"id": "c", "statement": "s"}])  # fmt: skip
    left = {arm: left_of(arm, whole) for arm in ARMS}
    assert left["full"] == whole and shown_bytes("full", whole) == sealed_bytes(whole)
    assert left["typed"].conditions and left["typed"].steps and not left["typed"].evidence
    assert left["prose"].text == whole.text
    assert left["compressed"].text == "x" * 600 + "\n- first of all\n- second"
    for arm in ("prose", "compressed"):
        shown = json.loads(shown_bytes(arm_named(arm), whole))
        assert set(shown) == {"schema_version", "status", "text", "seal"}
        assert not (left[arm_named(arm)].steps or left[arm_named(arm)].conditions)
    for arm in ARMS:
        assert parse_sealed(shown_bytes(arm, whole), "shown") == left[arm]
        assert left[arm].seal == whole.seal
    with pytest.raises(InputError, match="one of prose, compressed, typed, full"):
        arm_named("FULL")


def test_what_there_is_nothing_of_has_no_file() -> None:
    assert set(handed_files("plan", sealed(), now=NOW, given=nothing)) == {"briefing.md"}
    odd = used(1, id="../../prompt.md")
    files = handed_files("plan", sealed((odd,)), now=NOW, given=lambda _: Given(b"out", b"err"))
    assert set(files) == {"briefing.md", "evidence"}
    files = handed_files("plan", sealed((used(1),)), now=NOW, given=lambda _: Given(b"\0", b"e"))
    assert files["results/00-planner-1.out"] == b"\0"
    assert files["results/00-planner-1.err"] == b"e"


def test_a_flood_of_calls_makes_no_handoff_that_cannot_be_read() -> None:
    flood = tuple(used(i, arguments={"deep": [1] * 4_000}) for i in range(1, 401))
    handoff = sealed(flood)
    assert len(sealed_bytes(handoff)) < 5 << 20
    assert parse_sealed(sealed_bytes(handoff), "h") == handoff
    left = 400 - len(handoff.evidence)
    assert 0 < left < 400 and handoff.evidence[-1].id == "00-planner-400"
    assert handoff.problems == [
        f"{left} earlier uses of tools are left out of the evidence, for want of room"
    ]
    assert lacks_evidence(handoff) and not lacks_evidence(sealed(flood[:20]))
    verify_seal(handoff)


def test_the_newest_results_are_asked_for_first() -> None:
    asked: list[str] = []

    def give(found: Evidence) -> Given:
        asked.append(found.id)
        return Given(b"x")

    handed_files("plan", sealed(tuple(used(i) for i in range(1, 4))), now=NOW, given=give)
    assert asked == ["00-planner-3", "00-planner-2", "00-planner-1"]
