"""A door of the gateway in front of a scripted endpoint, without a box."""

from __future__ import annotations

import hashlib
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rolewall.roles import Budget, Endpoint, Gateway, ModelAccess, ModelUse, OpenDoor, Price, Purse
from rolewall.roles import read_tape as open_tape
from tests.models import ScriptedModel

KEY = "sk-true-key/0123456789"
PRICES = {"big": Price(3.0, 15.0, 0.3)}
HI = [{"role": "user", "content": "hi"}]
ASKED: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "big", "messages": HI},
    "/v1/responses": {"model": "big", "input": "hi"},
    "/v1/messages": {"model": "big", "max_tokens": 50, "messages": HI},
}
PATHS = tuple(ASKED)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def word(self) -> str:
        """Of a refusal by the gateway, in the shape of OpenAI's errors."""
        return str(self.json["error"].get("code"))


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(str(self._path))


class Client:
    """Speaks to one door as an agent does."""

    def __init__(self, door: OpenDoor, record: Path) -> None:
        self.door = door
        self.record = record

    def ask(
        self,
        path: str = PATHS[0],
        body: object = None,
        *,
        method: str = "POST",
        headers: dict[str, str] | None = None,
        **more: object,
    ) -> Answer:
        sent = {**ASKED.get(path.partition("?")[0], {}), **more} if body is None else body
        data = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
        connection = _Unix(self.door.socket)
        try:
            connection.request(method, path, data, headers or {})
            got = connection.getresponse()
            return Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            connection.close()

    def raw(self, data: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            connection.connect(str(self.door.socket))
            connection.sendall(data)
            parts = []
            while part := connection.recv(65536):
                parts.append(part)
            return b"".join(parts)

    def end(self) -> ModelUse:
        self.door.shut()
        return self.door.use()

    @property
    def exchanges(self) -> list[dict[str, Any]]:
        whole, _, _ = self.record.read_text().rpartition("\n")  # one may be under way
        lines = [json.loads(line) for line in whole.splitlines()]
        return sorted(lines, key=lambda line: line["n"])


Open = Callable[..., Client]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Open a door to an endpoint at a URL; all doors of a test share one gateway, and those
    of one ``role`` one purse."""
    purses: dict[str, Purse] = {}
    files: list[Path] = []
    with ExitStack() as stack:
        gateway = stack.enter_context(Gateway({"main": KEY}))

        def door(
            url: str,
            *,
            budget: Budget | None = None,
            allow: tuple[str, ...] = ("big", "small"),
            role: str = "executor",
            tape: Path | None = None,
        ) -> Client:
            endpoint = Endpoint("main", url, "A_KEY", allow, PRICES)
            access = ModelAccess(endpoint, budget or Budget())
            purse = purses.setdefault(role, Purse(access.budget))
            files.append(tmp_path / f"{len(files):02}.exchanges.jsonl")
            recorded = open_tape(tape, digest(tape)) if tape else None
            return Client(gateway.open(access, purse, files[-1], None, recorded), files[-1])

        yield door


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def model() -> Iterator[Callable[..., ScriptedModel]]:
    """Start scripted models that end with the test."""
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(ScriptedModel(script))


@pytest.fixture
def plain_server() -> Iterator[Callable[[bytes], str]]:
    """Servers that answer every connection with the same bytes; their URLs."""
    with ExitStack() as stack:

        def start(said: bytes) -> str:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def serve() -> None:
                while True:
                    try:
                        connection, _ = server.accept()
                    except OSError:
                        return
                    with connection:
                        connection.recv(1 << 20)
                        connection.sendall(said)

            thread = threading.Thread(target=serve, daemon=True)
            thread.start()
            stack.callback(thread.join, 30)
            stack.callback(server.shutdown, socket.SHUT_RDWR)
            return f"http://127.0.0.1:{server.getsockname()[1]}/v1"

        yield start


def events(body: bytes) -> list[Any]:
    """What a stream says, event by event."""
    found = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    return [data.decode() if data == b"[DONE]" else json.loads(data) for data in found]
