"""Read payment messages."""

import json
from typing import NamedTuple


class Payment(NamedTuple):
    id: str
    cents: int
    currency: str


def read(text):
    """Return the payment in a message of version 1 or 2."""
    data = json.loads(text)
    if "amount" in data:
        return Payment(data["id"], int(data["amount"] * 100), "EUR")
    return Payment(data["id"], data["amount_cents"], data["currency"])
