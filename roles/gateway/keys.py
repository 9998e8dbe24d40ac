"""Keys: from the harness's environment to the endpoint, and nowhere else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from rolewall.errors import InputError
from rolewall.roles.models import Endpoint

__all__ = ["UNKNOWN", "Scrubber", "is_placeholder", "key_notes", "keys_of", "parts_of"]

LEAST, MOST = 8, 8192
UNKNOWN = 8  # characters of a key, at the least, that are never handed on where it is given back
SHORT = 6
REMOVED = b"[key removed]"
# What the guides of local servers say to put in place of a key, and what people put there.
_PLACEHOLDERS = frozenset({
    "-", "anything", "api-key", "api_key", "apikey", "bearer", "changeme", "dummy", "dummy-key",
    "empty", "fake", "fake-key", "foo", "gpt4all", "jan", "key", "koboldcpp", "litellm",
    "llama-cpp", "llama.cpp", "llamacpp", "lm-studio", "lm_studio", "lmstudio", "local",
    "localai", "localhost", "mlx", "my-key", "n/a", "na", "no-api-key", "no-key",
    "no-key-needed", "no-key-required", "no_key", "nokey", "none", "not-a-key", "not-needed",
    "not-required", "not-used", "null", "ollama", "openai", "placeholder", "secret", "sglang",
    "sk-", "sk-1234", "sk-dummy", "sk-empty", "sk-fake", "sk-local", "sk-no-key",
    "sk-no-key-required", "sk-none", "sk-not-needed", "sk-placeholder", "sk-test", "tabbyapi",
    "test", "test-key", "token", "token-abc123", "unused", "vllm", "your-api-key",
})  # fmt: skip
_FILLED = re.compile(r"(?:sk-)?(?:x+|0+|\*+|-+)")


def keys_of(
    endpoints: Mapping[str, Endpoint], environment: Mapping[str, str]
) -> dict[str, str | None]:
    """The key of each endpoint by its name; None for one that takes none. A placeholder may be
    shorter than a key.

    Raises:
        InputError: a variable is not set, or holds what cannot be a key.
    """
    return {name: _key(endpoint, environment) for name, endpoint in endpoints.items()}


def is_placeholder(key: str) -> bool:
    """Whether it is a usual word in place of a key, as local servers that need none take any:
    no secret, and a model may well say it."""
    return key.lower() in _PLACEHOLDERS or _FILLED.fullmatch(key.lower()) is not None


def key_notes(endpoints: Mapping[str, Endpoint], environment: Mapping[str, str]) -> list[str]:
    """What is to be said of keys before anything starts."""
    return [
        f"note: the variable {endpoint.key} holds a word in place of a key "
        f"(models.{name}.key): it is sent as it is, and is no secret"
        for name, endpoint in endpoints.items()
        if endpoint.key and is_placeholder(environment.get(endpoint.key, "").strip())
    ]


def parts_of(form: str, length: int) -> frozenset[str]:
    """All that stands in a row in ``form``, of this length."""
    return frozenset(form[at : at + length] for at in range(len(form) - length + 1))


def _key(endpoint: Endpoint, environment: Mapping[str, str]) -> str | None:
    if endpoint.key is None:
        return None
    place = f"models.{endpoint.name}.key"
    value = environment.get(endpoint.key, "").strip()
    if not value:
        raise InputError(
            f"the variable {endpoint.key} is not set",
            place=place,
            expected=f"the key of {endpoint.url} in it",
            hint=f"export {endpoint.key}=…, or leave `key` out for an endpoint that takes none",
        )
    # A shorter one could not be told from other text where it must not be.
    printable = value.isascii() and value.isprintable() and " " not in value
    long_enough = len(value) >= LEAST or is_placeholder(value)
    if not printable or not long_enough or len(value) > MOST:
        raise InputError(
            f"the variable {endpoint.key} holds no key",
            place=place,
            got=f"{len(value)} characters",
            expected=f"{LEAST} to {MOST} printable ones without a space",
            hint="for a server that takes any, a word such as EMPTY or none",
        )
    return value


class Scrubber:
    """Takes a key out of what an endpoint says: some repeat it in an error.

    What is cleaned must hold the key whole: an answer, or one event of a stream. A placeholder
    is no key: who searched for it would change what a model says.

    Attributes:
        forms: the key in each way of writing it.
    """

    def __init__(self, key: str | None) -> None:
        key = None if key is None or is_placeholder(key) else key
        plain = {key, json.dumps(key)[1:-1], key.replace("/", "\\/")} if key else set()
        self.forms = sorted(plain, key=len, reverse=True)
        self._forms = [form.encode() for form in self.forms]
        self._parts = parts_of(key, min(SHORT, len(key) // 2)) if key else frozenset()

    def clean(self, data: bytes) -> bytes:
        for form in self._forms:
            data = data.replace(form, REMOVED)
        return data

    def clean_text(self, text: str) -> str:
        return self.clean(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def holds(self, text: str) -> bool:
        return any(form in text.encode("utf-8", "replace") for form in self._forms)

    def holds_part(self, text: str) -> bool:
        """Whether a few of its characters stand in a row in ``text``: too many for what is
        short and left out without harm, such as a name for a request."""
        return any(part in text for part in self._parts)
