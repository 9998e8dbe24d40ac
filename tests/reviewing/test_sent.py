"""Which words of a request count as sent to the model that judges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rolewall.reviewing.sent import unsent_lines

DIFF = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two = 2\n"
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
    exchanges.write_text(json.dumps({"request": {"messages": [item]}}) + "\n")
    assert unsent_lines(exchanges, DIFF) == left
