"""Which code of rolewall does the work: one digest, wherever its parts are installed."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

__all__ = ["COMPONENTS", "code_version", "digest_code"]

COMPONENTS = ("policies", "sandbox", "roles", "graders")
# Beside Python: what engines are told to filter, and the program that is pid 1 of every box.
SUFFIXES = frozenset({".py", ".json"})
INIT = "rolewall-init"


@cache
def code_version() -> str:
    """A digest of rolewall's own code, the first program of every box among it:
    other code is other work."""
    roots = {name: _root(f"rolewall.{name}") for name in COMPONENTS}
    return digest_code({"": _root("rolewall"), **roots})


def digest_code(roots: Mapping[str, Path]) -> str:
    """The digest of the code in ``roots``: component → its directory, ``""`` for what
    lies above the components."""
    total = hashlib.sha256()
    for name, root in sorted(roots.items()):
        # An installed package has its components inside itself, a checkout beside it.
        inside = set() if name else set(roots)
        for path in _files(root, inside):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{name}/{path.relative_to(root)}\0{content}\0".encode())
    return total.hexdigest()[:16]


def _root(package: str) -> Path:
    return Path(next(iter(importlib.import_module(package).__path__))).resolve()


def _files(root: Path, inside: set[str]) -> Iterator[Path]:
    for path in sorted(root.rglob("*")):
        code = path.suffix in SUFFIXES or path.name == INIT
        if code and path.is_file() and path.relative_to(root).parts[0] not in inside:
            yield path
