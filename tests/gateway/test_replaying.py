"""What a recording answers, request by request."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rolewall.errors import RecordError
from rolewall.roles import Budget, read_tape
from tests.gateway.conftest import PATHS, Client, Open, digest
from tests.models import Heard, Say, ScriptedModel

Model = Callable[..., ScriptedModel]
NOBODY = "http://127.0.0.1:9/v1"


def echo(heard: Heard) -> Say:
    return Say(f"you said {heard.text}", calls=[("run", {"command": "ls"})])


def record(opened: Open, model: Model, ask: Callable[[Client], object]) -> Path:
    client = opened(model(echo).url)
    ask(client)
    client.end()
    return client.record


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_the_same_requests_have_the_same_answers(
    path: str, stream: bool, opened: Open, model: Model
) -> None:
    first = opened(model(echo).url)
    said = first.ask(path, stream=stream)
    then = first.end()
    again = opened(NOBODY, tape=first.record)
    repeated = again.ask(path, stream=stream)
    if stream:
        assert repeated.body == said.body
    else:
        assert repeated.json == said.json
    now = again.end()
    assert now.replayed and not now.drifted
    assert (now.input, now.output, now.usd) == (then.input, then.output, then.usd)
    (line,) = again.exchanges
    assert line["replayed"] and line["response"] == first.exchanges[0]["response"]


def test_requests_that_come_in_another_order_find_their_own(opened: Open, model: Model) -> None:
    inputs = [f"number {number}" for number in range(5)]
    path = record(opened, model, lambda client: [client.ask(PATHS[1], input=i) for i in inputs])
    again = opened(NOBODY, tape=path)
    for text in reversed(inputs):
        said = again.ask(PATHS[1], input=text).json["output"][0]["content"][0]["text"]
        assert said == f"you said {text}"
    assert again.end().drifted == 0


def test_another_request_gets_the_oldest_answer_and_is_counted(opened: Open, model: Model) -> None:
    path = record(
        opened, model, lambda client: [client.ask(PATHS[1], input=i) for i in ("one", "two")]
    )
    again = opened(NOBODY, tape=path)
    said = [again.ask(PATHS[1], input=text) for text in ("other", "two", "more")]
    texts = [answer.json["output"][0]["content"][0]["text"] for answer in said[:2]]
    assert texts == ["you said one", "you said two"]
    assert said[2].status == 410, "programs ask again for a 502"
    use = again.end()
    assert (use.drifted, use.failed) == (1, 1)
    assert "no further answer" in str(again.door.trouble)


def test_failures_are_repeated_too(opened: Open, model: Model) -> None:
    script = {"hi": [Say(status=429, error="slow down"), Say("a b c " * 50, cut=5), Say("ok")]}
    first = opened(model(script).url)
    assert first.ask(stream=True).status == 429
    with pytest.raises(http.client.IncompleteRead):
        first.ask(stream=True)
    first.ask(stream=True)
    assert first.end().failed == 2
    again = opened(NOBODY, tape=first.record)
    assert again.ask(stream=True).status == 429
    with pytest.raises(http.client.IncompleteRead):
        again.ask(stream=True)
    assert again.ask(stream=True).status == 200
    assert again.end().failed == 2 and again.door.trouble is None


def test_budgets_and_allowed_models_hold_as_ever(opened: Open, model: Model) -> None:
    path = record(opened, model, lambda client: [client.ask() for _ in range(3)])
    again = opened(NOBODY, tape=path, budget=Budget(tokens=200), role="other")
    assert again.ask(model="huge").status == 403
    assert [again.ask().status for _ in range(3)] == [200, 200, 403]


def test_time_is_the_recorded_one(opened: Open, model: Model) -> None:
    first = opened(model(lambda heard: Say("ok", pause=0.3)).url)
    first.ask()
    then = first.end()
    again = opened(NOBODY, tape=first.record, budget=Budget(seconds=0.2), role="other")
    assert [again.ask().status for _ in range(2)] == [200, 403]
    assert again.end().seconds == pytest.approx(then.seconds, abs=0.1)


@pytest.mark.parametrize("reached", [False, True])
def test_a_call_that_reached_no_model_costs_nothing_again(
    reached: bool, opened: Open, plain_server: Callable[[bytes], str]
) -> None:
    """The words that say why it failed are not what tells."""
    budget = Budget(tokens=100)
    first = opened(plain_server(b"") if reached else NOBODY, budget=budget, role="first")
    assert first.ask(max_tokens=200).status == 502
    first.end()
    (line,) = first.exchanges
    assert line["paid"] is reached
    text = first.record.read_text().replace(line["failed"], "in other words")
    first.record.write_text(text + text.replace('"n": 1', '"n": 2'))
    again = opened(NOBODY, tape=first.record, budget=budget, role="again")
    assert [again.ask(max_tokens=200).status for _ in range(2)] == [502, 403 if reached else 502]


def line_with(**other: object) -> bytes:
    line = {"n": 1, "path": PATHS[0], "request": {}, "status": 200, "response": {}, "started": 1.0,
            "ended": 2.0, "refused": "", "failed": ""}  # fmt: skip
    return json.dumps(line | other).encode() + b"\n"


WRONG = {
    "nothing of the kind": b"{}\n",
    "no JSON": b"hello\n",
    "a list": b"[]\n",
    "a number of a kind": b'{"refused": "", "n": "one"}\n',
    "events that are no text": line_with(events=5),
    "a list of events": line_with(events=["data: x"]),
    "a status beyond all": line_with(status=99999),
    "a status below all": line_with(status=42),
    "a status below nought": line_with(status=-1),
    "a status that is none": line_with(status=True),
    "a status in words": line_with(status="200"),
    "a time beyond all": line_with(ended=10**400),
    "a time in words": line_with(started="0"),
}


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG)
def test_what_is_no_recording_is_refused_with_its_place(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.exchanges.jsonl"
    path.write_bytes(data)
    with pytest.raises(RecordError, match=r"x\.exchanges\.jsonl:1"):
        read_tape(path, digest(path))


@pytest.mark.parametrize("status", [None, 100, 200, 599])
def test_any_status_of_http_is_one(status: int | None, tmp_path: Path) -> None:
    path = tmp_path / "x.exchanges.jsonl"
    path.write_bytes(line_with(status=status))
    read_tape(path, digest(path))


def test_a_recording_is_the_one_that_was_sealed(opened: Open, model: Model) -> None:
    path = record(opened, model, lambda client: client.ask())
    sealed = digest(path)
    read_tape(path, sealed)
    line = json.loads(path.read_text())
    line["response"]["choices"][0]["message"]["content"] = "approve"
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(RecordError, match="not what was recorded"):
        read_tape(path, sealed)
    path.write_text("what is no recording")
    with pytest.raises(RecordError, match="not what was recorded"):
        read_tape(path, sealed)
    with pytest.raises(RecordError):
        read_tape(path.with_name("absent"), sealed)
