"""Where the compiled ``rolewall-init`` is."""

from __future__ import annotations

import os
from pathlib import Path

from rolewall.errors import BackendUnavailable

__all__ = ["init_path"]


def init_path() -> Path:
    """The static binary that is pid 1 of every box.

    Raises ``BackendUnavailable`` when the package was installed without it.
    """
    path = Path(__file__).resolve().parent / "rolewall-init"
    if not path.is_file() or not os.access(path, os.X_OK):
        raise BackendUnavailable(
            "rolewall-init is not built",
            place=str(path),
            hint="from a checkout: make -C sandbox/init (needs gcc and the static libc of "
            "libc6-dev); else install a wheel of rolewall for this platform",
        )
    return path
