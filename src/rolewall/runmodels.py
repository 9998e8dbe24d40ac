"""The ways to models of all episodes of a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Self

from rolewall.episode import EpisodeModels, RecordedEpisode
from rolewall.roles import Endpoint, Gateway, keys_of

__all__ = ["RunModels"]


class RunModels:
    """A context manager: while it is entered, there is a gateway, if anything calls a model.

    Args:
        recorded: by episodes' keys, what answers in place of the endpoints; no key is then
            needed.

    Raises:
        InputError: a variable that should hold a key does not.
    """

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        recorded: Mapping[str, RecordedEpisode] | None,
    ) -> None:
        self._needed = bool(endpoints)
        self._recorded = recorded
        self._keys = keys_of({} if recorded is not None else endpoints, os.environ)
        self._gateway: Gateway | None = None

    def __enter__(self) -> Self:
        if self._needed:
            self._gateway = Gateway(self._keys)
        return self

    def __exit__(self, *failure: object) -> None:
        if self._gateway is not None:
            self._gateway.close()

    def of(self, key: str) -> EpisodeModels | None:
        """Those of one episode; None where nothing calls a model."""
        if self._gateway is None:
            return None
        return EpisodeModels(self._gateway, self._recorded[key] if self._recorded else None)

    def interrupt(self) -> None:
        """End every exchange that is under way."""
        if self._gateway is not None:
            self._gateway.interrupt()
