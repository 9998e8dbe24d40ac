"""Asking the model, through the gateway: one request, tried again where that may help.

The client is the ``openai`` library's, and comes with the extra ``llm``. It talks to the
gateway's socket and holds no key.
"""

from __future__ import annotations

import importlib.util
import json
import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, TimeoutError
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal

from rolewall.errors import InputError, ModelUnavailable
from rolewall.roles.chat.calls import clean
from rolewall.roles.chat.wayout import AGAIN, NOT_OUT, way_out
from rolewall.roles.door import GATEWAY_URL, PLACEHOLDER_KEY, ModelDoor
from rolewall.roles.models import Endpoint as Served
from rolewall.sandbox import check_stop

if TYPE_CHECKING:
    import httpx2

__all__ = ["Endpoint", "Refused", "require_llm"]

RETRIES = 4
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
POLL_SECONDS = 0.2
BUSY = (408, 409, 425, 429)
OURS = ("path", "body", "model", "tool", "address", "record", "gateway")  # codes of the gateway's
NO_TOOLS = re.compile(r"\b(tools?|tool[_ -]?(choice|calls?|use)|function[_ -]?call\w*)\b", re.I)
TOO_LONG = re.compile(
    r"context[_ ](length|size|window)|maximum context|too (long|many tokens)|"
    r"exceeds?.{0,40}(context|token)", re.I
)  # fmt: skip
Why = Literal["tools", "length", "limit-name", "budget", "time"]


class Refused(Exception):
    """The request was not answered, for a reason that is the loop's to act on:

    ``tools``: the endpoint knows none. ``length``: the request is too long. ``limit-name``:
    it wants ``max_completion_tokens``. ``budget``: the role has spent it. ``time``: the
    phase is over.
    """

    def __init__(self, why: Why, words: str) -> None:
        self.why: Why = why
        super().__init__(words)


@dataclass(frozen=True)
class _Reply:
    status: int
    content: bytes
    headers: Mapping[str, str]


def require_llm(place: str) -> None:
    """Raises InputError where the extra is not installed."""
    if importlib.util.find_spec("openai") and importlib.util.find_spec("httpx2"):
        return
    raise InputError(
        "the chat agent needs the extra llm",
        place=place,
        hint="pip install 'rolewall[llm]'",
    )


class Endpoint:
    """One phase's model. ``left`` says how many seconds the phase has; ``served`` is what the
    team calls its endpoint, to be told of."""

    def __init__(self, door: ModelDoor, left: Callable[[], float], served: Served) -> None:
        import httpx2
        import openai

        self.served = served
        self._left = left
        transport = httpx2.HTTPTransport(uds=str(door.socket))
        self._client = openai.OpenAI(
            api_key=PLACEHOLDER_KEY,
            base_url=f"{GATEWAY_URL}/v1",
            max_retries=0,  # the library's own know nothing of the phase's time
            http_client=httpx2.Client(transport=transport, trust_env=False),
        )

    def close(self) -> None:
        self._client.close()

    def ask(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The endpoint's answer to ``body``, a JSON object.

        Raises:
            Refused: see there.
            ModelUnavailable: it gave none, to no fault of the agent's.
            Interrupted: the run is to stop.
        """
        pause, words = FIRST_PAUSE, ""
        for number in range(RETRIES + 1):
            reply = self._send(body)
            if reply is not None and reply.status < 300:
                found = _object(reply.content)
                # Some say with a good status that they had no answer.
                if found is not None and ("choices" in found or "error" not in found):
                    return found
                words = _words(reply)
            elif reply is not None:
                words = _words(reply)
                _act_on(reply, words)
                if reply.status not in BUSY and reply.status < 500:
                    raise self._unavailable("refuses the request", words, reply, body)
            else:
                words = "the connection ended without an answer"
            if number < RETRIES:
                self._sleep(max(pause, _asked_pause(reply)))
                pause *= 2
        raise self._unavailable("does not answer", words, reply, body)

    def _unavailable(
        self, what: str, words: str, reply: _Reply | None, body: Mapping[str, Any]
    ) -> ModelUnavailable:
        status = reply.status if reply else None
        ours = reply is not None and _code(reply) in OURS
        hint = NOT_OUT if ours else way_out(self.served, str(body.get("model")), status)
        return ModelUnavailable(f"the model's endpoint {what}", got=words, hint=hint)

    def _send(self, body: Mapping[str, Any]) -> _Reply | None:
        """None where the connection ended. In a thread of its own: whoever waits for a
        model also waits for the end of the phase, and for that of the run."""
        future: Future[_Reply | None] = Future()
        until = self._left()
        Thread(target=self._exchange, args=(dict(body), until, future), daemon=True).start()
        while self._left() > 0:
            check_stop(0)
            try:
                return future.result(POLL_SECONDS)
            except TimeoutError:
                continue
        raise Refused("time", "the phase is over")

    def _exchange(self, body: object, seconds: float, future: Future[_Reply | None]) -> None:
        import httpx2
        import openai

        try:
            response = self._client.post(
                "/chat/completions",
                body=body,
                cast_to=httpx2.Response,
                options={"timeout": max(1.0, seconds)},
            )
            future.set_result(_reply(response))
        except openai.APIStatusError as error:
            future.set_result(_reply(error.response))
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, httpx2.ConnectError):
                gone = ModelUnavailable("the gateway is gone", hint=AGAIN)
                future.set_exception(gone)
            else:
                future.set_result(None)
        except Exception as error:
            future.set_exception(error)

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + min(seconds, LONGEST_PAUSE)
        while time.monotonic() < until:
            check_stop(0)
            if self._left() <= 0:
                raise Refused("time", "the phase is over")
            time.sleep(POLL_SECONDS)


def _reply(response: httpx2.Response) -> _Reply:
    return _Reply(response.status_code, response.content, dict(response.headers))


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        # What is no JSON number could not be sent back.
        found = json.loads(content, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _words(reply: _Reply) -> str:
    body = _object(reply.content) or {}
    error = body.get("error", body)
    said = error.get("message") if isinstance(error, dict) else error
    text = said if isinstance(said, str) else reply.content.decode("utf-8", "replace")
    return clean(f"{reply.status}: {text[:500]}")


def _act_on(reply: _Reply, words: str) -> None:
    """Raise what the loop can act on."""
    if _code(reply) == "budget":
        raise Refused("budget", words)
    if "max_completion_tokens" in words and reply.status < 500:
        raise Refused("limit-name", words)
    if reply.status in (400, 413, 422, 500) and TOO_LONG.search(words):
        raise Refused("length", words)
    if reply.status in (400, 404, 422, 500, 501) and NO_TOOLS.search(words):
        raise Refused("tools", words)


def _code(reply: _Reply) -> object:
    error = (_object(reply.content) or {}).get("error")
    return error.get("code") if isinstance(error, dict) else None


def _asked_pause(reply: _Reply | None) -> float:
    found = reply.headers.get("retry-after", "") if reply else ""
    return float(found) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", found) else 0.0
