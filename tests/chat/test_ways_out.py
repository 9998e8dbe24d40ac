"""What a user is told to do about an endpoint that gives no answer, and never the key."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from rolewall.errors import ModelUnavailable
from rolewall.roles import Endpoint as Served
from rolewall.roles.chat import endpoint as asking
from rolewall.roles.door import ModelDoor
from tests.chat.conftest import Chats, calls
from tests.chat.test_limits import ALONE, SOLO, completion
from tests.gateway.conftest import KEY, Open, model, opened
from tests.models import Heard, Say, ScriptedModel

__all__ = ["model", "opened"]

Model = Callable[..., ScriptedModel]
BODY = {"model": "big", "messages": [{"role": "user", "content": "hi"}]}


def told(open_: Open, url: str, key: str | None = "A_KEY", **body: object) -> ModelUnavailable:
    client = open_(url)
    served = Served("main", url, key, ("big",), {})
    endpoint = asking.Endpoint(ModelDoor(client.door.socket), lambda: 60.0, served)
    try:
        with pytest.raises(ModelUnavailable) as raised:
            endpoint.ask({**BODY, **body})
    finally:
        endpoint.close()
        client.end()
    assert raised.value.hint and KEY not in str(raised.value)
    return raised.value


WAYS = {
    401: ("the variable A_KEY", "{url}"),
    403: ("the variable A_KEY", "{url}"),
    404: ("{url}/chat/completions was asked", "`endpoint`", "big is served"),
    400: ("`chat:`", "exchanges.jsonl"),
    429: ("{url}/chat/completions", "quota", "the same command"),
    503: ("{url}/chat/completions", "failed", "the same command"),
}


@pytest.mark.parametrize(("status", "words"), WAYS.items(), ids=map(str, WAYS))
def test_each_refusal_has_its_way_out(
    status: int,
    words: tuple[str, ...],
    opened: Open,
    model: Model,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asking, "FIRST_PAUSE", 0.0)
    url = model(lambda heard: Say(status=status, error=f"no, {KEY}")).url
    error = told(opened, url)
    for word in words:
        assert word.format(url=url) in str(error.hint)


def test_a_server_that_is_not_there(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "FIRST_PAUSE", 0.0)
    error = told(opened, "http://127.0.0.1:9/v1")
    assert "a server answers at http://127.0.0.1:9/v1/chat/completions" in str(error.hint)


def test_an_endpoint_without_a_key_may_want_one(opened: Open, model: Model) -> None:
    url = model(lambda heard: Say(status=401, error="who are you?")).url
    assert "models.main has no `key`" in str(told(opened, url, key=None).hint)


def test_what_the_gateway_refuses_is_not_laid_to_the_key(opened: Open, model: Model) -> None:
    url = model(lambda heard: Say("ok")).url
    error = told(opened, url, model="huge")
    assert "the gateway let it nowhere" in str(error.hint) and "A_KEY" not in str(error.hint)


@pytest.mark.bubblewrap
def test_the_user_sees_it(chats: Chats) -> None:
    """Tools that are all of a sudden not known."""

    def forgets(heard: Heard) -> Say:
        return Say(status=400, error="tools are unknown") if heard.results else first

    first = calls(("run", {"command": "true"}))
    found = chats.play(forgets, chats.studio.task(), *SOLO, code=3, roles=ALONE)
    message = found.episode.record["error"]["message"]
    assert message.startswith("models.main: http://127.0.0.1:")
    assert "tools are unknown" in message and "`tools: text`" in message


def test_an_answer_is_an_answer(opened: Open, model: Model) -> None:
    """The twin."""
    url = model(lambda heard: completion({"role": "assistant", "content": "yes"})).url
    client = opened(url)
    served = Served("main", url, "A_KEY", ("big",), {})
    endpoint = asking.Endpoint(ModelDoor(client.door.socket), lambda: 60.0, served)
    try:
        assert "yes" in json.dumps(endpoint.ask(BODY))
    finally:
        endpoint.close()
        client.end()
