"""Serve public files."""

import os
from urllib.parse import unquote


def read_public(root, requested):
    """Return the bytes of the file that a URL's path names, below `root`."""
    root = os.path.abspath(root)
    path = os.path.normpath(os.path.join(root, unquote(requested).lstrip("/")))
    if not path.startswith(root):
        raise PermissionError(f"not below the root: {requested}")
    with open(path, "rb") as file:
        return file.read()
