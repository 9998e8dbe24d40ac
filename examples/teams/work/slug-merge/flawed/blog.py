"""Addresses of blog posts."""

from slugs import slug

__all__ = ["slug"]
