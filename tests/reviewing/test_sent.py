"""Which words of a request count as sent to the model that judges."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from rolewall.errors import RecordError
from rolewall.reviewing.sent import unsent_lines

DIFF = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two = 2\n"
ANSWERED = {"path": "/v1/chat/completions", "status": 200, "refused": "", "failed": ""}
SHOWN = "@@ -1 +1 @@\n-one\n+two = 2"


@pytest.mark.parametrize(
    ("item", "left"),
    [
        ({"role": "tool", "content": SHOWN}, 0),
        ({"role": "user", "content": [{"type": "tool_result", "content": SHOWN}]}, 0),
        ({"type": "function_call_output", "output": SHOWN}, 0),
        ({"role": "assistant", "content": SHOWN}, 2),
        ({"type": "function_call", "arguments": SHOWN}, 2),
    ],
)
def test_the_models_own_words_are_not_what_it_was_sent(
    tmp_path: Path, item: dict[str, Any], left: int
) -> None:
    exchanges = tmp_path / "x.exchanges.jsonl"
    exchanges.write_text(json.dumps(ANSWERED | {"request": {"messages": [item]}}) + "\n")
    assert unsent_lines(exchanges, DIFF) == left


@pytest.mark.parametrize(
    ("what", "left"),
    [
        ({}, 0),
        ({"path": "/v1/messages?beta=true"}, 0),
        ({"status": 400}, 2),
        ({"status": 503, "failed": "status 503"}, 2),
        ({"status": 200, "failed": "the stream ended before its last event"}, 2),
        ({"status": None, "refused": "budget"}, 2),
        ({"status": None, "failed": "no connection"}, 2),
        ({"path": "/v1/messages/count_tokens"}, 2),
    ],
)
def test_what_no_model_answered_was_shown_to_none(
    tmp_path: Path, what: dict[str, Any], left: int
) -> None:
    exchanges = tmp_path / "x.exchanges.jsonl"
    request = {"messages": [{"role": "user", "content": SHOWN}]}
    exchanges.write_text(json.dumps(ANSWERED | {"request": request} | what) + "\n")
    assert unsent_lines(exchanges, DIFF) == left


def test_a_mode_is_a_change(tmp_path: Path) -> None:
    exchanges = tmp_path / "x.exchanges.jsonl"
    diff = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"
    for content, left in (("nothing", 2), (diff, 0)):
        request = {"messages": [{"role": "user", "content": content}]}
        exchanges.write_text(json.dumps(ANSWERED | {"request": request}) + "\n")
        assert unsent_lines(exchanges, diff) == left


def test_a_long_record_is_not_held_at_once(tmp_path: Path) -> None:
    """Its parts show a line each: as a line, and with a number before it."""
    exchanges = tmp_path / "x.exchanges.jsonl"
    with open(exchanges, "w") as file:
        for number in range(20):
            text = f"{number} " + "x" * 300_000
            text += {8: "\none\n", 14: "\n   7| two = 2\n"}.get(number, "")
            request = {"messages": [{"role": "user", "content": text}]}
            file.write(json.dumps(ANSWERED | {"request": request}) + "\n")
    more = DIFF + "+three\n"
    tracemalloc.start()
    try:
        assert (unsent_lines(exchanges, DIFF), unsent_lines(exchanges, more)) == (0, 1)
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("line", ["hello", "[]", '{"path": "/v1/messages"', "[" * 1000])
def test_what_is_no_record_is_told_with_its_place(tmp_path: Path, line: str) -> None:
    exchanges = tmp_path / "x.exchanges.jsonl"
    exchanges.write_text("{}\n" + line + "\n")
    with pytest.raises(RecordError, match=r"x\.exchanges\.jsonl:2"):
        unsent_lines(exchanges, DIFF)
    exchanges.write_text("{}\n")
    assert unsent_lines(exchanges, DIFF) == 2
