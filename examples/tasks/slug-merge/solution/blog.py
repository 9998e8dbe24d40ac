"""Addresses of blog posts."""

from slugs import slugify


def slug(title):
    """Return `title` as part of an address."""
    return slugify(title, keep="_")
