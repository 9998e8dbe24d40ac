"""OpenAI's chat completions, as a server speaks them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.models.scripted import Say

__all__ = ["error", "events", "whole"]

CREATED = 1_750_000_000


def error(say: Say) -> dict[str, Any]:
    return {"error": {"message": say.error, "type": "scripted_error", "param": None, "code": None}}


def whole(say: Say, body: dict[str, Any], number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": say.text or None}
    if say.calls:
        message["tool_calls"] = _calls(say, number)
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": CREATED,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": _reason(say)}],
        **({"usage": _usage(say)} if say.tokens else {}),
    }


def events(say: Say, body: dict[str, Any], number: int) -> list[tuple[str, Any]]:
    asked = bool((body.get("stream_options") or {}).get("include_usage"))
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in _pieces(say.text)]
    for index, call in enumerate(_calls(say, number)):
        arguments = call["function"]["arguments"]
        head = call | {"index": index, "function": call["function"] | {"arguments": ""}}
        deltas.append({"tool_calls": [head]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in _pieces(arguments)
        ]
    found = [_chunk(body, number, [_choice(delta, None)], asked) for delta in deltas]
    found.append(_chunk(body, number, [_choice({}, _reason(say))], asked))
    if asked and say.tokens:
        found.append(_chunk(body, number, [], asked) | {"usage": _usage(say)})
    return [*(("", chunk) for chunk in found), ("", "[DONE]")]


def _chunk(
    body: dict[str, Any], number: int, choices: list[dict[str, Any]], asked: bool
) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": body["model"],
        "choices": choices,
        **({"usage": None} if asked else {}),
    }


def _choice(delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": reason}


def _reason(say: Say) -> str:
    return "tool_calls" if say.calls else "stop"


def _calls(say: Say, number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(say.calls)
    ]


def _usage(say: Say) -> dict[str, Any]:
    assert say.tokens
    taken, cached, given = say.tokens
    return {
        "prompt_tokens": taken,
        "completion_tokens": given,
        "total_tokens": taken + given,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _pieces(text: str) -> list[str]:
    return [text[start : start + 12] for start in range(0, len(text), 12)]
