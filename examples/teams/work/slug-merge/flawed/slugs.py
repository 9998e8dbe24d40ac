"""The one way to turn text into part of an address."""

import re


def slug(text):
    """Return `text` as part of an address."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
