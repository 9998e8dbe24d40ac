"""From the events of a stream to the answer that the endpoint would have given at once.

Only what is known is put together; what an endpoint adds of its own is in the recorded
events.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from rolewall._files import load_json
from rolewall.errors import InputError
from rolewall.roles.gateway.wires import Protocol

__all__ = ["Assembly", "assembly_for"]

MOST_CHOICES = 128  # OpenAI's own limit of n
MAX_DEPTH = 100  # of a tool's arguments, which stand some levels down in the record
_JOINED = ("content", "reasoning_content", "reasoning", "refusal")


class Assembly:
    """One answer in the making.

    Attributes:
        body: what is known of it so far; empty before anything is.
        ended: whether its last event has come.
        error: what the endpoint says went wrong in the midst of it.
    """

    def __init__(self) -> None:
        self.body: dict[str, Any] = {}
        self.ended = False
        self.error = ""

    def add(self, event: Any) -> None:
        """Take what an event holds. Whatever has another shape than expected is left out."""
        if event == "[DONE]":
            self.ended = True
        elif isinstance(event, dict):
            if found := event.get("error"):
                self.error = _words(found)
            with suppress(KeyError, TypeError, ValueError, AttributeError, IndexError):
                self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        raise NotImplementedError


class _Chat(Assembly):
    def __init__(self) -> None:
        super().__init__()
        self._choices: dict[int, dict[str, Any]] = {}

    def _take(self, event: dict[str, Any]) -> None:
        if not self.body:
            known: dict[str, Any] = {
                key: event[key] for key in ("id", "created", "model") if key in event
            }
            self.body = {**known, "object": "chat.completion", "choices": []}
        if event.get("usage"):
            self.body["usage"] = event["usage"]
        for part in event.get("choices") or ():
            self._choice(int(part["index"]), part)
        self.body["choices"] = [self._choices[index] for index in sorted(self._choices)]

    def _choice(self, index: int, part: dict[str, Any]) -> None:
        message: dict[str, Any] = {"role": "assistant", "content": None}
        if index not in self._choices and len(self._choices) >= MOST_CHOICES:
            return
        start = {"index": index, "message": message, "finish_reason": None}
        choice = self._choices.setdefault(index, start)
        if part.get("finish_reason"):
            choice["finish_reason"] = part["finish_reason"]
            self.ended = True
        delta = part.get("delta") or {}
        for key in _JOINED:
            if isinstance(delta.get(key), str):
                choice["message"][key] = (choice["message"].get(key) or "") + delta[key]
        for call in delta.get("tool_calls") or ():
            _call(choice["message"].setdefault("tool_calls", []), call)


def _call(calls: list[dict[str, Any]], part: dict[str, Any]) -> None:
    """Pieces of one call bear its number; one without a number is whole."""
    index = part.get("index", len(calls))
    if index >= len(calls):
        calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        index = len(calls) - 1
    call, function = calls[index], part.get("function") or {}
    call["id"] = part.get("id") or call["id"]
    for key in ("name", "arguments"):
        call["function"][key] += function.get(key) or ""


class _Responses(Assembly):
    def _take(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "response.output_item.done":
            self.body.setdefault("output", []).append(event["item"])
        elif kind == "error":
            self.error = _words(event.get("error") or event.get("message"))
        if isinstance(event.get("response"), dict):
            output = self.body.get("output", [])
            self.body = dict(event["response"])
            self.body["output"] = self.body.get("output") or output
        if kind in ("response.completed", "response.incomplete"):
            self.ended = True
        elif kind == "response.failed":
            self.ended = True
            self.error = _words(self.body.get("error"))


class _Messages(Assembly):
    def __init__(self) -> None:
        super().__init__()
        self._arguments: dict[int, str] = {}

    def _take(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "message_start":
            self.body = {**event["message"], "content": []}
        elif kind == "content_block_start":
            self.body["content"].append(dict(event["content_block"]))
        elif kind == "content_block_delta":
            self._delta(int(event["index"]), event["delta"])
        elif kind == "content_block_stop":
            self._stop(int(event["index"]))
        elif kind == "message_delta":
            self.body |= event["delta"]
            known = {k: v for k, v in (event.get("usage") or {}).items() if v is not None}
            self.body["usage"] = (self.body.get("usage") or {}) | known
        elif kind == "message_stop":
            self.ended = True

    def _delta(self, index: int, delta: dict[str, Any]) -> None:
        block = self.body["content"][index]
        if delta["type"] == "input_json_delta":
            self._arguments[index] = self._arguments.get(index, "") + delta["partial_json"]
        elif delta["type"] == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        else:
            key = delta["type"].removesuffix("_delta")
            block[key] = (block.get(key) or "") + delta[key]

    def _stop(self, index: int) -> None:
        text = self._arguments.pop(index, "")
        if text:
            self.body["content"][index]["input"] = _input(text)


def _input(text: str) -> Any:
    """A tool's arguments; what is no JSON that a record can hold stays the text that it is."""
    try:
        data = text.encode("utf-8", "replace")
        return load_json(data, "arguments", max_bytes=len(data), max_depth=MAX_DEPTH)
    except InputError:
        return text


def assembly_for(protocol: Protocol) -> Assembly:
    return {"chat": _Chat, "responses": _Responses, "messages": _Messages}[protocol]()


def _words(found: object) -> str:
    message = found.get("message") if isinstance(found, dict) else found
    return str(message or "an error without words")[:500]
