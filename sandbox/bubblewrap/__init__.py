"""Boxes by bubblewrap: namespaces without an engine, as root or as an ordinary user."""

from __future__ import annotations

from rolewall.sandbox.bubblewrap.backend import BubblewrapBackend
from rolewall.sandbox.bubblewrap.find import find_bwrap

__all__ = ["BubblewrapBackend", "find_bwrap"]
