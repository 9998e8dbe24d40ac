"""Write payment messages."""

import json


def message(id, cents, currency="EUR"):
    """Return the message of one payment."""
    return json.dumps({"id": id, "amount": cents / 100})
