"""The record of exchanges: a line of JSON for each, in a file of the phase's transcript."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rolewall._files import append_whole
from rolewall.errors import StorageError
from rolewall.roles.gateway.wires import Protocol
from rolewall.roles.steps import TokenCounts

__all__ = ["MAX_FILE", "MAX_LINE", "NO_ROOM", "SHOWN_REFUSED", "Exchange", "ExchangeLog"]

MAX_FILE = 256 << 20  # beyond it nothing is begun; what was begun ends below twice of it
MAX_LINE = 128 << 20
SPARE = 32 << 20  # for what is written without what it said
NO_ROOM = "there is no room left to record the answer"
MAX_REFUSALS = 1000  # lines of what was refused; more are counted only
SHOWN_REFUSED = 64 << 10

Fault = Literal["", "endpoint", "agent", "record", "withheld"]


@dataclass
class Exchange:
    """One request and what came of it.

    Attributes:
        n: counts from 1 in the order in which exchanges began; lines are in that in which
            they ended.
        payload: the JSON that was sent; of what was refused what is shown of it, or nothing.
        response: the JSON of the answer; of a stream the same, put together.
        events: a stream as it came.
        refused: why the gateway let it nowhere, in a word; empty if it went out.
        failed: why there is no answer, or not all of one; else empty. ``fail`` sets it.
        fault: whose it is: the endpoint's, that of the agent, which left, that of the
            record, which has no room, or nobody's: the agent must not have it.
        paid: whether a budget is charged for it: a model has answered, or may have been at
            work when it broke off.
    """

    n: int
    protocol: Protocol
    path: str
    started: float
    model: str = ""
    stream: bool = False
    payload: bytes = b""
    ended: float = 0.0
    status: int | None = None
    response: bytes = b""
    events: str | None = None
    usage: TokenCounts | None = None
    usd: float | None = None
    refused: str = ""
    failed: str = ""
    fault: Fault = ""
    paid: bool = False
    replayed: bool = False

    def fail(self, why: str, fault: Fault = "endpoint") -> None:
        self.failed, self.fault = why, fault

    def line(self) -> bytes:
        head = {
            "n": self.n,
            "protocol": self.protocol,
            "path": self.path,
            "model": self.model,
            "stream": self.stream,
        }
        tail: dict[str, object] = {} if self.events is None else {"events": self.events}
        tail |= {
            "started": self.started,
            "ended": self.ended,
            "usage": asdict(self.usage) if self.usage else None,
            "usd": self.usd,
            "refused": self.refused,
            "failed": self.failed,
            "paid": self.paid,
            "withheld": self.fault == "withheld",
            "replayed": self.replayed,
        }
        parts = [
            json.dumps(head)[:-1].encode(),
            b'"request": ' + (self.payload or b"null"),
            b'"status": ' + json.dumps(self.status).encode(),
            b'"response": ' + (self.response or b"null"),
            json.dumps(tail)[1:].encode(),
        ]
        return b", ".join(parts) + b"\n"


class ExchangeLog:
    """Appends to a new file. What is in it survives the harness; ``close`` makes it
    survive the machine.

    Raises:
        StorageError: the file cannot be made or written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = 0
        self._refusals = 0
        self._held: dict[int, int] = {}
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._fd = os.open(path, flags, 0o644)
        except OSError as error:
            raise self._failed(error) from error

    def reserve(self, exchange: Exchange) -> bool:
        """Keep room for what it asks, until it is written or ``release``d; False: there is
        none."""
        if self._kept() + len(exchange.payload) >= MAX_FILE:
            return False
        self._held[exchange.n] = len(exchange.payload)
        return True

    def release(self, exchange: Exchange) -> None:
        self._held.pop(exchange.n, None)

    def write(self, exchange: Exchange) -> bool:
        """Whether there was room for its answer; else the line says that there was none, and
        so does ``exchange``."""
        self.release(exchange)
        if exchange.refused:
            self._refusals += 1
            if self._refusals <= MAX_REFUSALS:
                large = len(exchange.payload) > SHOWN_REFUSED
                if large or self._kept() + len(exchange.payload) > MAX_FILE:
                    exchange.payload = b""
                self._append(exchange.line())
            return True
        data = exchange.line()
        room = min(MAX_LINE, 2 * MAX_FILE - SPARE - self._kept())
        if fits := len(data) <= room:
            self._append(data)
        else:
            exchange.status, exchange.response, exchange.events = None, b"", None
            if not exchange.failed:
                exchange.fail(NO_ROOM, "record")
            self._append(exchange.line())
        return fits

    def _kept(self) -> int:
        return self._size + sum(self._held.values())

    def _append(self, data: bytes) -> None:
        try:
            append_whole(self._fd, data, self._size)
        except OSError as error:
            raise self._failed(error) from error
        self._size += len(data)

    def close(self) -> None:
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise self._failed(error) from error
        finally:
            os.close(self._fd)

    def _failed(self, error: OSError) -> StorageError:
        return StorageError(
            f"exchanges with a model cannot be recorded: {error.strerror}", place=str(self._path)
        )
