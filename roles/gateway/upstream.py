"""Calling an endpoint: one host, no redirects, no proxies, deadlines on connect and silence."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from io import BytesIO

import aiohttp

from rolewall.roles.gateway.admission import Asked
from rolewall.roles.gateway.keys import Scrubber
from rolewall.roles.gateway.reply import NoAnswer, Reply
from rolewall.roles.gateway.wires import Protocol
from rolewall.roles.models import Endpoint

__all__ = ["Upstream"]

CONNECT_SECONDS = 20.0
# Less than servers keep an idle connection: one that they close at that moment would be
# an answer that never comes.
KEEP_SECONDS = 4.0
# What agents say besides the body that changes what an endpoint does.
_PASSED_ON = ("anthropic-version", "anthropic-beta", "openai-beta")
# What clients heed of an answer, besides its type.
_PASSED_BACK = ("retry-after", "retry-after-ms", "x-should-retry", "request-id", "x-request-id")
_LONGEST_HEADER = 1000


class Upstream:
    """The client side, for all endpoints of a run. Made and used in the gateway's loop.

    Attributes:
        answered: names of endpoints that have given an answer in this run.
    """

    def __init__(self, silence: float) -> None:
        self.answered: set[str] = set()
        self._silence = silence
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_SECONDS, sock_read=silence
            ),
            trust_env=False,
        )

    async def close(self) -> None:
        await self._session.close()

    @asynccontextmanager
    async def ask(
        self,
        endpoint: Endpoint,
        key: str | None,
        asked: Asked,
        headers: Mapping[str, str],
        scrubber: Scrubber,
    ) -> AsyncIterator[Reply]:
        """Raises NoAnswer."""
        url = endpoint.url + asked.target.below
        said = _headers(asked.target.protocol, key, headers, stream=asked.stream)
        try:
            answer = await self._session.post(
                url, data=BytesIO(asked.payload), headers=said, allow_redirects=False
            )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._no_answer(error) from error
        try:
            if 200 <= answer.status < 300:
                self.answered.add(endpoint.name)
            if 300 <= answer.status < 400:
                raise NoAnswer(
                    f"status {answer.status}: a redirect, which is not followed", paid=False
                )
            yield Reply(
                answer.status,
                answer.content_type == "text/event-stream",
                self._body(answer.content),
                _passed_back(answer.headers, scrubber),
            )
        finally:
            answer.close()  # of what was read to its end the connection is kept all the same

    async def _body(self, content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
        try:
            async for chunk in content.iter_any():
                yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._no_answer(error) from error

    def _no_answer(self, error: Exception) -> NoAnswer:
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return NoAnswer(f"no connection within {CONNECT_SECONDS:g} s", 504, paid=False)
        if isinstance(error, TimeoutError):
            return NoAnswer(f"silent for {self._silence:g} s", 504)
        if isinstance(error, aiohttp.ClientConnectorError):
            return NoAnswer(f"no connection: {_reason(error.os_error)}", paid=False)
        # The library's words quote what the endpoint sent, which may be the key.
        return NoAnswer(f"the connection broke: {type(error).__name__}")


def _reason(error: OSError) -> str:
    """In the system's words; those of the event loop name the address once more."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else str(error.strerror or error)


def _headers(
    protocol: Protocol, key: str | None, given: Mapping[str, str], *, stream: bool
) -> dict[str, str]:
    """What goes out: of the agent's own only what is listed, and never its credentials."""
    said = {name: given[name] for name in _PASSED_ON if len(given.get(name, "")) in range(1, 1000)}
    said |= {
        "content-type": "application/json",
        "accept": "text/event-stream" if stream else "application/json",
        "accept-encoding": "identity",
        "user-agent": "rolewall",
    }
    if protocol == "messages":
        said.setdefault("anthropic-version", "2023-06-01")
    if key is not None:
        name, value = ("x-api-key", key) if protocol == "messages" else (
            "authorization", f"Bearer {key}")  # fmt: skip
        said[name] = value
    return said


def _passed_back(headers: Mapping[str, str], scrubber: Scrubber) -> dict[str, str]:
    found = {name: headers[name] for name in _PASSED_BACK if name in headers}
    return {
        name: value
        for name, value in found.items()
        if len(value) <= _LONGEST_HEADER and not scrubber.holds_part(value)
    }
