"""Serve public files."""

from pathlib import Path
from urllib.parse import unquote


def read_public(root, requested):
    """Return the bytes of the file that a URL's path names, below `root`."""
    return (Path(root) / unquote(requested)).read_bytes()
