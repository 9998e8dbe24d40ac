"""What an agent may ask an endpoint for: which models, and nothing beyond an answer.

An endpoint is a place of the network with rights of its own. Some fetch pages, run code or
call other servers when a request tells them to; a role would reach through them what its
box cannot. So tools are only those that the agent itself carries out, and what is to be
looked at comes in the request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rolewall._files import load_json
from rolewall.errors import InputError
from rolewall.roles.gateway.wires import Target

__all__ = ["MAX_REQUEST", "Asked", "Refused", "admit"]

MAX_REQUEST = 16 << 20
MAX_DEPTH = 200
# What a conversation consists of: words and arguments of tools, which may speak of models
# and addresses without asking for any.
_CONTENT = frozenset({"messages", "input", "system", "instructions", "tools", "metadata",
                      "response_format", "text", "output_format"})  # fmt: skip
# Tools that the agent's own side carries out, by type; Anthropic dates the names of its own.
_OWN_TOOLS = frozenset({"function", "custom", "local_shell", "shell", "apply_patch"})
_OWN_FAMILIES = ("bash_", "text_editor_", "memory_", "computer_")
_SERVERS = ("mcp_servers", "web_search_options", "plugins", "container", "prompt", "conversation",
            "background")  # fmt: skip
_URLS = ("image_url", "file_url", "url")


class Refused(Exception):
    """``word`` says why, in one of: path, body, model, tool, address, budget, record."""

    def __init__(self, word: str, message: str, status: int = 403) -> None:
        super().__init__(message)
        self.word = word
        self.message = message
        self.status = status


@dataclass(frozen=True)
class Asked:
    """A request that may go out.

    Attributes:
        payload: the JSON that is sent: what was looked at, and not what arrived.
        counted: whether the agent itself asked for a stream's usage.
        answer_tokens: how many the answer may have at most; 0: it does not say.
    """

    target: Target
    model: str
    stream: bool
    payload: bytes
    counted: bool
    answer_tokens: int


def admit(target: Target, data: bytes, allow: Sequence[str]) -> Asked:
    """Raises Refused."""
    body = _parse(data)
    model = body.get("model")
    if not isinstance(model, str):
        raise Refused("body", "the request names no model", 400)
    for name in (model, *_further_models(body)):
        if name not in allow:
            raise Refused("model", f"this team may not ask for the model {name!r:.200}")
    _refuse_servers(body)
    _refuse_tools(body.get("tools"))
    _refuse_addresses([body.get("messages"), body.get("input"), body.get("system")])
    stream = body.get("stream") is True and target.counts
    counted = _ask_for_usage(body) if stream and target.protocol == "chat" else True
    payload = json.dumps(body, separators=(",", ":")).encode()
    return Asked(target, model, stream, payload, counted, _answer_tokens(body))


def _parse(data: bytes) -> dict[str, Any]:
    try:
        body = load_json(data, "the request", max_bytes=MAX_REQUEST, max_depth=MAX_DEPTH)
    except InputError as error:
        raise Refused("body", str(error), 400) from None
    if not isinstance(body, dict):
        raise Refused("body", "the request is no JSON object", 400)
    return body


def _further_models(body: dict[str, Any]) -> Iterator[str]:
    """Models under any key that speaks of them, at any depth outside the conversation."""
    waiting: list[tuple[Any, bool]] = [
        (value, "model" in key or "fallback" in key)
        for key, value in body.items()
        if key not in _CONTENT
    ]
    while waiting:
        value, named = waiting.pop()
        if isinstance(value, str):
            if named:
                yield value
        elif isinstance(value, list):
            waiting += [(item, named) for item in value]
        elif isinstance(value, dict):
            waiting += [
                (item, "model" in key or "fallback" in key or (named and key in ("id", "name")))
                for key, item in value.items()
            ]


def _refuse_servers(body: dict[str, Any]) -> None:
    for key in _SERVERS:
        if body.get(key):
            raise Refused("tool", f"{key} would have the endpoint reach or keep something else")


def _refuse_tools(tools: object) -> None:
    if tools is None:
        return
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise Refused("body", "tools are no list of objects", 400)
    for tool in tools:
        kind = tool.get("type", "custom")
        if not isinstance(kind, str):
            raise Refused("body", "a tool's type is no text", 400)
        if kind == "namespace":
            _refuse_tools(tool.get("tools"))
        elif kind not in _OWN_TOOLS and not kind.startswith(_OWN_FAMILIES):
            raise Refused("tool", f"the tool {kind!r:.100} is carried out by the endpoint")


def _refuse_addresses(conversation: Sequence[object]) -> None:
    """An address of a picture or a document is one that the endpoint would fetch.

    Looked at are the parts of messages and of tools' results; what a tool was called with
    is the agent's own affair.
    """
    waiting: list[object] = list(conversation)
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            for address in _addresses(value):
                if not address.startswith("data:"):
                    raise Refused("address", f"the endpoint would fetch {address!r:.200}")
            waiting += [value.get("content"), value.get("output")]


def _addresses(part: dict[str, Any]) -> Iterator[str]:
    holders = [part, part.get("image_url"), part.get("file"), part.get("source")]
    for holder in holders:
        if isinstance(holder, dict):
            yield from (holder[key] for key in _URLS if isinstance(holder.get(key), str))


def _ask_for_usage(body: dict[str, Any]) -> bool:
    """Have a stream end with its usage; whether it would have anyway."""
    options = body.get("stream_options")
    options = dict(options) if isinstance(options, dict) else {}
    asked = options.get("include_usage") is True
    body["stream_options"] = options | {"include_usage": True}
    return asked


def _answer_tokens(body: dict[str, Any]) -> int:
    for key in ("max_completion_tokens", "max_output_tokens", "max_tokens"):
        value = body.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40:
            return value
    return 0
