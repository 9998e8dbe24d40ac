"""Read payment messages."""

import json
from decimal import Decimal
from typing import NamedTuple


class Payment(NamedTuple):
    id: str
    cents: int
    currency: str


def read(text):
    """Return the payment in a message of version 1 or 2; ValueError for all else."""
    data = json.loads(text, parse_float=Decimal)
    if not isinstance(data, dict):
        raise ValueError("a message is a JSON object")
    try:
        return _payment(data)
    except (KeyError, TypeError, ArithmeticError) as error:
        raise ValueError(f"not a payment message: {error!r}") from error


def _payment(data):
    version = data.get("v", 1)
    if version == 2:
        return Payment(data["id"], data["amount_cents"], data["currency"])
    if version == 1:
        return Payment(data["id"], int(Decimal(data["amount"]) * 100), "EUR")
    raise ValueError(f"unknown version {version!r}")
