"""Answers as endpoints and models really give them, and as none should."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolewall.roles.chat.calls import Answer, read_answer, without_thoughts
from rolewall.roles.chat.speaking import Native, Textual

LS = {"name": "run", "arguments": '{"command":"ls"}'}
GOOD = {"id": "c1", "type": "function", "function": LS}


def answer(**message: Any) -> Answer:
    found = read_answer({"choices": [{"message": message, "finish_reason": "stop"}]}, 1)
    assert found is not None
    return found


def test_a_call_is_read_and_said_back() -> None:
    found = answer(content=None, tool_calls=[{**GOOD, "index": 0, "signature": "kept"}])
    (call,) = found.calls
    assert (call.id, call.name, call.problem) == ("c1", "run", "")
    assert call.arguments == {"command": "ls"}
    assert call.echo == {
        "id": "c1",
        "type": "function",
        "signature": "kept",
        "function": {"name": "run", "arguments": '{"command": "ls"}'},
    }


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("run", "without a tool's name"),
        (None, "without a tool's name"),
        ({}, "without a tool's name"),
        ({"function": None}, "without a tool's name"),
        ({"function": {"name": None}}, "without a tool's name"),
        ({"function": {"name": 7, "arguments": "{}"}}, "no name"),
        ({"function": {"name": "rm -rf /", "arguments": "{}"}}, "no name"),
        ({"function": {"name": "run", "arguments": "{command: ls}"}}, "no JSON"),
        ({"function": {"name": "run", "arguments": '{"command": "ls'}}, "no JSON"),
        ({"function": {"name": "run", "arguments": "[]"}}, "no JSON object"),
        ({"function": {"name": "run", "arguments": ["ls"]}}, "no JSON object"),
        ({"function": {"name": "run", "arguments": "[" * 100_000}}, "no JSON"),
        ({"function": {"name": "run", "arguments": '{"n": ' + "9" * 5000 + "}"}}, "no JSON"),
    ],
)
def test_a_call_that_cannot_be_read_is_one_with_a_problem(call: Any, problem: str) -> None:
    (found,) = answer(tool_calls=[call]).calls
    assert problem in found.problem
    assert found.id == "call-1-1"
    # What is said back is what every endpoint can read.
    assert found.echo is not None
    assert json.loads(found.echo["function"]["arguments"]) == {}


def test_arguments_may_be_an_object_and_hold_line_ends() -> None:
    objects = {"function": {"name": "run", "arguments": {"command": "ls"}}}
    (found,) = answer(tool_calls=[objects]).calls
    assert found.arguments == {"command": "ls"} and not found.problem
    raw = {"function": {"name": "run", "arguments": '{"command": "a\nb"}'}}
    (found,) = answer(tool_calls=[raw]).calls
    assert found.arguments == {"command": "a\nb"}


def test_no_two_calls_of_an_answer_have_one_id() -> None:
    found = answer(tool_calls=[GOOD, GOOD, {**GOOD, "id": ""}, {**GOOD, "id": 5}])
    assert [call.id for call in found.calls] == ["c1", "call-1-2", "call-1-3", "call-1-4"]


@pytest.mark.parametrize(
    "body",
    [{}, {"choices": None}, {"choices": []}, {"choices": [None]}, {"choices": [{"message": "x"}]}],
)
def test_what_is_no_completion_is_no_answer(body: dict[str, Any]) -> None:
    assert read_answer(body, 1) is None


def test_content_may_be_parts_or_nothing() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, "b", {"text": 5}, {"text": "c"}]
    assert answer(content=parts).text == "ac"
    assert answer(content=None).text == answer(content=7).text == ""
    assert answer(content="half \ud800 a pair").text == "half ? a pair"


def test_thoughts_are_no_answer() -> None:
    assert without_thoughts("<think>\n```run\nls\n```\n</think>\n\nWell.") == "Well."
    assert without_thoughts("<think> and never an end ```run\nls\n```") == ""
    assert without_thoughts("Well. <think>") == "Well. <think>"
    said = Textual("executor").heard(Answer("<think>```run\nls\n```</think>Well."), 1)
    assert said.calls == () and said.message["content"] == "Well."


def test_calls_beyond_the_most_are_not_carried_out_and_not_said_back() -> None:
    said = Native("executor").heard(answer(tool_calls=[GOOD] * 20), 1)
    assert len(said.calls) == len(said.message["tool_calls"]) == 16
    assert said.extra == 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["id", "function", "name", "arguments", "text", "type"]), inner, max_size=4
    ),
    max_leaves=12,
)  # fmt: skip


@given(content=JSON, calls=JSON, usage=JSON)
def test_no_answer_is_a_traceback(content: Any, calls: Any, usage: Any) -> None:
    message = {"content": content, "tool_calls": calls}
    found = read_answer({"choices": [{"message": message}], "usage": usage}, 3)
    assert found is not None
    said = Native("verifier").heard(found, 3)
    json.dumps(said.message).encode()
    assert all(call.id for call in said.calls)
