"""Write payment messages."""

import json


def message(id, cents, currency="EUR"):
    """Return the message of one payment, version 2."""
    if isinstance(cents, bool) or not isinstance(cents, int):
        raise ValueError(f"cents are whole numbers, not {cents!r}")
    return json.dumps({"v": 2, "id": id, "amount_cents": cents, "currency": currency})
