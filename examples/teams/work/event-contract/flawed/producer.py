"""Write payment messages."""

import json


def message(id, cents, currency="EUR"):
    """Return the message of one payment."""
    return json.dumps({"v": 2, "id": id, "amount_cents": cents, "currency": currency})
