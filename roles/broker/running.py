"""Running tools for one phase, each in a box of its own."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from rolewall._files import load_json
from rolewall.errors import BoxError, InfrastructureError, InputError, TeamError
from rolewall.roles.broker.answer import MAX_RESULT, Ran, Refused
from rolewall.roles.broker.boxes import FETCH, ToolBoxes
from rolewall.roles.broker.mcpserver import McpServer
from rolewall.roles.broker.tool import Http, Mcp, Tool
from rolewall.sandbox import Box, Completed

__all__ = ["OVER", "Runner"]

MOST_PRINTED = 4 * MAX_RESULT  # of our own program: base64 is longer than what it stands for
MOST_WHY = 2000
GRACE = 5.0  # our own program says itself that its time is over
OVER = "the phase is over"


class Runner:
    """Safe for threads; nothing runs after ``close``.

    Args:
        seconds: how long all of it may take.
    """

    def __init__(self, boxes: ToolBoxes, seconds: float) -> None:
        self._boxes = boxes
        self._until = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._open: set[Box] = set()
        self._servers: dict[tuple[object, ...], McpServer] = {}
        self._serving = threading.Lock()
        self._closed = False

    def run(self, tool: Tool, arguments: dict[str, Any]) -> Ran:
        """One call; that a tool fails is an outcome.

        Raises:
            Refused: the phase is over.
            TeamError: the tool's program is not there.
            InfrastructureError: its box failed.
        """
        left = self._until - time.monotonic()
        if left <= 0 or self._closed:
            raise Refused("over", OVER)
        try:
            ran = self._run(tool, arguments, min(tool.seconds, left))
        except InfrastructureError:
            if not self._closed:
                raise
            ran = None
        if ran is None or (self._closed and not ran.ok):
            raise Refused("over", OVER)
        return ran

    def _run(self, tool: Tool, arguments: dict[str, Any], seconds: float) -> Ran:
        if isinstance(tool.means, Http):
            return self._fetch(tool, arguments, seconds)
        if isinstance(tool.means, Mcp):
            return self._server(tool).call(tool.means.tool, arguments, seconds)
        return self._command(tool, arguments, seconds)

    def described(self, tool: Tool) -> Mapping[str, Any]:
        """What an MCP server says of its tool, as ``tools/list`` has it; empty where it says
        nothing. Raises as ``run`` does."""
        assert isinstance(tool.means, Mcp)
        left = self._until - time.monotonic()
        return self._server(tool).described(tool.means.tool, min(tool.seconds, max(0.0, left)))

    def _command(self, tool: Tool, arguments: dict[str, Any], seconds: float) -> Ran:
        asked = json.dumps(arguments, sort_keys=True, ensure_ascii=False).encode() + b"\n"
        with self._opened(tool) as box:
            done = box.run(self._boxes.argv(tool), stdin=asked, timeout=seconds,
                           output_limit=2 * MAX_RESULT)  # fmt: skip
        if done.absent:
            raise absent(tool, self._boxes.argv(tool)[0])
        if why := _why(done, seconds):
            return Ran(done.started, done.ended, why=why)
        raw = done.stdout.data[:MAX_RESULT]
        cut = done.stdout.size > MAX_RESULT
        return Ran(done.started, done.ended, raw.decode("utf-8", "replace"), raw, cut)

    def _fetch(self, tool: Tool, arguments: dict[str, Any], seconds: float) -> Ran:
        asked = {"url": arguments["url"], "seconds": seconds, "most": MAX_RESULT}
        argv = ["python3", "-I", f"/rolewall/{FETCH}", *map(str, tool.network)]
        with self._opened(tool) as box:
            done = box.run(argv, stdin=json.dumps(asked).encode(), timeout=seconds + GRACE,
                           output_limit=MOST_PRINTED)  # fmt: skip
        if why := _why(done, seconds):
            return Ran(done.started, done.ended, why=why)
        return _fetched(done)

    def _server(self, tool: Tool) -> McpServer:
        """The server of a tool; tools with the same command share one."""
        assert isinstance(tool.means, Mcp)
        key = (tool.means.argv, tool.network)
        with self._serving:
            found = self._servers.get(key)
            if found is None or found.ended:
                if found is not None:
                    self._end(found)
                found = McpServer(self._start(tool), tool, self._boxes.argv(tool))
                self._servers[key] = found
            return found

    def _start(self, tool: Tool) -> Box:
        box = self._boxes.open(tool)
        with self._lock:
            if not self._closed:
                self._open.add(box)
                return box
        box.close()
        raise BoxError(OVER)

    @contextmanager
    def _opened(self, tool: Tool) -> Iterator[Box]:
        box = self._start(tool)
        try:
            yield box
            box.kill_all()
        finally:
            with self._lock:
                self._open.discard(box)
            box.close()

    def _end(self, server: McpServer) -> None:
        with self._lock:
            self._open.discard(server.box)
        server.close()

    def close(self) -> None:
        """End what is under way. Safe to call twice.

        Raises:
            BoxError: something of a box is left.
        """
        with self._lock:
            self._closed = True
            for box in self._open:
                box.interrupt()
        with self._serving:
            while self._servers:
                self._end(self._servers.popitem()[1])


def absent(tool: Tool, program: str) -> TeamError:
    return TeamError(
        "a tool's program is not there",
        place=f"tools.{tool.name}",
        got=program,
        expected="a program of the image, or one below {agents}",
    )


def _why(done: Completed, seconds: float) -> str:
    if done.timed_out:
        return f"no answer in {seconds:g} s"
    if done.disk_full:
        return "it outgrew its disk"
    if done.out_of_memory:
        return "it ran out of memory"
    if done.returncode == 0:
        return ""
    said = done.stderr.text().strip()[-MOST_WHY:]
    return f"exit code {done.returncode}" + (f": {said}" if said else "")


def _fetched(done: Completed) -> Ran:
    """What our own program printed; the server's words in it may be anything."""
    try:
        found = load_json(done.stdout.data, "fetched", max_bytes=MOST_PRINTED)
    except InputError as error:
        raise BoxError(f"what was fetched cannot be read: {error}") from error
    if why := found["why"]:
        return Ran(done.started, done.ended, why=why[:MOST_WHY])
    raw = base64.b64decode(found["body"])
    result = {name: found[name] for name in ("status", "url", "type")}
    text = None
    with suppress(UnicodeDecodeError, LookupError):
        text = raw.decode(_charset(found["type"]), "strict" if not found["truncated"] else "ignore")
    result |= {"base64": found["body"]} if text is None else {"text": text}
    return Ran(done.started, done.ended, result, raw, found["truncated"])


def _charset(kind: str) -> str:
    """As a page's type says, where it does; only what is text, by names that Python knows."""
    _, _, rest = kind.lower().partition("charset=")
    name = rest.partition(";")[0].strip().strip("\"'")
    return name if name in ("latin-1", "iso-8859-1", "windows-1252", "us-ascii") else "utf-8"
