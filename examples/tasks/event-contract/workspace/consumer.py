"""Read payment messages."""

import json
from typing import NamedTuple


class Payment(NamedTuple):
    id: str
    cents: int
    currency: str


def read(text):
    """Return the payment in a message."""
    data = json.loads(text)
    return Payment(data["id"], data["amount_cents"], data["currency"])
