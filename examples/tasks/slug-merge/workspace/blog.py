"""Addresses of blog posts."""

import re


def slug(title):
    """Return `title` as part of an address."""
    text = title.strip().lower()
    text = re.sub(r"[^a-z0-9_]+", "-", text)
    return text.strip("-")
