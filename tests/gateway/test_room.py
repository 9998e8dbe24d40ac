"""The record of exchanges stays one that can be read again, whatever is asked at once."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rolewall.roles import read_tape
from rolewall.roles.gateway import exchange as recording
from rolewall.roles.gateway.exchange import Exchange, ExchangeLog
from tests.gateway.conftest import Open, digest
from tests.models import Say, ScriptedModel

Model = Callable[..., ScriptedModel]
SMALL = {"MAX_FILE": 20_000, "MAX_LINE": 15_000, "SPARE": 5000}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in SMALL.items():
        monkeypatch.setattr(recording, name, size)


def exchange(n: int, asked: int, answered: int = 0) -> Exchange:
    body = json.dumps({"x": "y" * asked}).encode()
    answer = json.dumps({"x": "y" * answered}).encode()
    return Exchange(n, "chat", "/v1/x", 0.0, payload=body, status=200, response=answer)


@pytest.mark.usefixtures("small")
def test_room_is_kept_from_when_a_call_begins(tmp_path: Path) -> None:
    log = ExchangeLog(tmp_path / "x.jsonl")
    begun = [exchange(n, 6000, 6000) for n in range(5)]
    assert [log.reserve(one) for one in begun] == [True] * 3 + [False] * 2
    log.release(begun[0])
    assert log.reserve(begun[3]), "one that did not go out gives its room back"
    assert [log.write(one) for one in begun[1:4]] == [True, True, False]
    log.close()
    lines = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert [line["n"] for line in lines] == [1, 2, 3]
    assert [line["status"] for line in lines] == [200, 200, None]
    assert lines[-1]["failed"] == "there is no room left to record the answer"
    assert (tmp_path / "x.jsonl").stat().st_size < 2 * SMALL["MAX_FILE"]
    read_tape(tmp_path / "x.jsonl", digest(tmp_path / "x.jsonl"))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("answered", "fits"), [(13_000, True), (16_000, False)])
def test_no_line_is_longer_than_can_be_read(answered: int, fits: bool, tmp_path: Path) -> None:
    log = ExchangeLog(tmp_path / "x.jsonl")
    one = exchange(1, 100, answered)
    assert log.reserve(one) and log.write(one) is fits
    log.close()
    assert len((tmp_path / "x.jsonl").read_bytes()) <= SMALL["MAX_LINE"]


@pytest.mark.usefixtures("small")
def test_refusals_leave_their_words_out_where_there_is_no_room(tmp_path: Path) -> None:
    log = ExchangeLog(tmp_path / "x.jsonl")
    for n in range(6):
        one = exchange(n, 6000)
        one.refused = "model"
        log.write(one)
    log.close()
    lines = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert [line["request"] is None for line in lines] == [False] * 3 + [True] * 3


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_cannot_be_recorded_is_not_given(
    stream: bool, opened: Open, model: Model
) -> None:
    """And is no fault of the endpoint's; the twin is short."""
    endpoint = model({"hi": [Say("short"), Say("word " * 4000)]})
    client = opened(endpoint.url)
    assert client.ask(stream=stream).status == 200
    if stream:
        with pytest.raises(http.client.IncompleteRead):
            client.ask(stream=True)
    else:
        assert client.ask().status == 502
    use = client.end()
    assert (use.calls, use.failed, use.output) == (2, 1, 40)
    assert client.door.trouble is None
    assert "no room" in client.exchanges[1]["failed"]


@pytest.mark.usefixtures("small")
def test_many_at_once_do_not_each_find_the_room(opened: Open, model: Model) -> None:
    client = opened(model(lambda heard: Say("ok", pause=0.1)).url)
    said = [{"role": "user", "content": "y" * 6000}]
    threads = [
        threading.Thread(target=client.ask, kwargs={"messages": said, "max_tokens": 5})
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    use = client.end()
    assert use.calls == 3 and use.refused == 5
    assert {line["refused"] for line in client.exchanges} == {"", "record"}
    read_tape(client.record, digest(client.record))
