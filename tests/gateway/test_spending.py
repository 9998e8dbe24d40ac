"""What a role may spend in an episode, over all its phases and with many calls at once."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest

from rolewall.roles import Budget
from tests.gateway.conftest import ASKED, PATHS, Client, Open
from tests.models import Heard, Say, ScriptedModel

Model = Callable[..., ScriptedModel]
SAID = Say("ok", tokens=(100, 0, 20))
# What each budget is, and how many calls of 120 tokens and $0.0006 it is for.
BUDGETS = {
    "calls": (Budget(calls=3), 3),
    "tokens": (Budget(tokens=300), 3),
    "dollars": (Budget(usd=0.0012), 2),
    "none": (Budget(), 6),
    "all": (Budget(calls=5, tokens=10_000, usd=0.0015, seconds=600), 3),
}


@pytest.mark.parametrize(("budget", "calls"), BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("path", PATHS)
def test_when_it_is_spent_no_further_call_goes_out(
    path: str, budget: Budget, calls: int, opened: Open, model: Model
) -> None:
    endpoint = model(lambda heard: SAID)
    client = opened(endpoint.url, budget=budget)
    got = [client.ask(path, stream=number % 2 == 0) for number in range(6)]
    assert [answer.status for answer in got] == [200] * calls + [403] * (6 - calls)
    assert len(endpoint.heard) == calls
    use = client.end()
    assert (use.calls, use.refused, use.over_budget) == (calls, 6 - calls, calls < 6)
    for answer in got[calls:]:
        assert answer.headers["x-should-retry"] == "false"
        error = answer.json["error"]
        assert "budget is spent" in error["message"]
        shape = "permission_error" if "messages" in path else "insufficient_quota"
        assert error["type"] == shape
    assert {line["refused"] for line in client.exchanges[calls:]} <= {"budget"}


def test_it_is_one_for_all_phases_of_a_role(opened: Open, model: Model) -> None:
    url = model(lambda heard: SAID).url
    first, second = (opened(url, budget=Budget(calls=3)) for _ in range(2))
    other = opened(url, budget=Budget(calls=3), role="verifier")
    assert [first.ask().status for _ in range(2)] == [200, 200]
    first.end()
    assert [second.ask().status for _ in range(2)] == [200, 403]
    assert [other.ask().status for _ in range(4)] == [200] * 3 + [403]


def at_once(client: Client, number: int, **more: object) -> Counter[int]:
    statuses: Counter[int] = Counter()
    threads = [
        threading.Thread(target=lambda: statuses.update([client.ask(**more).status]))  # type: ignore[arg-type]
        for _ in range(number)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return statuses


@pytest.mark.parametrize(
    ("budget", "calls"),
    [(Budget(calls=2), 2), (Budget(tokens=200), 2), (Budget(usd=0.001), 2), (Budget(), 8)],
)
def test_calls_at_the_same_time_do_not_each_find_it_untouched(
    budget: Budget, calls: int, opened: Open, model: Model
) -> None:
    endpoint = model(lambda heard: Say("ok", tokens=(100, 0, 20), pause=0.05))
    client = opened(endpoint.url, budget=budget)
    assert at_once(client, 8, max_tokens=1000) == Counter({200: calls, 403: 8 - calls} if calls < 8
                                                          else {200: 8})  # fmt: skip
    assert len(endpoint.heard) == calls


def test_time_is_counted_while_an_exchange_is_under_way(opened: Open, model: Model) -> None:
    endpoint = model(lambda heard: Say("ok", pause=0.3))
    client = opened(endpoint.url, budget=Budget(seconds=0.2))
    assert [client.ask().status for _ in range(2)] == [200, 403]
    assert client.end().seconds >= 0.3


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_nobody_counted_is_not_free(
    stream: bool, opened: Open, model: Model
) -> None:
    """Three bytes count as a token; the record says that nobody knows."""
    endpoint = model(lambda heard: Say("word " * 200, tokens=None))
    client = opened(endpoint.url, budget=Budget(tokens=300))
    got = [client.ask(stream=stream).status for _ in range(4)]
    assert got[0] == 200 and got[-1] == 403
    use = client.end()
    assert (use.input, use.output, use.usd) == (None, None, None) and use.uncounted == use.calls


def test_who_leaves_before_the_end_has_taken_something_all_the_same(
    opened: Open, model: Model
) -> None:
    """The twin of an agent that waits: usage comes last, and is missed on purpose."""
    endpoint = model(lambda heard: Say("word " * 2000, pause=0.001))
    client = opened(endpoint.url, budget=Budget(tokens=2000))
    body = b'{"model": "big", "input": "hi", "stream": true}'
    head = b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(client.door.socket))
        connection.sendall(head + body)
        seen = 0
        while seen < 40_000:
            seen += len(connection.recv(65536))
    while not client.exchanges:  # written when the gateway notices
        time.sleep(0.01)
    assert client.ask(PATHS[1]).status == 403
    use = client.end()
    assert (use.calls, use.uncounted, use.failed, use.usd) == (1, 1, 0, None)
    assert client.exchanges[0]["failed"] == "the agent did not wait for the answer"
    assert client.door.trouble is None, "it is no fault of the endpoint's"


def test_counting_tokens_is_free_and_ends_with_the_budget(opened: Open, model: Model) -> None:
    client = opened(model(lambda heard: SAID).url, budget=Budget(calls=1, tokens=100))
    count = ("/v1/messages/count_tokens", ASKED["/v1/messages"])
    assert client.ask(*count).status == 200
    assert client.ask().status == 200
    assert client.ask(*count).status == 403
    assert client.end().calls == 1


def test_cached_tokens_are_a_part_of_the_input_in_every_protocol(
    opened: Open, model: Model
) -> None:
    client = opened(model(lambda heard: Say("ok", tokens=(1000, 900, 10))).url)
    for path in PATHS:
        client.ask(path)
        client.ask(path, stream=True)
    use = client.end()
    assert (use.input, use.cached, use.output) == (6000, 5400, 60)
    assert use.usd == pytest.approx(6 * (100 * 3 + 900 * 0.3 + 10 * 15) / 1e6)


def test_a_model_without_a_price_has_no_known_cost(opened: Open, model: Model) -> None:
    def say(heard: Heard) -> Say:
        return SAID

    client = opened(model(say).url)
    assert client.ask(model="small").status == 200
    assert client.ask().status == 200
    use = client.end()
    assert (use.models, use.usd, use.input) == (("small", "big"), None, 200)


# What is asked for, and how many calls of 10,100 tokens a budget of 1,000 is for.
UNBOUNDED: dict[str, dict[str, object]] = {
    "no limit": {},
    "no limit, many answers": {"n": 128},
    "a limit of all": {"max_tokens": -1},
    "the smaller of two": {"max_completion_tokens": 1, "max_tokens": 10_000},
    "many answers": {"max_tokens": 100, "n": 128},
    "a limit": {"max_tokens": 10_000},
}


@pytest.mark.parametrize("limit", UNBOUNDED.values(), ids=UNBOUNDED)
@pytest.mark.parametrize("budget", [Budget(tokens=1000), Budget(usd=0.01)], ids=["tokens", "usd"])
def test_calls_that_may_come_to_anything_are_under_way_alone(
    budget: Budget, limit: dict[str, object], opened: Open, model: Model
) -> None:
    endpoint = model(lambda heard: Say("ok", tokens=(100, 0, 10_000), pause=0.05))
    client = opened(endpoint.url, budget=budget)
    assert at_once(client, 8, **limit) == Counter({200: 1, 403: 7})
    assert len(endpoint.heard) == 1


def test_who_has_money_left_waits_and_is_not_refused(opened: Open, model: Model) -> None:
    """The twin: one after the other without a limit, side by side with one."""
    at = Counter[str]()

    def say(heard: Heard) -> Say:
        return Say("ok", tokens=(100, 0, 20), pause=0.02)

    client = opened(model(say).url, budget=Budget(tokens=10**6))
    at.update({"without": at_once(client, 6)[200], "with": at_once(client, 6, max_tokens=9)[200]})
    assert at == {"without": 6, "with": 6}


def leave(client: Client, endpoint: ScriptedModel, body: dict[str, object]) -> None:
    """Ask, and go as soon as the endpoint has heard it."""
    data = json.dumps({**ASKED[PATHS[0]], **body}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
    heard, done = len(endpoint.heard), len(client.exchanges)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(client.door.socket))
        connection.sendall(head % len(data) + data)
        wait_for(lambda: len(endpoint.heard) > heard)
    wait_for(lambda: len(client.exchanges) > done)


def wait_for(there: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not there():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("limit", [{"max_tokens": 100_000}, {}], ids=["limit", "no limit"])
def test_leaving_before_an_unstreamed_answer_is_not_cheap(
    limit: dict[str, object], opened: Open, model: Model
) -> None:
    endpoint = model(lambda heard: Say("ok", tokens=(100, 0, 100_000), pause=5))
    client = opened(endpoint.url, budget=Budget(tokens=1000))
    leave(client, endpoint, limit)
    got = client.ask(**limit)
    assert got.status == 403 and "1000 tokens" in got.json["error"]["message"]
    use = client.end()
    assert (use.calls, use.refused, use.over_budget, use.uncounted) == (1, 1, True, 1)


def test_an_answer_that_breaks_off_is_not_free(
    opened: Open, plain_server: Callable[[bytes], str]
) -> None:
    """The twin broke before anything was asked of it."""
    cut = b'HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{"choices": ['
    client = opened(plain_server(cut), budget=Budget(tokens=1000))
    assert [client.ask(max_tokens=2000).status for _ in range(2)] == [502, 403]
    nowhere = opened("http://127.0.0.1:1/v1", budget=Budget(tokens=1000), role="verifier")
    assert [nowhere.ask(max_tokens=2000).status for _ in range(2)] == [502, 502]


def test_an_answer_that_is_too_large_is_not_free(
    opened: Open, plain_server: Callable[[bytes], str]
) -> None:
    size = (32 << 20) + 1
    said = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b" " * size
    client = opened(plain_server(said), budget=Budget(tokens=1000))
    assert [client.ask(max_tokens=2000).status for _ in range(2)] == [502, 403]
    assert "larger than 32 MiB" in client.exchanges[0]["failed"]
