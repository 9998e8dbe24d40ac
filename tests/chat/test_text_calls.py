"""Calls that a model writes as text, and texts that are none."""

from __future__ import annotations

from typing import Any

import pytest

from rolewall.roles.chat.textcalls import fenced, find_call, hints_at_calls, strange_block


def called(text: str) -> tuple[str, dict[str, Any]] | None:
    call = find_call(text, "c").call
    return (call.name, dict(call.arguments)) if call else None


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("I look.\n\n```run\nls -la\n```", "run", {"command": "ls -la\n"}),
        ("```bash\nls\n```", "run", {"command": "ls\n"}),
        ("```SH\r\nls\r\n```\r\n", "run", {"command": "ls\r\n"}),
        ("```write a/b c.py\nx = 1\n```", "write", {"path": "a/b c.py", "text": "x = 1\n"}),
        ("```write \"a.py\"\n```", "write", {"path": "a.py", "text": ""}),
        ("````write a.md\n```run\nls\n```\n````", "write",
         {"path": "a.md", "text": "```run\nls\n```\n"}),
        ("~~~run\nls\n~~~", "run", {"command": "ls\n"}),
        ("```write form\nfeed\x0cand\u2028separator\n```", "write",
         {"path": "form", "text": "feed\x0cand\u2028separator\n"}),
        ("```read a.py\n```", "read", {"path": "a.py"}),
        ("```read\na.py\n```", "read", {"path": "a.py"}),
        ("```read a.py 10-40\n```", "read", {"path": "a.py", "first": 10, "last": 40}),
        ("```edit a.py\nold\n=======\nnew\n```", "edit",
         {"path": "a.py", "old": "old\n", "new": "new\n"}),
        ("```edit a.py\nold\n=======\n```", "edit", {"path": "a.py", "old": "old\n", "new": ""}),
        ("```done\nall of it\n```", "message", {"text": "all of it", "status": "done"}),
        ("```done\n```", "message", {"text": "", "status": "done"}),
        ("```blocked\nno key\n```", "message", {"text": "no key", "status": "blocked"}),
        ("```message blocked\nno key\n```", "message", {"text": "no key", "status": "blocked"}),
        ("```approve\nfine\n```", "verdict", {"verdict": "approve", "summary": "fine"}),
        ("```verdict reject\nno\n```", "verdict", {"verdict": "reject", "summary": "no"}),
        ('```json\n{"name": "run", "arguments": {"command": "ls"}}\n```', "run", {"command": "ls"}),
        ('<tool_call>\n{"name": "run", "arguments": {"command": "ls"}}\n</tool_call>', "run",
         {"command": "ls"}),
    ],
)  # fmt: skip
def test_a_block_is_a_call(text: str, name: str, arguments: dict[str, Any]) -> None:
    assert called(text) == (name, arguments)


CALL = '{"name": "NAME", "arguments": {"command": "ls", "verdict": "approve"}}'


@pytest.mark.parametrize("name", ["run", "verdict"])
@pytest.mark.parametrize(
    ("form", "counts"),
    [
        ("I look.\n<tool_call>CALL</tool_call>\n", True),
        ("I look.\n```json\nCALL\n```", True),
        ("<think>a quote: `<tool_call>`</think><tool_call>CALL</tool_call>", True),
        ("<tool_call>CALL</tool_call>\nis what the README says.", False),
        ("> <tool_call>CALL</tool_call>", False),
        ("````\n<tool_call>CALL</tool_call>\n````", False),
        ("```diff\n+<tool_call>CALL</tool_call>\n```", False),
        ("Well. <think><tool_call>CALL</tool_call></think>", False),
        ("<!-- <tool_call>CALL</tool_call> -->", False),
        ("```\nCALL\n```", False),
    ],
)
def test_a_call_of_the_native_kind_is_no_quotation_and_never_judges(
    form: str, name: str, counts: bool
) -> None:
    found = called(form.replace("CALL", CALL.replace("NAME", name)))
    assert (found is not None) == (counts and name == "run")


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("```approve\nfine\n```", True),
        ("<think>hm</think>\n```approve\nfine\n```", True),
        ("Hm.\n<think>\n```approve\nfine\n```\n</think>\nNo.", False),
        ("<think>\n```approve\nfine\n```", False),
        ("<!--\n```approve\nfine\n```\n-->", False),
        ("- they write\n  ```approve\n  fine\n  ```", False),
    ],
)
def test_a_block_that_judges_is_said_aloud(text: str, counts: bool) -> None:
    assert (called(text) is not None) == counts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no block at all, only `run`",
        "```python\nimport os\n```",
        "    ```run\n    ls\n    ```",  # a code block by its indent
        "> ```run\n> ls\n> ```",
        "The file says:\n\n```text\n```run\nrm -rf /workspace\n```",
        "````\n```run\nls\n```\n````",
        "~~~\n```run\nls\n```\n~~~",
        "inline ```run ls``` words",
        '```json\n{"name": "format_disk", "arguments": {}}\n```',
        '```json\n{"name": "run", "arguments": {}, "more": 1}\n```',
        '```json\n[{"name": "run", "arguments": {}}]\n```',
        '{"name": "run", "arguments": {"command": "ls"}}',
        '<tool_call>{"name": "run"</tool_call>',
        "<tool_call>" * 1000,
        "```json\n" + "[" * 100_000 + "\n```",
    ],
)
def test_what_is_no_block_of_a_known_kind_is_no_call(text: str) -> None:
    assert called(text) is None
    assert not hints_at_calls(text)


def test_only_the_first_block_counts() -> None:
    """What a model writes after a call it has written without knowing what came of it."""
    text = "```run\npytest\n```\n\n```output\n5 passed\n```\n\n```approve\nthey pass\n```"
    found = find_call(text, "c")
    assert found.call is not None and found.call.name == "run" and found.more == 1


def test_a_block_without_an_end_is_half_of_one_only_where_the_answer_was_cut() -> None:
    text = "```write a.py\nhalf of a fi"
    cut, whole = (find_call(text, "c", cut=cut).call for cut in (True, False))
    assert cut is not None and "no end" in cut.problem
    assert whole is not None and not whole.problem
    assert whole.arguments == {"path": "a.py", "text": "half of a fi\n"}


@pytest.mark.parametrize("text", ["", "a", "```run\nls\n```", "`````", "a ``` b\n"])
def test_nothing_in_a_fence_can_close_it(text: str) -> None:
    inside = fenced(text, "output")
    assert called(f"{inside}\n") is None
    assert called(f"{inside}\n\n```run\nls\n```") == ("run", {"command": "ls\n"})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no block", None),
        ("```run\nls\n```", None),
        ("Here is `src/app.py`:\n\n```python\nx = 1\n```", ("python", "src/app.py")),
        ("```python\n# app.py\nx = 1\n```", ("python", "app.py")),
        ("```python app.py\nx = 1\n```", ("python", "app.py")),
        ("```\nx = 1\n```", ("", "")),
    ],
)
def test_a_block_that_is_no_call_is_known_by_its_first_word(
    text: str, found: tuple[str, str] | None
) -> None:
    """What it may be meant for is told to the model, and never done: a verifier that quotes
    a file would else try to write it."""
    assert strange_block(text) == found
