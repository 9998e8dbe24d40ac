"""What becomes of exchanges and words that no well-behaved agent leaves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rolewall.record import EpisodeRecord, PhaseRecord
from rolewall.roles import (
    PRESETS,
    Printed,
    ToolCall,
    ToolResult,
    Trajectory,
    TrajectoryStep,
)
from rolewall.trajectory.atif import atif_bytes, to_atif
from rolewall.trajectory.clean import NONCE, Cleaner
from rolewall.trajectory.exchanges import from_exchanges
from rolewall.trajectory.phases import PhaseTrajectory, cleaned

A, B = "a" * 32, "0123456789abcdef" * 2


def line(n: int, told: list[dict[str, Any]], said: str, **more: Any) -> bytes:
    message = {"role": "assistant", "content": said, **more.pop("message", {})}
    found = {
        "n": n, "protocol": "chat", "status": 200, "started": 100.0 + n,
        "request": {"messages": told}, "response": {"choices": [{"message": message}]}, **more,
    }  # fmt: skip
    return json.dumps(found).encode()


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def texts(*lines: bytes) -> list[tuple[str, str]]:
    return [(step.source, step.text) for step in from_exchanges(b"\n".join(lines), "").steps]


def test_lines_count_in_the_order_in_which_exchanges_began() -> None:
    found = texts(line(2, [user("one"), user("two")], "second"), line(1, [user("one")], "first"))
    assert found == [("user", "one"), ("agent", "first"), ("user", "two"), ("agent", "second")]


def test_words_that_are_repeated_count_again_and_history_does_not() -> None:
    found = texts(
        line(1, [user("go on")], "a"),
        line(2, [user("go on"), user("go on")], "b"),
        line(3, [user("go on"), user("go on")], "c"),
    )
    assert [text for source, text in found if source == "user"] == ["go on", "go on"]
    assert [text for source, text in found if source == "agent"] == ["a", "b", "c"]


def test_two_conversations_at_a_time() -> None:
    found = texts(
        line(1, [user("left")], "l1"),
        line(2, [user("right")], "r1"),
        line(3, [user("left"), user("left on")], "l2"),
        line(4, [user("right"), user("right on")], "r2"),
    )
    assert [text for _, text in found] == [
        "left", "l1", "right", "r1", "left on", "l2", "right on", "r2",
    ]  # fmt: skip


def test_what_was_refused_or_failed_is_a_problem_and_no_answer() -> None:
    found = from_exchanges(
        b"\n".join(
            (
                line(1, [user("hi")], "never", refused="budget", status=None),
                line(2, [user("hi")], "half", failed="the stream ended early", status=200),
                line(3, [user("hi")], "no", status=500),
                b'{"n": 4, "half": "\\ud800"}',
                b"no json",
                line(5, [user("hi")], "yes"),
            )
        ),
        "",
    )
    assert [step.text for step in found.steps if step.source == "agent"] == ["half", "yes"]
    said = " ".join(found.problems)
    assert all(word in said for word in ("refused: budget", "ended early", "status 500", "line 5"))


@pytest.mark.parametrize(
    "response",
    [None, [], "x", {"choices": "x"}, {"choices": [{"message": {"content": 5, "tool_calls": 7}}]},
     {"choices": [{"message": {"tool_calls": [{"function": "x"}, 3]}}]}],
)  # fmt: skip
@pytest.mark.parametrize("request_body", [None, [], {"messages": "x"}, {"messages": [1, {}]}])
@pytest.mark.parametrize("protocol", ["chat", "responses", "messages", "other", 3])
def test_any_shape_is_read_without_a_traceback(
    protocol: object, request_body: object, response: object
) -> None:
    odd = {"n": "x", "protocol": protocol, "status": 200, "request": request_body,
           "response": response, "usage": {"input": "many"}}  # fmt: skip
    assert from_exchanges(json.dumps(odd).encode(), "").origin == "exchanges"


ODD = (
    b"", b"no json", b"\xff\xfe", b"[]", b"{}", b"[" * 100_000, b'{"type": []}',
    b'{"type": "text", "part": 5}', b'{"type": "text", "timestamp": 1e400, "part": {"text": 1}}',
    b'{"type": "tool_use", "timestamp": ' + b"9" * 400 + b', "part": {"state": 3, "callID": []}}',
    b'{"type": "step_finish", "part": {"messageID": {}, "tokens": {"input": "x", "cache": 1}}}',
    b'{"type": "error", "error": [1]}', b'{"type": "assistant", "message": {"content": [3]}}',
    b'{"type": "assistant", "message": {"content": [{"type": "tool_use", "input": "x"}]}}',
    b'{"type": "user", "message": {"content": [{"type": "tool_result"}]}, "timestamp": {}}',
    b'{"type": "item.completed", "item": {"type": [], "id": 5}}', b'{"type": "item.completed"}',
    b'{"messages": [{"role": []}, {"role": "tool", "extra": 3}, 7], "info": []}',
    b'{"messages": [{"role": "assistant", "tool_calls": [{}], "extra": {"timestamp": '
    + b"9" * 400 + b', "response": {"usage": 3}}}]}',
)  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_reads_whatever_a_program_prints(name: Any, odd: bytes) -> None:
    found = PRESETS[name].parse(Printed(odd, odd, odd))
    assert (found.agent, found.origin) == (name, "agent")
    atif_bytes(to_atif(record(), told(found), None))


@pytest.mark.parametrize(
    "text",
    [
        f'"nonce": "{B}"',
        f'{{\\"nonce\\": \\"{B}\\"}}',
        f"nonce = '{B}'",
        f"the nonce is {A}, you know",
    ],
)
def test_a_nonce_is_taken_out_and_another_digest_is_not(text: str) -> None:
    cleaner = Cleaner([A])
    assert NONCE in cleaner.text(text) and B not in cleaner.text(text)
    assert cleaner.text(f"sha256 {B}") == f"sha256 {B}"


def test_what_json_cannot_hold_is_written_otherwise() -> None:
    deep: Any = "end"
    for _ in range(500):
        deep = [deep]
    arguments = {"half\ud800": "\udfff", "inf": float("inf"), "nan": float("nan"), "deep": deep}
    step = TrajectoryStep("agent", text="\ud800", calls=(ToolCall("1", "run", arguments),))
    made = to_atif(record(), found(step), None)
    again = json.loads(atif_bytes(made.model_copy()))
    assert again["steps"][0]["tool_calls"][0]["arguments"]["inf"] == "inf"


def test_results_that_nobody_asked_for_and_moments_out_of_time() -> None:
    step = TrajectoryStep("agent", results=(ToolResult("9", "odd"),), time=1e300)
    made = json.loads(atif_bytes(to_atif(record(), found(step), None)))
    (result,) = made["steps"][0]["observation"]["results"]
    assert result == {"content": "odd", "extra": {"of_call": "9"}}
    assert "timestamp" not in made["steps"][0]


def test_a_phase_of_which_nothing_is_known_has_one_step_that_says_so() -> None:
    made = json.loads(atif_bytes(to_atif(record(), found(), None)))
    assert [step["source"] for step in made["steps"]] == ["system"]
    assert "Nothing of this phase was recorded" in made["steps"][0]["message"]


def found(*steps: TrajectoryStep) -> PhaseTrajectory:
    return told(Trajectory("", "", "agent", steps))


def told(trajectory: Trajectory) -> PhaseTrajectory:
    phase = PhaseRecord(index=0, role="executor", round=1, started=1.0, ended=2.0,
                        outcome="done", returncode=0)  # fmt: skip
    return PhaseTrajectory(phase, cleaned(trajectory, Cleaner([])))


def record() -> EpisodeRecord:
    return EpisodeRecord(
        key="k", task="t", team="m", condition="enforced", trial=0, seed=0, backend="bubblewrap",
        image="host", started=1.0, ended=2.0, status="error", verdict="missing", grade="error",
        trust="outside", error={"kind": "BoxError", "message": "broke"},
    )  # fmt: skip
