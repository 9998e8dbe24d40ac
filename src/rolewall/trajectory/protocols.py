"""What a request to a model asks, and what the answer says, in the three protocols.

Of a request the messages that are not the model's own; of an answer its text, its
reasoning and the tools it calls. Whatever has another shape than is documented is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rolewall.roles import ToolCall, ToolResult, arguments_of, mappings, text_of

__all__ = ["Answer", "Told", "answer_in", "told_in"]

GIVEN = ("arguments", "input", "action")  # where a call of `responses` has its arguments


@dataclass(frozen=True)
class Told:
    """A message to the model that is no tool's result. ``source`` is system or user."""

    source: str
    text: str


@dataclass(frozen=True)
class Answer:
    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    model: str | None = None


def told_in(protocol: str, request: object) -> Iterator[Told | ToolResult]:
    """What a request tells the model, oldest first."""
    read = _TOLD.get(protocol)
    if read and isinstance(request, dict):
        yield from read(request)


def answer_in(protocol: str, response: object) -> Answer:
    """What the model answered; of a stream what was put together of it."""
    read = _ANSWER.get(protocol)
    return read(response) if read and isinstance(response, dict) else Answer()


def _told_chat(request: Mapping[str, Any]) -> Iterator[Told | ToolResult]:
    for message in mappings(request.get("messages")):
        role, text = message.get("role"), text_of(message.get("content"))
        if role == "tool":
            yield ToolResult(str(message.get("tool_call_id") or ""), text)
        elif role in ("system", "developer"):
            yield Told("system", text)
        elif role == "user":
            yield Told("user", text)


def _told_responses(request: Mapping[str, Any]) -> Iterator[Told | ToolResult]:
    if request.get("instructions"):
        yield Told("system", text_of(request["instructions"]))
    if isinstance(request.get("input"), str):
        yield Told("user", request["input"])
    for item in mappings(request.get("input")):
        role, text = item.get("role"), text_of(item.get("content"))
        if str(item.get("type")).endswith("_output"):
            yield ToolResult(str(item.get("call_id") or ""), _output(item.get("output")))
        elif role in ("system", "developer"):
            yield Told("system", text)
        elif role == "user":
            yield Told("user", text)


def _output(output: object) -> str:
    """A tool's output is a text, a list of parts, or for some tools an object."""
    return str(output) if isinstance(output, dict) else text_of(output)


def _told_messages(request: Mapping[str, Any]) -> Iterator[Told | ToolResult]:
    if request.get("system"):
        yield Told("system", text_of(request["system"]))
    for message in mappings(request.get("messages")):
        content, role = message.get("content"), message.get("role")
        results = [part for part in mappings(content) if part.get("type") == "tool_result"]
        for part in results:
            failed = part.get("is_error") is True
            text = text_of(part.get("content"))
            yield ToolResult(str(part.get("tool_use_id") or ""), text, failed)
        others = [part for part in mappings(content) if part not in results]
        text = text_of(content if isinstance(content, str) else others)
        if role in ("system", "user") and text:
            yield Told(str(role), text)


def _answer_chat(response: Mapping[str, Any]) -> Answer:
    choice = next(mappings(response.get("choices")), {})
    message = choice.get("message")
    if not isinstance(message, dict):
        return Answer(model=_model(response))
    calls = []
    for call in mappings(message.get("tool_calls")):
        asked = call.get("function")
        if isinstance(asked, dict):
            calls.append(_call(call.get("id"), asked.get("name"), asked.get("arguments")))
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    return Answer(text_of(message.get("content")), text_of(reasoning), tuple(calls),
                  _model(response))  # fmt: skip


def _answer_responses(response: Mapping[str, Any]) -> Answer:
    texts, thoughts, calls = [], [], []
    for item in mappings(response.get("output")):
        kind = str(item.get("type"))
        if kind == "message":
            texts.append(text_of(item.get("content")))
        elif kind == "reasoning":
            thoughts += [text_of(item.get("summary")), text_of(item.get("content"))]
        elif kind.endswith("_call"):
            given = next((item[key] for key in GIVEN if key in item), None)
            name = item.get("name") or kind
            calls.append(_call(item.get("call_id") or item.get("id"), name, given or {}))
    return Answer(_joined(texts), _joined(thoughts), tuple(calls), _model(response))


def _answer_messages(response: Mapping[str, Any]) -> Answer:
    texts, thoughts, calls = [], [], []
    for part in mappings(response.get("content")):
        if part.get("type") == "text":
            texts.append(str(part.get("text") or ""))
        elif part.get("type") == "thinking":
            thoughts.append(str(part.get("thinking") or ""))
        elif part.get("type") == "tool_use":
            calls.append(_call(part.get("id"), part.get("name"), part.get("input")))
    return Answer(_joined(texts), _joined(thoughts), tuple(calls), _model(response))


def _call(key: object, name: object, arguments: object) -> ToolCall:
    return ToolCall(str(key or ""), str(name or ""), arguments_of(arguments))


def _model(response: Mapping[str, Any]) -> str | None:
    return str(response["model"]) if response.get("model") else None


def _joined(parts: list[str]) -> str:
    return "\n".join(filter(None, parts))


_TOLD: dict[str, Callable[[Mapping[str, Any]], Iterator[Told | ToolResult]]] = {
    "chat": _told_chat,
    "responses": _told_responses,
    "messages": _told_messages,
}
_ANSWER: dict[str, Callable[[Mapping[str, Any]], Answer]] = {
    "chat": _answer_chat,
    "responses": _answer_responses,
    "messages": _answer_messages,
}
