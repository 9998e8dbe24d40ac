"""Noticing that a model goes round in circles, or has nothing more to say."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rolewall.roles.chat.calls import Call

__all__ = ["Stuck"]

NUDGED, GIVEN_UP = 3, 6  # the same calls, answer after answer
MOST_SILENT = 3


class Stuck:
    """Counts answers that lead nowhere.

    Attributes:
        repeated: how often in a row the model has made the same calls.
        silent: how many answers in a row called nothing.
    """

    def __init__(self) -> None:
        self.repeated = 0
        self.silent = 0
        self._last = ""

    @property
    def gone_silent(self) -> bool:
        return self.silent >= MOST_SILENT

    @property
    def stuck(self) -> bool:
        return self.repeated >= GIVEN_UP

    def fell_silent(self) -> None:
        self.silent += 1

    def heard(self) -> None:
        self.silent = 0

    def called(self, calls: Sequence[Call]) -> None:
        now = json.dumps([[call.name, call.arguments, call.problem] for call in calls])
        self.repeated = self.repeated + 1 if now == self._last else 1
        self._last = now

    def words(self) -> str:
        """What to tell the model; empty for nothing."""
        if self.repeated < NUDGED:
            return ""
        return (
            f"You have made this same call {self.repeated} times in a row. It will not come out "
            "otherwise: do something else, or hand over."
        )
