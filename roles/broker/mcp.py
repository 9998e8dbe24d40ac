"""The client side of MCP, as much of it as calling one tool takes.

JSON-RPC 2.0, one message a line: ``initialize``, ``tools/list``, ``tools/call``, as
https://modelcontextprotocol.io/specification says. What a server asks of its client besides
``ping`` is answered as not known: it gets no model, no files and no person from here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from rolewall._files import load_json
from rolewall.errors import InputError

__all__ = ["MAX_MESSAGE", "McpClient", "McpFailed"]

MAX_MESSAGE = 8 << 20
MAX_DEPTH = 64
MOST_PAGES = 20
MOST_ASIDES = 10_000  # messages that are no answer, before one is
VERSION = "2025-06-18"
VERSIONS = ("2024-11-05", "2025-03-26", VERSION, "2025-11-25")
NOT_KNOWN = -32601


class McpFailed(Exception):
    """The server does not do what the protocol says, or says that it failed."""


class McpClient:
    """Speaks with one server.

    Args:
        send: takes one line.
        receive: gives the next line, without its end. Raises McpFailed where there is none.
    """

    def __init__(self, send: Callable[[bytes], None], receive: Callable[[], bytes]) -> None:
        self._send = send
        self._receive = receive
        self._asked = 0

    def begin(self) -> None:
        """Raises McpFailed."""
        about = {"name": "rolewall", "version": "1"}
        told = self._ask(
            "initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": about}
        )
        version = told.get("protocolVersion")
        if version not in VERSIONS:
            raise McpFailed(f"the server speaks version {version!r:.100} of the protocol")
        self._tell({"method": "notifications/initialized"})

    def tools(self) -> dict[str, Mapping[str, Any]]:
        """The server's tools by name. Raises McpFailed."""
        found: dict[str, Mapping[str, Any]] = {}
        asked: dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            told = self._ask("tools/list", asked)
            listed = told.get("tools")
            for tool in listed if isinstance(listed, list) else ():
                if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                    found.setdefault(tool["name"], tool)
            following = told.get("nextCursor")
            if not isinstance(following, str) or not following:
                break
            asked = {"cursor": following}
        return found

    def call(self, tool: str, arguments: dict[str, Any]) -> Mapping[str, Any]:
        """What the tool gave: ``content`` and the like. Raises McpFailed, also where it says
        itself that it failed."""
        told = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if told.get("isError"):
            raise McpFailed(_texts(told.get("content")) or "the tool says that it failed")
        return {name: told[name] for name in ("content", "structuredContent") if name in told}

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._asked += 1
        self._tell({"id": self._asked, "method": method, "params": params})
        for _ in range(MOST_ASIDES):
            message = self._message()
            if "method" in message:
                self._answer(message)
            elif message.get("id") == self._asked:
                return _result(message, method)
        raise McpFailed(f"{MOST_ASIDES} messages, and no answer to {method}")

    def _message(self) -> dict[str, Any]:
        line = self._receive()
        try:
            found = load_json(line, "message", max_bytes=MAX_MESSAGE, max_depth=MAX_DEPTH)
        except InputError as error:
            raise McpFailed(f"the server printed what is no message: {error}") from None
        if not isinstance(found, dict):
            raise McpFailed("the server printed what is no message")
        return found

    def _answer(self, asked: Mapping[str, Any]) -> None:
        if "id" not in asked:
            return
        if asked["method"] == "ping":
            self._tell({"id": asked["id"], "result": {}})
        else:
            error = {"code": NOT_KNOWN, "message": "not offered here"}
            self._tell({"id": asked["id"], "error": error})

    def _tell(self, message: dict[str, Any]) -> None:
        self._send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def _result(message: Mapping[str, Any], method: str) -> dict[str, Any]:
    error = message.get("error")
    if error is not None:
        words = error.get("message") if isinstance(error, dict) else error
        raise McpFailed(f"{method}: {words!s:.2000}")
    result = message.get("result")
    if not isinstance(result, dict):
        raise McpFailed(f"{method}: an answer without a result")
    return result


def _texts(content: object) -> str:
    parts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(
        content, list) else []  # fmt: skip
    return "\n".join(part for part in parts if isinstance(part, str))[:2000]
