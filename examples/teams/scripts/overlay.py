"""Lay the files below one directory over another: ``overlay.py FROM TO``.

A file ``DELETE`` in FROM is not copied; it lists paths to remove from TO.
"""

import sys
from pathlib import Path


def overlay(source, target):
    for path in sorted(source.rglob("*")):
        if path.is_file() and path.name != "DELETE":
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    listed = source / "DELETE"
    for name in listed.read_text().split() if listed.exists() else ():
        (target / name).unlink(missing_ok=True)


overlay(Path(sys.argv[1]), Path(sys.argv[2]))
