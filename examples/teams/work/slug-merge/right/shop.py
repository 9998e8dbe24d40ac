"""Addresses of products."""

from slugs import slugify

LONGEST = 24


def slug(name):
    """Return `name` as part of an address."""
    return slugify(name)[:LONGEST].rstrip("-") or "item"


def product_path(name, number):
    """Return the address of a product."""
    return f"/p/{number}/{slug(name)}"
