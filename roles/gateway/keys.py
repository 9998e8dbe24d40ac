"""Keys: from the harness's environment to the endpoint, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rolewall.errors import InputError
from rolewall.roles.models import Endpoint

__all__ = ["Scrubber", "keys_of"]

LEAST, MOST = 8, 8192
REMOVED = b"[key removed]"


def keys_of(
    endpoints: Mapping[str, Endpoint], environment: Mapping[str, str]
) -> dict[str, str | None]:
    """The key of each endpoint by its name; None for one that takes none.

    Raises:
        InputError: a variable is not set, or holds what cannot be a key.
    """
    return {name: _key(endpoint, environment) for name, endpoint in endpoints.items()}


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
    if not printable or not LEAST <= len(value) <= MOST:
        raise InputError(
            f"the variable {endpoint.key} holds no key",
            place=place,
            got=f"{len(value)} characters",
            expected=f"{LEAST} to {MOST} printable ones without a space",
        )
    return value


class Scrubber:
    """Takes a key out of what an endpoint says: some repeat it in an error.

    What is cleaned must hold the key whole: an answer, or one event of a stream.

    Attributes:
        forms: the key in each way of writing it.
    """

    def __init__(self, key: str | None) -> None:
        plain = {key, json.dumps(key)[1:-1], key.replace("/", "\\/")} if key else set()
        self.forms = sorted(plain, key=len, reverse=True)
        self._forms = [form.encode() for form in self.forms]

    def clean(self, data: bytes) -> bytes:
        for form in self._forms:
            data = data.replace(form, REMOVED)
        return data

    def clean_text(self, text: str) -> str:
        return self.clean(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def holds(self, text: str) -> bool:
        return any(form in text.encode("utf-8", "replace") for form in self._forms)
