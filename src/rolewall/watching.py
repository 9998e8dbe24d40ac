"""The supervisors of a run: one at a time, a new one when the last has died."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Self

from rolewall.errors import TapError
from rolewall.sandbox import Supervisor

__all__ = ["Supervisors"]


class Supervisors:
    """Gives each episode a supervisor that lives. A context manager, safe for threads.

    Boxes whose supervisor dies are lost, and their episodes are errors; those that
    start afterwards are watched by a new one.

    What a supervisor failed stands in the records of its episodes, so ending says
    nothing of it.

    Raises:
        TapError: the first cannot be started.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = Supervisor()

    def one(self) -> Supervisor:
        """One that lives. Raises TapError when none can be started."""
        with self._lock:
            if not self._last.alive:
                with suppress(TapError):
                    self._last.close()
                self._last = Supervisor()
            return self._last

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        with suppress(TapError):
            self._last.close()
