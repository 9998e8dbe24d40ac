"""Addresses of products."""

from slugs import slug

__all__ = ["product_path", "slug"]


def product_path(name, number):
    """Return the address of a product."""
    return f"/p/{number}/{slug(name)}"
