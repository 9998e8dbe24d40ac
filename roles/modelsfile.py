"""The shape of ``models:`` in a team file, and of an agent's ``budget:``.

::

    models:
      main:
        endpoint: https://models.example/v1    # what stands before /chat/completions
        key: EXAMPLE_API_KEY                   # a variable of the harness's environment
        allow: [example-large]                 # models that may be asked for
        prices: {example-large: {input: 3.0, cached: 0.3, output: 15.0}}   # USD a million tokens
"""

from __future__ import annotations

import ipaddress
import re
from types import MappingProxyType
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from rolewall._validate import Hidden, Strict
from rolewall.roles.models import Budget, Endpoint, Price

__all__ = ["BudgetFile", "EndpointFile", "ModelsFile"]

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
Money = Annotated[float, Field(ge=0, le=1e6)]


def _plain_name(text: str) -> str:
    if "*" in text:
        raise ValueError("no wildcards; name each model")
    return text


Model = Annotated[
    str,
    Field(min_length=1, max_length=200, pattern=r"^[^\s\x00]+$"),
    AfterValidator(_plain_name),
]


def _url(text: str) -> str:
    try:
        return _checked_url(text)
    except ValueError as problem:
        if "@" in text:  # what stands before it may be a password
            raise Hidden(str(problem)) from None
        raise


def _checked_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError as problem:
        raise ValueError("not a URL") from problem
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        raise ValueError("not a URL of http or https, such as https://models.example/v1")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL with a password; name the variable that holds the key in `key`")
    if parts.query or parts.fragment:
        raise Hidden("a URL with a query or a fragment")
    if text.rstrip("/").endswith(("/chat/completions", "/responses", "/messages")):
        raise ValueError("a URL that ends in a call; give what stands before it")
    return text.rstrip("/")


def _loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _variable(value: object) -> object:
    if value is not None and not (isinstance(value, str) and _VARIABLE.match(value)):
        raise Hidden("not the name of a variable; the key itself does not belong in a team")
    return value


class PriceFile(Strict):
    input: Money
    output: Money
    cached: Money | None = None


class EndpointFile(Strict):
    """One endpoint. ``allow`` has no wildcards: a list that is wider than meant is none."""

    endpoint: Annotated[str, Field(max_length=2000), AfterValidator(_url)]
    key: Annotated[str | None, BeforeValidator(_variable)] = None
    allow: Annotated[list[Model], Field(min_length=1, max_length=100)]
    prices: dict[str, PriceFile] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _priced(self) -> EndpointFile:
        for name in self.prices:
            if name not in self.allow:
                raise ValueError(f"a price for {name!r}, which is not allowed")
        return self

    @model_validator(mode="after")
    def _key_is_not_sent_in_clear(self) -> EndpointFile:
        plain = urlsplit(self.endpoint).scheme == "http"
        if self.key and plain and not _loopback(self.endpoint):
            raise ValueError("the key would be sent in clear; use https, or a loopback address")
        return self

    def endpoint_named(self, name: str) -> Endpoint:
        prices = {
            model: Price(price.input, price.output, price.cached)
            for model, price in self.prices.items()
        }
        return Endpoint(name, self.endpoint, self.key, tuple(self.allow), MappingProxyType(prices))


class BudgetFile(Strict):
    """See ``Budget``; what is left out has no limit."""

    calls: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    tokens: Annotated[int, Field(ge=1, le=10_000_000_000)] | None = None
    usd: Annotated[float, Field(gt=0, le=1e6)] | None = None
    seconds: Annotated[float, Field(gt=0, le=86_400)] | None = None

    def budget(self) -> Budget:
        return Budget(self.calls, self.tokens, self.usd, self.seconds)


def _names(models: dict[str, EndpointFile]) -> dict[str, EndpointFile]:
    for name in models:
        if not _NAME.match(name):
            raise ValueError(f"{name!r} is no name of an endpoint; letters a to z, digits, - and _")
    return models


ModelsFile = Annotated[dict[str, EndpointFile], AfterValidator(_names)]
