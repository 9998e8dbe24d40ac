"""Known ways to a pass without the work, each as files that can be planted."""

from __future__ import annotations

from rolewall.checkgrader.shortcuts.answers import ANSWERS
from rolewall.checkgrader.shortcuts.model import MARK, Plant, Shortcut
from rolewall.checkgrader.shortcuts.python_work import PYTHON_WORK
from rolewall.checkgrader.shortcuts.surroundings import SURROUNDINGS
from rolewall.checkgrader.shortcuts.test_runners import TEST_RUNNERS

__all__ = ["MARK", "SHORTCUTS", "Plant", "Shortcut"]

SHORTCUTS = (*TEST_RUNNERS, *PYTHON_WORK, *ANSWERS, *SURROUNDINGS)
"""All of them. The one that hangs comes last: it takes the longest."""
