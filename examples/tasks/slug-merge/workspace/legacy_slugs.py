"""Slugs as the first shop made them."""

import re


def slug(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower())
