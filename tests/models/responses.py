"""OpenAI's responses, as a server speaks them."""

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
    return _response(body, number, "completed") | {
        "output": _items(say, number),
        "usage": _usage(say) if say.tokens else None,
    }


def events(say: Say, body: dict[str, Any], number: int) -> list[tuple[str, Any]]:
    begun = _response(body, number, "in_progress")
    found: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(_items(say, number)):
        found += _item(index, item)
    found.append({"type": "response.completed", "response": whole(say, body, number)})
    return [(event["type"], event | {"sequence_number": n}) for n, event in enumerate(found)]


def _item(index: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    where = {"output_index": index, "item_id": item["id"]}
    added = {"type": "response.output_item.added", "output_index": index}
    done = {"type": "response.output_item.done", "output_index": index, "item": item}
    if item["type"] == "message":
        part = item["content"][0]
        where |= {"content_index": 0}
        return [
            added | {"item": item | {"content": [], "status": "in_progress"}},
            {"type": "response.content_part.added", **where, "part": part | {"text": ""}},
            *(
                {"type": "response.output_text.delta", **where, "delta": piece, "logprobs": []}
                for piece in _pieces(part["text"])
            ),
            {"type": "response.output_text.done", **where, "text": part["text"], "logprobs": []},
            {"type": "response.content_part.done", **where, "part": part},
            done,
        ]
    key = "input" if item["type"] == "custom_tool_call" else "arguments"
    kind = "custom_tool_call_input" if key == "input" else "function_call_arguments"
    return [
        added | {"item": item | {key: ""}},
        *(
            {"type": f"response.{kind}.delta", **where, "delta": piece}
            for piece in _pieces(item[key])
        ),
        {"type": f"response.{kind}.done", **where, key: item[key]},
        done,
    ]


def _response(body: dict[str, Any], number: int, status: str) -> dict[str, Any]:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": body["model"],
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
    }


def _items(say: Say, number: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if say.text:
        part = {"type": "output_text", "text": say.text, "annotations": []}
        found.append(
            {
                "type": "message",
                "id": f"msg_{number}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        )
    return found + [
        _call(name, arguments, f"{number}_{index}")
        for index, (name, arguments) in enumerate(say.calls)
    ]


def _call(name: str, arguments: Any, number: str) -> dict[str, Any]:
    made = {"name": name, "call_id": f"call_{number}", "status": "completed"}
    if isinstance(arguments, str):
        return made | {"type": "custom_tool_call", "id": f"ctc_{number}", "input": arguments}
    text = json.dumps(arguments)
    return made | {"type": "function_call", "id": f"fc_{number}", "arguments": text}


def _usage(say: Say) -> dict[str, Any]:
    assert say.tokens
    taken, cached, given = say.tokens
    return {
        "input_tokens": taken,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": given,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": taken + given,
    }


def _pieces(text: str) -> list[str]:
    return [text[start : start + 12] for start in range(0, len(text), 12)]
