"""What is said to a model: known parts, with nothing in them that an endpoint would fetch.

Words, and what a tool was called with or gave, may speak of any address. Parts that are
looked at or listened to have to come with the request, as ``data:``; so has whatever stands
under the name of an address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rolewall.roles.gateway.refusing import Refused
from rolewall.roles.gateway.words import FETCHED, TYPES

__all__ = ["check_conversation", "check_settings"]

# Names are read without regard to case by many: with capitals, one part is two.
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
# What stands below is an agent's own, in names of its own, and nobody takes it for a part.
_FREE = frozenset({"arguments", "parameters", "input_schema", "schema", "metadata", "logit_bias",
                   "chat_template_kwargs", "env", "action", "actions", "annotations",
                   "citations", "operation"})  # fmt: skip
_ADDRESS = re.compile(r"(.*_)?(url|uri|href|src|image|video|audio|file|path)s?")
# Of a part that is fetched: names of what is shown to the model as it is.
_WORDS = frozenset({"text", "title", "context", "filename"})
# Types of what stands in a part that is fetched, and is still it.
_SOURCES = frozenset({"base64", "url", "content"})
_STORED = ("file_id", "container_id", "vector_store_ids")


@dataclass(frozen=True, slots=True)
class _Found:
    value: Any
    name: str  # it stands under
    place: str
    fetched: bool = False  # it is in a part that is looked at


def check_conversation(said: object, place: str) -> None:
    """``messages``, ``input``, ``system`` or ``prediction``. Raises Refused."""
    if said is None or (isinstance(said, str) and place != "messages"):
        return
    if not isinstance(said, dict if place == "prediction" else list):
        raise Refused("body", f"{place} is no list", 400)
    waiting = [_Found(said, place, place)]
    while waiting:
        found = waiting.pop()
        if isinstance(found.value, list):
            waiting += [
                _Found(item, found.name, f"{found.place}[{index}]", found.fetched)
                for index, item in enumerate(found.value)
            ]
        elif isinstance(found.value, dict):
            waiting += _part(found)
        elif isinstance(found.value, str):
            _check_text(found)


def check_settings(value: object, place: str) -> None:
    """Names in what is no part of the conversation. Raises Refused."""
    waiting = [_Found(value, place, place)]
    while waiting:
        found = waiting.pop()
        if isinstance(found.value, list):
            waiting += [_Found(item, found.name, found.place) for item in found.value]
        elif isinstance(found.value, dict):
            waiting += [
                _Found(item, name, f"{found.place}.{_known(name, found.place)}")
                for name, item in found.value.items()
                if name not in _FREE
            ]


def _part(found: _Found) -> list[_Found]:
    part = found.value
    kind = part.get("type")
    if kind is not None and not isinstance(kind, str):
        raise Refused("body", f"{found.place}.type is no text", 400)
    if kind == "item_reference" or any(part.get(name) for name in _STORED):
        raise Refused("tool", f"{found.place} is something that the endpoint keeps")
    if found.name == "audio" and part.get("id"):
        raise Refused("tool", f"{found.place} is an answer that the endpoint keeps")
    if kind is not None and kind not in TYPES:
        raise Refused("tool", f"{found.place}: nothing of the type {kind!r:.100} is passed on")
    # A document may have words in it, which are none of an address.
    fetched = kind in FETCHED or (found.fetched and (kind is None or kind in _SOURCES))
    words = _WORDS | {"content"} if kind == "content" else _WORDS
    return [
        _Found(item, name, f"{found.place}.{_known(name, found.place)}", fetched)
        for name, item in part.items()
        if name not in _FREE
        and not (name in words and isinstance(item, str))
        and not (kind == "tool_use" and name == "input")
    ]


def _known(name: str, place: str) -> str:
    if not _NAME.fullmatch(name):
        raise Refused("body", f"{place} has {name!r:.100}: names are of small letters", 400)
    return name


def _check_text(found: _Found) -> None:
    text = found.value
    if text[:5].lower() == "data:":
        return
    if (_ADDRESS.fullmatch(found.name) and text) or (found.fetched and ":" in text):
        raise Refused("address", f"{found.place}: the endpoint would fetch {text!r:.200}")
