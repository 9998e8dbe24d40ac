"""What ends a chat agent's turn, and what its model is told on the way."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from rolewall.audit import audit_run
from tests.chat.conftest import EXECUTOR, REJECTS, VERIFIER, Chats, Chatted, calls
from tests.models import Heard, Say

pytestmark = pytest.mark.bubblewrap
ALONE = {"verifier": REJECTS}
ENDS = calls(("message", {"text": "that is all"}))
SOLO = ("--condition", "no-verify")


def completion(message: Any, reason: str = "stop") -> Say:
    """An answer of any shape."""
    choice = {"index": 0, "message": message, "finish_reason": reason}
    body = {"id": "c", "object": "chat.completion", "choices": [choice]}
    return Say(raw=json.dumps(body).encode(), headers={"content-type": "application/json"})


def function(name: Any, arguments: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


def asked(*made: Any, content: Any = None) -> Say:
    return completion({"role": "assistant", "content": content, "tool_calls": list(made)})


GARBAGE = [
    (asked(function("format_disk", "{}", id="a")), "no such tool"),
    (asked(function("run", "{command: ls", id="b")), "no JSON"),
    (asked(function("run", "[1, 2]", id="c")), "no JSON object"),
    (asked(function("run", '{"command": 5}', id="d")), "run: command"),
    (asked(function("run", '{"command": "ls", "sudo": true}', id="e")), "unknown key"),
    (asked(function("run", '{"command": "a\\u0000b"}', id="f")), "run: command"),
    (asked(function("run", '{"command": "echo \\ud800"}', id="g")), "run: command"),
    (asked(function("run", '{"command": "echo no id"}')), "no id"),
    (asked(function("run", {"command": "echo an object"}, id="h")), "an object"),
    (asked(function("run", None, id="i")), "run: command"),
    (asked(function(None, "{}", id="j")), "without a tool's name"),
    (asked({"id": "k"}), "without a tool's name"),
    (asked("run ls"), "without a tool's name"),
    (asked(function("rm -rf /", "{}", id=7)), "no name of a tool"),
    (asked(function("read", '{"path": "app.py", "first": 0}', id="l")), "read: first"),
    (asked(function("read", '{"path": "no such file"}', id="m")), "No such file"),
    (asked(function("edit", '{"path": "app.py", "old": "zz", "new": ""}', id="n")), "0 times"),
    (asked(function("verdict", '{"verdict": "approve", "summary": ""}', id="o")), "no such tool"),
    (asked(function("run", '{"command": "seq 100000"}', id="p")), "bytes left out"),
    (asked(function("run", '{"command": "exit 3"}', id="q"), content=[{"text": 5}]), "exit code 3"),
    (asked(function("run", '{"command": "sleep 30"}', id="r")), "stopped after 0.5 s"),
]


def test_garbage_is_told_to_the_model_and_never_a_traceback(chats: Chats) -> None:
    script = {EXECUTOR: [*(say for say, _ in GARBAGE), ENDS]}
    task = chats.studio.task()
    settings = {"output_chars": 500, "command_seconds": 0.5}
    found = chats.play(script, task, *SOLO, roles=ALONE, **settings)
    results = found.results(EXECUTOR)
    assert len(results) == len(GARBAGE)
    for told, (_, words) in zip(results, GARBAGE, strict=True):
        assert words in told and len(told) < 1500, told
    assert found.episode.phase("executor")["outcome"] == "done"
    phase = found.episode.phase("executor")
    lines = (found.episode.directory / phase["transcript"]).read_text().splitlines()
    ran = [line for line in map(json.loads, lines) if "started" in line]
    busy = sum(line["ended"] - line["started"] for line in ran)
    assert found.episode.record["seconds"]["agents"] > busy + phase["usage"]["seconds"] > busy
    for heard in found.heard:  # what was said back is what any endpoint can read
        for message in heard.body["messages"]:
            for call in message.get("tool_calls", ()):
                assert isinstance(json.loads(call["function"]["arguments"]), dict)


def test_a_model_that_repeats_itself_is_told_and_then_given_up(chats: Chats) -> None:
    again = calls(("run", {"command": "ls"}))
    found = chats.play({EXECUTOR: [again] * 6}, chats.studio.task(), *SOLO, roles=ALONE)
    told = found.results(EXECUTOR)
    assert ["in a row" in words for words in told] == [False, False, True, True, True]
    assert found.episode.phase("executor")["outcome"] == "failed"
    assert found.notes("executor")[-1] == "the model repeats itself"
    assert found.tools("executor") == ["run"] * 6


def test_a_model_that_says_nothing_is_asked_and_its_second_word_is_its_message(
    chats: Chats,
) -> None:
    script = {EXECUTOR: [calls(("run", {"command": "ls"})), Say("I think so."), Say("All done.")]}
    found = chats.play(script, chats.studio.task(), *SOLO, roles=ALONE)
    assert found.notes("executor") == ["nudge"]
    assert "not yet left a message" in found.heard[-1].body["messages"][-1]["content"]
    handoff = json.loads((found.episode.directory / "handoffs/00-executor.json").read_text())
    assert handoff["text"] == "All done."
    assert found.episode.phase("executor")["outcome"] == "done"


def test_files_may_be_written_by_hand_and_a_verifiers_prose_is_no_verdict(chats: Chats) -> None:
    body = '{"schema_version": 1, "text": "by hand"}'
    wrote = calls(("write", {"path": "/report/handoff.json", "text": body}))
    prose = [calls(("run", {"command": "ls"})), *[Say("I approve: all is well.")] * 3]
    script = {EXECUTOR: [wrote, Say("done")], VERIFIER: prose}
    found = chats.play(script, chats.studio.task())
    handoff = json.loads((found.episode.directory / "handoffs/00-executor.json").read_text())
    assert handoff["text"] == "by hand" and not handoff["problems"]
    assert found.notes("executor") == []
    assert found.episode.record["verdict"] == "missing"
    assert found.episode.phase("verifier")["outcome"] == "failed"


def test_empty_and_cut_off_answers(chats: Chats) -> None:
    half = "```write app.py\nhalf of a"
    cut = completion({"role": "assistant", "content": half}, "length")
    script = {EXECUTOR: [completion({"role": "assistant", "content": None}), cut, *[Say("")] * 3]}
    found = chats.play(script, chats.studio.task(), *SOLO, roles=ALONE, tools="text")
    told = [heard.body["messages"][-1]["content"] for heard in found.heard]
    assert "Your answer was empty" in told[1]
    assert "cut off" in told[2] and "4096 tokens" in told[2]
    assert found.episode.phase("executor")["outcome"] == "failed"
    assert "app.py" not in found.changed("executor")


def test_the_context_is_kept_within_its_limit(chats: Chats) -> None:
    numbers = itertools.count(1)

    def talks(heard: Heard) -> Say:
        number = next(numbers)
        if number > 9:
            return ENDS
        # It says nothing of tokens, so that they are estimated.
        return Say(calls=[("run", {"command": f"seq {number}000 {number}600"})], tokens=None)

    settings = {"context_tokens": 4096, "answer_tokens": 512, "prompt": "short"}
    found = chats.play(talks, chats.studio.task(), *SOLO, roles=ALONE, **settings)
    assert found.episode.phase("executor")["outcome"] == "done"
    assert "cut" in found.notes("executor")
    last = found.heard[-1].body["messages"]
    assert "characters are cut" in json.dumps(last)
    assert "make add(x) right" in last[1]["content"]  # the prompt is whole
    sizes = [len(json.dumps(heard.body)) for heard in found.heard]
    assert max(sizes) < 3.3 * (4096 - 512)


def test_what_an_endpoint_wants_otherwise_it_gets(chats: Chats) -> None:
    unsupported = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    busy = Say(status=429, error="slow down", headers={"retry-after": "0.5"})
    too_long = Say(status=400, error="This model's maximum context length is 4096 tokens.")
    long = calls(("run", {"command": "seq 3000"}))
    script = {EXECUTOR: [Say(status=400, error=unsupported), busy, long, too_long, ENDS]}
    found = chats.play(script, chats.studio.task(), *SOLO, roles=ALONE)
    assert found.episode.phase("executor")["outcome"] == "done"
    first, second, *_, before, after = (heard.body for heard in found.heard)
    assert "max_tokens" in first
    assert "max_tokens" not in second and second["max_completion_tokens"] == 4096
    assert found.notes("executor") == ["cut"]
    assert len(json.dumps(after)) < 0.8 * len(json.dumps(before))


def test_what_an_endpoint_does_wrong_is_no_failure_of_the_agents(chats: Chats) -> None:
    said = Say(raw=b'{"choices": []}', headers={"content-type": "application/json"})
    found = chats.play({EXECUTOR: [said]}, chats.studio.task(), *SOLO, code=3, roles=ALONE)
    assert found.episode.record["status"] == "error"
    error = found.episode.record["error"]
    assert error["kind"] == "ModelUnavailable"
    assert "/v1/chat/completions was asked: see whether `endpoint`" in error["message"]


def outcome(found: Chatted) -> str:
    return str(found.episode.phase("executor")["outcome"])


def test_a_spent_budget_spent_turns_and_a_phase_that_is_over(chats: Chats) -> None:
    def goes_on(heard: Heard) -> Say:
        return calls(("run", {"command": f"echo {len(heard.results)}"}))

    task = chats.studio.task()
    found = chats.play(goes_on, task, budget={"calls": 3})
    assert (outcome(found), len(found.heard)) == ("budget", 6)
    (row,) = found.episode.record["verdicts"]
    said = "no verdict was written: its budget was spent, 3 of 3 calls"
    assert (row["verdict"], row["why"]) == ("missing", said)
    assert audit_run(found.episode.directory.parents[1]).exit_code == 0
    found = chats.play(goes_on, task, *SOLO, roles=ALONE, turns=4)
    assert (outcome(found), len(found.heard)) == ("failed", 4)
    assert found.notes("executor") == ["turns are spent"]

    def is_slow(heard: Heard) -> Say:
        return Say(pause=30)

    found = chats.play(is_slow, task, *SOLO, roles=ALONE, seconds=2)
    assert outcome(found) == "timeout"
