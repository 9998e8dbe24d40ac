"""Which backend: by name, or ``auto``. Nothing falls back after this choice."""

from __future__ import annotations

from rolewall.errors import BackendUnavailable, InputError
from rolewall.sandbox.protocol import Backend

__all__ = ["BACKENDS", "find_backend"]

BACKENDS = ("docker", "bubblewrap")


def find_backend(name: str = "auto") -> Backend:
    """The backend called ``name``; for ``auto`` docker if an engine answers, else bubblewrap.

    Raises:
        InputError: no backend has this name.
        BackendUnavailable: the machine does not have it.
    """
    if name == "docker":
        from rolewall.sandbox.docker import DockerBackend, find_engine

        return DockerBackend(find_engine())
    if name == "bubblewrap":
        from rolewall.sandbox.bubblewrap import BubblewrapBackend, find_bwrap

        find_bwrap()
        return BubblewrapBackend()
    if name == "auto":
        return _first()
    raise InputError("unknown backend", got=name, expected="one of auto, " + ", ".join(BACKENDS))


def _first() -> Backend:
    missing = []
    for name in BACKENDS:
        try:
            return find_backend(name)
        except BackendUnavailable as error:
            missing.append(f"{name}: {error}")
    raise BackendUnavailable(
        "no backend can run here: " + "; ".join(missing), hint="`rolewall doctor` tells more"
    )
