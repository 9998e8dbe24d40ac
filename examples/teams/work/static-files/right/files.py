"""Serve public files."""

from pathlib import Path
from urllib.parse import unquote


def read_public(root, requested):
    """Return the bytes of the file that a URL's path names, below `root`.

    Raises PermissionError for a path that leads outside, FileNotFoundError for
    what is missing or no regular file.
    """
    name = unquote(requested)
    if "\0" in name:
        raise PermissionError("a path has no NUL character")
    root = Path(root).resolve()
    path = (root / name.lstrip("/")).resolve()
    if not path.is_relative_to(root):
        raise PermissionError(f"not below the root: {requested}")
    if not path.is_file():
        raise FileNotFoundError(requested)
    return path.read_bytes()
