"""Planted attacks: what a hostile executor leaves for the boxes, and the harness, after it.

``play_planted(backend)`` runs one episode and tells of every plant where it acted.
"""

from __future__ import annotations

from rolewall.attacks.planted.play import play_planted, rows_of
from rolewall.attacks.planted.row import PlantedRow
from rolewall.attacks.planted.stage import make_planted_tree

__all__ = ["PlantedRow", "make_planted_tree", "play_planted", "rows_of"]
