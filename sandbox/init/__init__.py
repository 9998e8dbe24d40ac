"""``rolewall-init``: the first program of every box, in C, and where to find it."""

from __future__ import annotations

from rolewall.sandbox.init.locate import init_path

__all__ = ["init_path"]
