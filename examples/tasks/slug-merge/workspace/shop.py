"""Addresses of products."""

import re


def slug(name):
    """Return `name` as part of an address."""
    text = name.strip().lower()
    text = re.sub(r"[^a-z0-9]+", "-", text)
    return text.strip("-")[:24].rstrip("-") or "item"


def product_path(name, number):
    """Return the address of a product."""
    return f"/p/{number}/{slug(name)}"
