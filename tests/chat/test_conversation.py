"""What is cut of a conversation, and in which order."""

from __future__ import annotations

from typing import Any

from rolewall.roles.chat.conversation import Conversation, Exchange


def said(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def talk(room: int, *outputs: str) -> Conversation:
    found = Conversation([said("system", "be good"), said("user", "the prompt")], room)
    for output in outputs:
        results = [said("tool", f"exit code 0\n{output}")]
        found.exchanges.append(Exchange(said("assistant", "next"), results))
    return found


def test_what_has_room_stays_as_it_is() -> None:
    one = talk(10_000, "a" * 3000, "b" * 3000)
    before = one.messages()
    assert one.trim() == [] and one.messages() == before


def test_the_oldest_outputs_go_first_and_say_so() -> None:
    one = talk(3000, "a" * 6000, "b" * 3000, "c" * 3000)
    assert one.trim() == ["6000 characters of output, exchange 1"]
    outputs = [exchange.results[0]["content"] for exchange in one.exchanges]
    assert outputs[0].startswith("exit code 0\n[6000 characters are cut")
    assert outputs[1].endswith("b" * 3000) and outputs[2].endswith("c" * 3000)
    assert one.tokens() <= 3000


def test_then_whole_exchanges_and_never_the_prompt() -> None:
    one = talk(600, *("x" * 300 for _ in range(20)))
    assert one.trim()[-1].startswith("the oldest ")
    told = one.messages()
    assert told[0] == said("system", "be good")
    assert told[1]["content"].startswith("the prompt\n\n[")
    assert "earlier exchanges are cut" in told[1]["content"]
    assert told[2]["role"] == "assistant"  # no result without its call
    assert one.tokens() <= 600


def test_the_last_output_is_shortened_when_nothing_else_is_left() -> None:
    one = talk(1000, "y" * 9000)
    assert one.trim() == ["a part of the last output"]
    last = one.exchanges[-1].results[0]["content"]
    assert last.startswith("exit code 0\n") and "bytes left out" in last
    assert one.tokens() <= 1000


def test_an_endpoints_own_count_is_believed_within_reason() -> None:
    one = talk(10_000, "z" * 6000)
    estimate = one.tokens()
    one.counted(one.size(), estimate * 2)
    assert one.tokens() == estimate * 2
    for odd in (None, 1, 10**9):
        one.counted(one.size(), odd)
        assert one.size() / 8 <= one.tokens() <= one.size()


def test_what_an_endpoint_finds_too_long_gets_shorter_whatever_was_said() -> None:
    one = talk(1_000_000, "a" * 9000, "b" * 9000)
    before = one.tokens()
    one.shrink()
    assert one.trim() and one.tokens() <= before * 7 // 10
