"""Anthropic's messages, as a server speaks them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.models.scripted import Say

__all__ = ["error", "events", "whole"]


def error(say: Say) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "scripted_error", "message": say.error}}


def whole(say: Say, body: dict[str, Any], number: int) -> dict[str, Any]:
    return _message(say, body, number) | {
        "content": _blocks(say, number),
        "stop_reason": _reason(say),
        "usage": _usage(say, last=True),
    }


def events(say: Say, body: dict[str, Any], number: int) -> list[tuple[str, Any]]:
    found: list[dict[str, Any]] = [
        {"type": "message_start", "message": _message(say, body, number)},
        {"type": "ping"},
    ]
    for index, block in enumerate(_blocks(say, number)):
        found += _block(index, block)
    found.append(
        {
            "type": "message_delta",
            "delta": {"stop_reason": _reason(say), "stop_sequence": None},
            "usage": {"output_tokens": say.tokens[2] if say.tokens else 0},
        }
    )
    found.append({"type": "message_stop"})
    return [(event["type"], event) for event in found]


def _block(index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    if block["type"] == "text":
        start, kind, key, text = {"text": ""}, "text_delta", "text", block["text"]
    else:
        start, kind, key = {"input": {}}, "input_json_delta", "partial_json"
        text = json.dumps(block["input"])
    pieces = [text[begin : begin + 12] for begin in range(0, len(text), 12)]
    return [
        {"type": "content_block_start", "index": index, "content_block": block | start},
        *(
            {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}}
            for piece in pieces
        ),
        {"type": "content_block_stop", "index": index},
    ]


def _message(say: Say, body: dict[str, Any], number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(say, last=False),
    }


def _blocks(say: Say, number: int) -> list[dict[str, Any]]:
    text = [{"type": "text", "text": say.text}] if say.text else []
    return text + [
        {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name, "input": arguments}
        for index, (name, arguments) in enumerate(say.calls)
    ]


def _reason(say: Say) -> str:
    return "tool_use" if say.calls else "end_turn"


def _usage(say: Say, *, last: bool) -> dict[str, Any]:
    taken, cached, given = say.tokens or (0, 0, 0)
    return {
        "input_tokens": taken - cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": given if last else 1,
    }
