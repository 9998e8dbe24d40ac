"""An MCP server at work in a tool's box."""

from __future__ import annotations

import json
import os
import select
import threading
import time
from collections.abc import Mapping
from typing import Any

from rolewall.errors import InfrastructureError, TeamError
from rolewall.roles.broker.answer import MAX_RESULT, Ran
from rolewall.roles.broker.mcp import MAX_MESSAGE, McpClient, McpFailed
from rolewall.roles.broker.tool import Tool
from rolewall.sandbox import Box, Completed, Streams

__all__ = ["McpServer"]

PIECE = 64 << 10
END_SECONDS = 2.0
JOIN_SECONDS = 60.0
MOST_SAID = 2000
FOREVER = 86_400.0 * 365


class McpServer:
    """Takes ``box`` over. Safe for threads: one call at a time."""

    def __init__(self, box: Box, tool: Tool, argv: tuple[str, ...]) -> None:
        self.box = box
        self._over = False
        self._tool = tool
        self._argv = argv
        self._lock = threading.Lock()
        self._client = McpClient(self._send, self._receive)
        self._listed: dict[str, Mapping[str, Any]] | None = None
        self._begun = False
        self._called = False
        self._until = 0.0
        self._buffer = b""
        self._done: Completed | None = None
        self._broken: Exception | None = None
        self._stdin, self._feed = os.pipe2(os.O_CLOEXEC)
        self._heard, self._stdout = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._feed, False)
        self._thread = threading.Thread(target=self._serve, name="rolewall-mcp", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether nothing is to be had of it any more: it has ended, or is behind."""
        return self._over or not self._thread.is_alive()

    def _serve(self) -> None:
        try:
            with open(self._stdout, "wb", buffering=0) as out:
                self._done = self.box.run(
                    self._argv,
                    stdin=self._stdin,
                    timeout=FOREVER,
                    output_limit=PIECE,
                    streams=Streams(stdout=out, limit=1 << 62, stderr_limit=0),
                )
        except Exception as error:  # looked at by whoever waits for the server
            self._broken = error
        finally:
            os.close(self._stdin)

    def call(self, name: str, arguments: dict[str, Any], seconds: float) -> Ran:
        """One call of its tool ``name``. What it answers after another call is ``steered``: it
        remembers, and a role that sets what it says must not speak to others by it.

        Raises:
            TeamError: the server's program is not there.
            InfrastructureError: its box failed.
        """
        started = time.time()
        with self._lock:
            self._until = time.monotonic() + seconds
            steered, self._called = self._called, True
            try:
                self._begin()
                if name not in self._tools():
                    raise McpFailed(f"the server has no tool {name!r:.200}")
                result = self._client.call(name, arguments)
            except McpFailed as error:
                self._look()
                return Ran(started, time.time(), why=str(error))
        raw = json.dumps(result, sort_keys=True, ensure_ascii=False).encode()
        if len(raw) > MAX_RESULT:
            raw = raw[:MAX_RESULT]
            cut = raw.decode("utf-8", "ignore")
            return Ran(started, time.time(), cut, raw, truncated=True, steered=steered)
        return Ran(started, time.time(), result, raw, steered=steered)

    def described(self, name: str, seconds: float) -> Mapping[str, Any]:
        """What the server says of its tool ``name``; empty where it says nothing."""
        with self._lock:
            self._until = time.monotonic() + seconds
            try:
                self._begin()
                return self._tools().get(name, {})
            except McpFailed:
                self._look()
                return {}

    def _begin(self) -> None:
        if self._over:
            raise McpFailed("the server has ended")
        if not self._begun:
            self._client.begin()
            self._begun = True

    def _tools(self) -> Mapping[str, Mapping[str, Any]]:
        if self._listed is None:
            self._listed = self._client.tools()
        return self._listed

    def _look(self) -> None:
        """After a failure: whether the box, or the team's file, is what failed."""
        if isinstance(self._broken, InfrastructureError):
            raise self._broken
        if self._done is not None and self._done.absent:
            raise TeamError(
                "a tool's program is not there",
                place=f"tools.{self._tool.name}",
                got=self._argv[0],
                expected="a program of the image, or one below {agents}",
            )

    def _send(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            self._wait(self._feed, select.POLLOUT)
            try:
                left = left[os.write(self._feed, left[:PIECE]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._gone() from error

    def _receive(self) -> bytes:
        while b"\n" not in self._buffer:
            if len(self._buffer) > MAX_MESSAGE:
                self._over = True
                raise McpFailed(f"a message of more than {MAX_MESSAGE >> 20} MiB")
            self._wait(self._heard, select.POLLIN)
            piece = os.read(self._heard, PIECE)
            if not piece:
                raise self._gone()
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _wait(self, descriptor: int, event: int) -> None:
        poller = select.poll()
        poller.register(descriptor, event)
        left = self._until - time.monotonic()
        if left <= 0 or not poller.poll(left * 1000):
            self._over = True  # an answer that comes later would be taken for the next one's
            raise McpFailed("no answer in time")

    def _gone(self) -> McpFailed:
        self._over = True
        self._thread.join(END_SECONDS)
        done = self._done
        said = done.stderr.text().strip()[-MOST_SAID:] if done is not None else ""
        code = f" with code {done.returncode}" if done is not None else ""
        return McpFailed(f"the server has ended{code}" + (f": {said}" if said else ""))

    def close(self) -> None:
        """End the server, whoever waits for it, and its box. Safe to call twice.

        Raises:
            BoxError: something of the box is left.
        """
        self._over = True
        if not self._lock.acquire(blocking=False):
            self.box.interrupt()  # whoever waits sees the output's end
            self._lock.acquire()
        try:
            if self._feed >= 0:
                self._end()
        finally:
            self._lock.release()
        self.box.close()

    def _end(self) -> None:
        os.close(self._feed)
        self._feed = -1
        self._thread.join(END_SECONDS)  # a server that is told no more ends by itself
        if self._thread.is_alive():
            self.box.interrupt()
            self._thread.join(JOIN_SECONDS)
        os.close(self._heard)
