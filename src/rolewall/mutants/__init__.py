"""Small deliberate faults in a task's reference solution, and laying either over a workspace."""

from __future__ import annotations

from rolewall.mutants.choose import Mutant, mutants_of
from rolewall.mutants.neutral import neutral
from rolewall.mutants.overlay import Overlay, OverlayFile, lay, read_solution

__all__ = ["Mutant", "Overlay", "OverlayFile", "lay", "mutants_of", "neutral", "read_solution"]
