"""Which words of a request count as sent to the model that judges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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
