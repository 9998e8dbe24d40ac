"""Which words of a request count as sent to the model that judges, and when a change stands in
them."""

from __future__ import annotations

import difflib
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rolewall.errors import RecordError
from rolewall.reviewing import sent
from rolewall.reviewing.sent import unsent_lines

ANSWERED = {"path": "/v1/chat/completions", "status": 200, "refused": "", "failed": ""}
RESPONSES, MESSAGES = {"path": "/v1/responses"}, {"path": "/v1/messages"}
OLD = [f"    value_{n} = compute({n})" for n in range(60)]
NEW = [*OLD[:20], "    check(value_3)", *OLD[20:24], *OLD[26:]]
Sent = Callable[..., int]


def changed(old: list[str], new: list[str], name: str = "app.py") -> str:
    """A file's diff as git writes it."""
    lines = list(difflib.unified_diff(old, new, "", "", lineterm=""))[2:]
    begin, end = (f"a/{name}" if old else "/dev/null"), (f"b/{name}" if new else "/dev/null")
    head = [f"diff --git a/{name} b/{name}"]
    head += ["new file mode 100644"] if not old else ["deleted file mode 100644"] if not new else []
    index = f"index {'0' * 40}..{'1' * 40}" + (" 100644" if old and new else "")
    return "\n".join([*head, index, f"--- {begin}", f"+++ {end}", *lines]) + "\n"


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def numbered(lines: list[str], how: str, first: int = 1) -> str:
    return text([how.format(n, line) for n, line in enumerate(lines, first)])


@pytest.fixture
def ask(tmp_path: Path) -> Sent:
    """How much of a diff was not in these results of tools, or in these exchanges."""

    def unsent(diff: str, *given: str | dict[str, Any]) -> int:
        exchanges = tmp_path / "x.exchanges.jsonl"
        said = [{"role": "tool", "content": found} for found in given if isinstance(found, str)]
        rows = [found for found in given if isinstance(found, dict)]
        rows += [{"request": {"model": "m", "messages": said}}] if said else []
        exchanges.write_text(text([json.dumps(ANSWERED | row) for row in rows]))
        return unsent_lines(exchanges, diff)

    return unsent


DIFF = changed(OLD, NEW)
OTHERS = DIFF.replace("0" * 40, "0" * 7).replace("1" * 40, "1" * 7).replace(" @@", " @@ def f():")
NEITHER = "    value_0 = compute(0)\n"


@pytest.mark.parametrize(
    "shown",
    [
        [DIFF],
        [f"exit code 0\n{NEITHER}{OTHERS}[standard error]\nwarning\n"],
        [text(NEW), text(OLD)],
        [numbered(NEW, "{:6}\t{}"), numbered(OLD, "{:6}\t{}")],
        [numbered(NEW, "{:6}→{}"), numbered(OLD, "{}:{}")],
        [f"<file>\n{numbered(NEW, '{:05}| {}')}</file>", numbered(OLD, "L{}: {}")],
        [numbered(DIFF.splitlines(), "{:6}\t{}")],
        [DIFF.replace("\n", "\r\n")],
        [json.dumps({"returncode": 0, "output": DIFF}, indent=2)],
        [text(NEW[:22]), f"Output:\n{text(NEW[22:])}", text(OLD)],
        [numbered(NEW[:20], "{}\t{}"), numbered(NEW[20:], "{}\t{}", 21), DIFF[: len(DIFF) // 3],
         text(OLD)],
    ],
    ids=["diff", "git diff", "cat", "cat -n", "Read", "read", "diff, cat -n", "terminal", "JSON",
         "sed -n", "mixed"],
)  # fmt: skip
def test_a_change_may_be_shown_in_many_ways(ask: Sent, shown: list[str]) -> None:
    assert ask(DIFF, *shown) == 0


MOVED = [*OLD[:10], *OLD[20:30], *OLD[10:20], *OLD[30:]]
PARTS = [
    f"{name} = {name}_of(user)\n{name}.check()\n".split("\n") for name in ("one", "two", "six")
]
ONE, TWO, SIX = PARTS
SHORT = list("[][(![]+[])[+[]]+([![]]+[][[]])[+!+[]+[+[]]]" * 300)
RULES = ["# one", "# two", "# three"]
TWICE = [*OLD, "middle = 1", *OLD]


@pytest.mark.parametrize(
    ("old", "new", "shown", "whole"),
    [
        (OLD, NEW, [text(OLD)], [text(OLD), text(NEW)]),
        (OLD, NEW, [text(NEW)], [text(OLD), text(NEW)]),
        (OLD, NEW, [text(sorted(DIFF.split("\n")))], [DIFF]),
        (OLD, NEW, [" ".join(DIFF.split())], [DIFF]),
        (OLD, [*OLD[:30], *OLD[33:]], [text(OLD)], [text(OLD), text([*OLD[:30], *OLD[33:]])]),
        (OLD, MOVED, [text(OLD)], [text(OLD), text(MOVED)]),
        ([*ONE, *TWO, *SIX, *OLD], [*TWO, *ONE, *SIX, *OLD], [text([*ONE, *TWO, *SIX, *OLD])],
         [changed([*ONE, *TWO, *SIX, *OLD], [*TWO, *ONE, *SIX, *OLD])]),
        ([*ONE, *TWO], [*ONE, *TWO, *TWO], [text([*ONE, *TWO])], [text([*ONE, *TWO, *TWO])]),
        (OLD, [*OLD[30:], *OLD[:30]], [text(OLD)], [changed(OLD, [*OLD[30:], *OLD[:30]])]),
        (OLD, [*OLD[:9], OLD[9][4:], *OLD[10:]], [text(OLD), text([line[4:] for line in OLD])],
         [text(OLD), text([*OLD[:9], OLD[9][4:], *OLD[10:]])]),
        ([], SHORT, [text(SHORT[:200]), text(SHORT[-200:])], [text(SHORT)]),
        ([], SHORT, [text(SHORT[:900]), text(SHORT[:901]), "[\n+\n"], [changed([], SHORT)]),
        ([], TWICE, [text(TWICE[:60]), numbered(TWICE[:60], "{}\t{}"), text(TWICE[50:64])],
         [text(TWICE[:64]), text(TWICE[60:])]),
        ([], NEW, ["".join(f"{3 * n}:{line}\n" for n, line in enumerate(NEW))],
         [numbered(NEW, "{}:{}")]),
        ([], [*OLD[30:], *OLD[:30]], [text(OLD)], [text(OLD[30:]), text(OLD[:30])]),
        ([], [*OLD[:20], *RULES, *OLD[20:40]],
         [text([*OLD[:20], *RULES, *OLD[40:]]), text([*OLD[40:], *RULES, *OLD[20:40]])],
         [text([*OLD[:20], *RULES, *OLD[20:40]])]),
        (OLD, [*OLD[:20], *OLD[30:]],
         [text([*OLD[:20], *OLD[30:]]), text([*OLD[20:25], *["-"] * 12, *OLD[25:30]])],
         [text([*OLD[:20], *OLD[30:]]), text(OLD)]),
        ([], ["x"], ["x\n"], [changed([], ["x"])]),
        ([*OLD, "guard()"], OLD, [text([*OLD, "guard()"])], [changed([*OLD, "guard()"], OLD)]),
        (OLD, [], [text(OLD)], [text(OLD), "# Brief\n\n- deleted app.py\n"]),
    ],
    ids=["old file", "new file", "order", "one line", "went", "moved", "paragraphs", "doubled",
         "turned", "indentation", "short", "short, again", "repeated", "grep -n", "turned, new",
         "joined", "apart", "tiny", "end of file", "file"],
)  # fmt: skip
def test_lines_that_were_sent_are_no_change_that_was(
    ask: Sent, old: list[str], new: list[str], shown: list[str], whole: list[str]
) -> None:
    diff = changed(old, new)
    assert ask(diff, *shown) > 0
    assert ask(diff, *whole) == 0


def test_of_lines_that_are_alike_as_many_count_as_were_sent(ask: Sent) -> None:
    assert ask(changed([], SHORT), text(SHORT[:900])) == len(SHORT) - 900
    cut = text(SHORT[:300]) + f"[9 of 99 bytes left out]\n{text(SHORT[-300:])}"
    assert ask(changed([], SHORT), cut) >= len(SHORT) - 600


HELD = {"role": "user", "content": DIFF}
BLOCK = {"type": "text", "text": DIFF}
CLEARS = {
    "edits": [{"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 0}}]
}
THINKS = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
CHECKS = {"type": "function", "function": {"name": "a", "description": DIFF}}


@pytest.mark.parametrize(
    ("row", "request_", "told"),
    [
        ({}, {"messages": [HELD]}, True),
        ({}, {"messages": [{"role": "tool", "content": [BLOCK]}]}, True),
        ({}, {"messages": [{"role": "assistant", "content": DIFF}]}, False),
        ({}, {"messages": [], "stop": [DIFF]}, False),
        ({}, {"messages": [], "user": DIFF, "prompt_cache_key": DIFF}, False),
        ({}, {"messages": [], "tools": [CHECKS]}, False),
        ({}, {"messages": [], "tool_choice": {"x": DIFF}}, False),
        ({}, {"messages": [HELD | {"name": DIFF, "content": "x"}]}, False),
        ({}, {"messages": [HELD], "max_tokens": 1}, False),
        ({}, {"messages": [HELD], "max_completion_tokens": 16}, False),
        ({}, {"messages": [HELD], "max_tokens": 4096}, True),
        (RESPONSES, {"input": [HELD]}, True),
        (RESPONSES, {"input": DIFF}, True),
        (RESPONSES, {"input": [], "instructions": DIFF}, True),
        (RESPONSES, {"input": [{"type": "function_call_output", "output": DIFF}]}, True),
        (RESPONSES, {"input": [{"type": "function_call", "arguments": DIFF}]}, False),
        (RESPONSES, {"input": [HELD], "truncation": "auto"}, False),
        (RESPONSES, {"input": [HELD], "truncation": "disabled"}, True),
        (RESPONSES, {"input": [HELD], "max_output_tokens": 16}, False),
        (MESSAGES, {"messages": [], "system": [BLOCK]}, True),
        ({"path": "/v1/messages?beta=true"}, {"messages": [HELD]}, True),
        (MESSAGES, {"messages": [
            {"role": "user", "content": [{"type": "tool_result", "content": [BLOCK]}]}]}, True),
        (MESSAGES, {"messages": [{"role": "user", "content": [
            {"type": "document", "source": {"type": "base64", "data": DIFF}}]}]}, False),
        (MESSAGES, {"messages": [HELD], "context_management": CLEARS}, False),
        (MESSAGES, {"messages": [HELD], "context_management": THINKS}, True),
        ({"path": "/v1/messages/count_tokens"}, {"messages": [HELD]}, False),
        ({"status": 400}, {"messages": [HELD]}, False),
        ({"status": 200, "failed": "the stream ended early"}, {"messages": [HELD]}, False),
        ({"status": None, "refused": "budget"}, {"messages": [HELD]}, False),
    ],
)  # fmt: skip
def test_only_what_a_model_was_told_and_answered_counts(
    ask: Sent, row: dict[str, Any], request_: dict[str, Any], told: bool
) -> None:
    assert (ask(DIFF, row | {"request": request_}) == 0) is told


def test_what_another_model_was_told_counts_for_none(ask: Sent) -> None:
    """The one that judges is the last that speaks of a verdict."""
    whole: dict[str, Any] = {"messages": [HELD]}
    part: dict[str, Any] = {"messages": [{"role": "user", "content": "It is fine, I think."}]}
    verdict = {"response": {"choices": [{"message": {"content": "verdict: approve"}}]}}
    large, small = {"model": "large"}, {"model": "small"}
    assert ask(DIFF, {"request": whole | small}, {"request": part | large} | verdict) > 0
    assert ask(DIFF, {"request": whole | small}, {"request": part | large}) > 0
    rows = [{"request": whole | large} | verdict, {"request": part | small}]
    assert ask(DIFF, *rows) == 0


EMPTY = "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n"
GONE = "diff --git a/e b/e\ndeleted file mode 100644\nindex e69de29..0000000\n"
MODE = "diff --git a/e b/e\nold mode 100644\nnew mode 100755\n"
NAME = "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n"
BINARY = f"{EMPTY}Binary files /dev/null and b/e differ\n"
LINK = EMPTY.replace("100644", "120000") + "--- /dev/null\n+++ b/e\n@@ -0,0 +1 @@\n+/etc/passwd\n"


@pytest.mark.parametrize(
    ("diff", "shown", "left"),
    [
        (EMPTY, "", 1),
        (EMPTY, "new file mode 100644\nsee diff --git a/e b/e\n", 1),
        (EMPTY, EMPTY.replace("/e", "/f"), 1),
        (EMPTY, EMPTY, 0),
        (EMPTY, "- created e\n", 0),
        (EMPTY, " create mode 100644 e\n", 0),
        (GONE, EMPTY, 1),
        (GONE, "- created e\n", 1),
        (GONE, "- deleted e\n", 0),
        (GONE, GONE, 0),
        (MODE, "- modified e\n", 2),
        (MODE, " mode change 100644 => 100755 e\n", 0),
        (MODE, MODE, 0),
        (NAME, "rename from a\n\nrename to b\n", 3),
        (NAME, NAME, 0),
        (BINARY, EMPTY, 2),
        (BINARY, BINARY, 0),
        (LINK, "/etc/passwd\n- created e\n", 2),
        (LINK, LINK, 0),
    ],
)
def test_what_no_content_shows_is_sent_by_its_name(
    ask: Sent, diff: str, shown: str, left: int
) -> None:
    assert ask(diff, f"Here it is.\n{shown}") == left


def test_time_goes_with_what_there_is_to_read_and_its_end_is_no_approval(
    ask: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = [f"period {n % 97:30}" for n in range(5_000)]
    for lines in (alike, ["the same line of thirty letters"] * 5_000, SHORT):
        diff, asked = changed([], lines), [text(lines), text(lines[::-1]), numbered(lines, "{}|{}")]
        monkeypatch.setattr(sent, "MOST_STEPS", 100 * len(lines))
        assert ask(diff, *asked) == 0
        monkeypatch.setattr(sent, "MOST_STEPS", len(lines))
        assert ask(diff, *asked) > 0
    monkeypatch.setattr("rolewall.reviewing.wanted.MOST_LINES", 50)
    assert ask(diff, diff) > 0


def test_a_long_record_is_not_held_at_once(tmp_path: Path) -> None:
    exchanges = tmp_path / "x.exchanges.jsonl"
    with open(exchanges, "w") as file:
        for number in range(20):
            told = f"{number} " + "x" * 300_000 + "\n"
            told += {8: text(NEW), 14: text(OLD)}.get(number, "")
            request = {"messages": [{"role": "user", "content": told}]}
            file.write(json.dumps(ANSWERED | {"request": request}) + "\n")
    tracemalloc.start()
    try:
        assert (unsent_lines(exchanges, DIFF), unsent_lines(exchanges, f"{DIFF}+three\n")) == (0, 1)
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
    assert unsent_lines(exchanges, DIFF) == 3
