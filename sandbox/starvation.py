"""Telling a box that the kernel ended at its memory limit from one that broke."""

from __future__ import annotations

from rolewall.sandbox.protocol import Launched

__all__ = ["Starvation"]


class Starvation:
    """Compares what the kernel has killed with when init was last known to live.

    Attributes:
        found: the kernel has ended the box: nothing runs any more.
    """

    def __init__(self, launched: Launched, facts: dict[str, object]) -> None:
        self.found = False
        self._launched = launched
        self._facts = facts
        self._before = self._alive = 0

    def kills(self) -> int:
        """How often the kernel has killed at the memory limit; all it counted goes into
        the facts."""
        counts = dict(self._launched.limits_hit())
        self._facts["limits_hit"] = counts
        return counts.get("memory_mb", 0)

    def begin(self) -> int:
        """Count before init is asked for something; what ``kills`` says."""
        self._before = self.kills()
        return self._before

    def answered(self) -> None:
        """Init has lived since the last ``begin``."""
        self._alive = self._before

    def explains(self, *, gone: bool) -> bool:
        """Whether a box whose init is ``gone`` was ended so: the role's doing. It was if the
        kernel killed since init was last known to live."""
        self.found = gone and self.kills() > self._alive
        return self.found
