"""The three protocols that agents speak: their paths, and the shape of a refusal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["TARGETS", "Protocol", "Target", "error_body", "list_models"]

Protocol = Literal["chat", "responses", "messages"]

# Of Anthropic's error types, those that a client tells by their name.
_TYPES = {
    400: "invalid_request_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
}


@dataclass(frozen=True, slots=True)
class Target:
    """One thing that may be asked for.

    Attributes:
        path: as agents say it; ``below`` is what follows an endpoint's URL.
        counts: whether it makes a model answer, and is a call of a budget.
    """

    protocol: Protocol
    path: str
    below: str
    counts: bool = True


COUNTING = "/v1/messages/count_tokens"
_PATHS: tuple[tuple[str, Protocol], ...] = (
    ("/v1/chat/completions", "chat"),
    ("/v1/responses", "responses"),
    ("/v1/messages", "messages"),
    ("/v1/messages?beta=true", "messages"),
    (COUNTING, "messages"),
    (f"{COUNTING}?beta=true", "messages"),
)
TARGETS: Mapping[str, Target] = {
    path: Target(protocol, path, path.removeprefix("/v1"), not path.startswith(COUNTING))
    for path, protocol in _PATHS
}
"""Request targets, byte for byte: what is not here has no way out."""


def error_body(protocol: Protocol, status: int, word: str, message: str) -> bytes:
    """An error as the protocol's own clients understand it. ``word`` says which."""
    if protocol == "messages":
        kind = _TYPES.get(status, "api_error")
        return _dump({"type": "error", "error": {"type": kind, "message": message}})
    kind = "server_error" if status >= 500 else "invalid_request_error"
    if word == "budget":
        kind = "insufficient_quota"
    return _dump({"error": {"message": message, "type": kind, "param": None, "code": word}})


def list_models(allow: tuple[str, ...], name: str | None = None) -> bytes:
    """The models that may be asked for, or one of them, for clients of every protocol."""
    found = [_model(model) for model in allow]
    if name is not None:
        return _dump(_model(name))
    ends = {"first_id": allow[0], "last_id": allow[-1], "has_more": False}
    return _dump({"object": "list", "data": found, **ends})


def _model(name: str) -> dict[str, Any]:
    openai = {"id": name, "object": "model", "created": 0, "owned_by": "rolewall"}
    return openai | {
        "type": "model",
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
    }


def _dump(value: object) -> bytes:
    return json.dumps(value).encode()
