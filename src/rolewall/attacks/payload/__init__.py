"""What runs inside the box: standard library only, Python 3.9 or newer, no ``rolewall``.

The same modules are read on the host for what they say about their attempts.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable

from .attempt import Try

__all__ = ["load"]


def load(modules: Iterable[str] = ()) -> list[Try]:
    """The attempts of ``modules``, or of all, in the order in which they are made.

    Raises:
        ValueError: two attempts have one id.
    """
    names = set(modules) or {found.name for found in pkgutil.iter_modules(__path__)}
    found: dict[str, Try] = {}
    for name in sorted(names):
        for attempt in getattr(importlib.import_module(f"{__name__}.{name}"), "ATTEMPTS", ()):
            if attempt.id in found:
                raise ValueError(f"two attempts are called {attempt.id}")
            found[attempt.id] = attempt
    return list(found.values())
