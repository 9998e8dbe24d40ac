"""What a model asks for, made of whatever an endpoint hands on.

Nothing of an answer is trusted to have the shape that the protocol gives it: what
cannot be read becomes a call with a ``problem``, which the model is told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rolewall._validate import shorten

__all__ = ["Answer", "Call", "clean", "read_answer", "without_thoughts"]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
IDENTIFIER = re.compile(r"[!-~]{1,200}\Z")
THOUGHT = re.compile(r"\s*<think>.*?(?:</think>\s*|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Call:
    """One call of a tool. ``problem`` is what was wrong with how it was asked for, empty
    where it can be tried; ``echo`` is the call as it is said back to the endpoint."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    problem: str = ""
    echo: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Answer:
    """What the model said. ``cut`` says that it reached its limit of tokens; ``asked`` is
    how many tokens the endpoint counted in the request, None where it did not say."""

    text: str
    calls: tuple[Call, ...] = ()
    cut: bool = False
    asked: int | None = None


def read_answer(body: Mapping[str, Any], number: int) -> Answer | None:
    """The first choice of a chat completion; None where ``body`` is none.

    Args:
        number: of the answer in the phase, for calls to which the endpoint gave no id.
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return None
    return Answer(
        text=clean(_text(message.get("content"))),
        calls=_calls(message, number),
        cut=choice.get("finish_reason") == "length",
        asked=_asked(body.get("usage")),
    )


def without_thoughts(text: str) -> str:
    """An answer without the reasoning that some endpoints leave at its head."""
    return THOUGHT.sub("", text, count=1) if THOUGHT.match(text) else text


def _text(content: object) -> str:
    """A text, or the texts of a list of parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def clean(text: str) -> str:
    """``text`` as it can be sent: JSON may hold halves of characters, UTF-8 may not."""
    return text.encode("utf-8", "replace").decode()


def _asked(usage: object) -> int | None:
    found = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return found if type(found) is int and found > 0 else None


def _calls(message: Mapping[str, Any], number: int) -> tuple[Call, ...]:
    found = message.get("tool_calls")
    if found is None or found == []:
        return ()
    listed = found if isinstance(found, list) else [found]
    used: set[str] = set()
    return tuple(_call(one, f"call-{number}-{i}", used) for i, one in enumerate(listed, start=1))


def _call(found: object, own: str, used: set[str]) -> Call:
    raw: dict[str, Any] = found if isinstance(found, dict) else {}
    function = raw.get("function")
    function = function if isinstance(function, dict) else {}
    given = raw.get("id")
    known = isinstance(given, str) and bool(IDENTIFIER.match(given)) and given not in used
    identifier = str(given) if known else own
    used.add(identifier)
    name = function.get("name")
    if not isinstance(name, str) or not NAME.match(name):
        problem = "a tool call without a tool's name" if not name else "no name of a tool"
        return _echoed(raw, identifier, "unknown", {}, problem)
    arguments, problem = _arguments(function.get("arguments"))
    return _echoed(raw, identifier, name, arguments, problem)


def _arguments(given: object) -> tuple[dict[str, Any], str]:
    """Usually JSON in a text; some endpoints hand on the object itself."""
    if given is None or given == "":
        return {}, ""
    if isinstance(given, str):
        try:
            given = json.loads(given, strict=False)  # models leave line ends unescaped
        except (ValueError, RecursionError):
            return {}, f"the arguments are no JSON: {shorten(given)}"
    if not isinstance(given, dict):
        return {}, f"the arguments are no JSON object: {shorten(given)}"
    return given, ""


def _echoed(
    raw: Mapping[str, Any], identifier: str, name: str, arguments: dict[str, Any], problem: str
) -> Call:
    # Some endpoints want back what they put beside the function, such as a signature.
    kept = {k: v for k, v in raw.items() if isinstance(k, str) and k not in ("index", "function")}
    function = {"name": name, "arguments": json.dumps(arguments)}
    echo = {**kept, "id": identifier, "type": "function", "function": function}
    return Call(identifier, name, arguments, problem, echo)
