"""What an agent may ask an endpoint for: which models, and nothing beyond an answer.

An endpoint is a place of the network with rights of its own. Some fetch pages, run code or
call other servers when a request tells them to; a role would reach through them what its
box cannot. So a request is made of names that are known, tools are only those that the agent
itself carries out, and what is to be looked at comes in the request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rolewall.roles.gateway.conversation import check_conversation, check_settings
from rolewall.roles.gateway.offered import check_functions, check_tools
from rolewall.roles.gateway.parsing import MAX_REQUEST, parse_request
from rolewall.roles.gateway.refusing import Refused
from rolewall.roles.gateway.wires import Protocol, Target
from rolewall.roles.gateway.words import KEYS, LABELS, LEFT_OUT

__all__ = ["MAX_REQUEST", "Asked", "Refused", "admit"]

_SAID = ("messages", "input", "system", "prediction")
_OFFERED = ("tools", "functions")
_LABELS = ("metadata", "client_metadata")
# Others are dearer than what the team file says of a model.
_TIERS = (None, "auto", "default", "standard_only", "flex")
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_TIMES = ("n", "best_of")
MOST_TIMES = 128
MANY_TOKENS = 50_000
_LARGEST = 1 << 40


@dataclass(frozen=True)
class Asked:
    """A request that may go out.

    Attributes:
        payload: the JSON that is sent: what was looked at, and not what arrived.
        counted: whether the agent itself asked for a stream's usage.
        answer_tokens: how many its answers may have at most, all together; None: it does
            not say.
        much: whether it wants several answers, or more of each token than its letters, so
            that it is its own doing how large the answer is.
    """

    target: Target
    model: str
    stream: bool
    payload: bytes
    counted: bool
    answer_tokens: int | None
    much: bool


def admit(target: Target, data: bytes, allow: Sequence[str]) -> Asked:
    """Raises Refused."""
    body = parse_request(data)
    model = body.get("model")
    if not isinstance(model, str):
        raise Refused("body", "the request names no model", 400)
    _check_names(body, target.protocol)
    for name in (model, *_further_models(body)):
        if name not in allow:
            raise Refused("model", f"this team may not ask for the model {name!r:.200}")
    check_tools(body.get("tools"))
    check_functions(body.get("functions"))
    for place in _SAID:
        check_conversation(body.get(place), place)
    _check_values(body)
    _cut_labels(body, target.protocol)
    stream = body.get("stream") is True and target.counts
    counted = _ask_for_usage(body) if stream and target.protocol == "chat" else True
    payload = json.dumps(body, separators=(",", ":")).encode()
    tokens = _answer_tokens(body)
    much = _wants_much(body, target.protocol)
    return Asked(target, model, stream, payload, counted, tokens, much)


def _check_names(body: dict[str, Any], protocol: Protocol) -> None:
    for name, value in body.items():
        if name in LEFT_OUT:
            if value:
                raise Refused("tool", f"{name} would have the endpoint reach or keep something")
        elif name not in KEYS[protocol]:
            raise Refused("body", f"{name!r:.100} is no name that is passed on", 400)
        elif name not in (*_SAID, *_OFFERED, *_LABELS):
            check_settings(value, name)


def _further_models(body: dict[str, Any]) -> Iterator[str]:
    """Models under any name that speaks of them, at any depth outside the conversation."""
    waiting: list[tuple[Any, bool]] = [
        (value, "model" in name)
        for name, value in body.items()
        if name not in (*_SAID, *_OFFERED, *_LABELS, "instructions")
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
                (item, "model" in name or "fallback" in name or (named and name in ("id", "name")))
                for name, item in value.items()
                if name != "schema"  # its names are the agent's own
            ]


def _check_values(body: dict[str, Any]) -> None:
    if body.get("store"):
        raise Refused("tool", "store would have the endpoint keep the answer; false is let through")
    if body.get("service_tier") not in _TIERS:
        raise Refused("body", f"service_tier {body['service_tier']!r:.100} has prices of its own")
    if not isinstance(body.get("stream"), bool | None):
        raise Refused("body", "stream is neither true nor false", 400)


def _cut_labels(body: dict[str, Any], protocol: Protocol) -> None:
    for name, kept in LABELS[protocol].items():
        labels = body.pop(name, None)
        if isinstance(labels, dict):
            left = {key: labels[key] for key in kept if isinstance(labels.get(key), str)}
            body |= {name: left} if left else {}


def _ask_for_usage(body: dict[str, Any]) -> bool:
    """Have a stream end with its usage; whether it would have anyway."""
    options = body.get("stream_options")
    options = dict(options) if isinstance(options, dict) else {}
    asked = options.get("include_usage") is True
    body["stream_options"] = options | {"include_usage": True}
    return asked


def _answer_tokens(body: dict[str, Any]) -> int | None:
    """Which of several limits an endpoint heeds is its own affair: the largest holds."""
    limits = [_whole(body[name], name) for name in _LIMITS if body.get(name) is not None]
    times = [_whole(body[name], name) for name in _TIMES if body.get(name) is not None]
    if not all(0 < number <= MOST_TIMES for number in times):
        raise Refused("body", f"{' and '.join(_TIMES)} are 1 to {MOST_TIMES}", 400)
    if not limits or not all(0 < limit < _LARGEST for limit in limits):
        return None
    return max(limits) * max(times, default=1)


def _wants_much(body: dict[str, Any], protocol: Protocol) -> bool:
    if any(body.get(name) not in (None, 1) for name in _TIMES):
        return True
    if body.get("logprobs") or body.get("top_logprobs") or "logprobs" in str(body.get("include")):
        return True
    # What a tool is called with is no text there, but values that a model says one by one.
    return protocol == "messages" and (_answer_tokens(body) or 0) > MANY_TOKENS


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refused("body", f"{name} is no whole number", 400)
    return value
