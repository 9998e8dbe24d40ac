"""Whether an engine can hold the wall as it is meant, before any box is made."""

from __future__ import annotations

from rolewall.errors import BackendUnavailable
from rolewall.sandbox.docker.engine import Engine

__all__ = ["refuse_unfit"]

USE_BUBBLEWRAP = "use the bubblewrap backend, which needs no engine"


def refuse_unfit(engine: Engine) -> None:
    """Raise when boxes of this engine would be weaker than a box is.

    Raises:
        BackendUnavailable: the engine runs no Linux, is rootless, or has no seccomp.
    """
    if (system := engine.info.get("OSType")) != "linux":
        raise BackendUnavailable(
            "the engine runs no Linux containers", place=engine.address, got=system
        )
    if engine.security_option("rootless") is not None:
        # Its users are numbers of another user namespace: leases, id-maps and
        # the owners of files would mean something else on each side.
        raise BackendUnavailable(
            "a rootless Docker engine cannot give roles their users",
            place=engine.address,
            hint=f"set DOCKER_HOST to the system's engine, or {USE_BUBBLEWRAP}",
        )
    if engine.security_option("seccomp") is None:
        raise BackendUnavailable(
            "the Docker engine has no seccomp", place=engine.address, hint=USE_BUBBLEWRAP
        )
