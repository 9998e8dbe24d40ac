"""The environment of commands in a box."""

from __future__ import annotations

from rolewall.sandbox.host import PYTHON_PATH
from rolewall.sandbox.protocol import BoxSpec

__all__ = ["box_environment"]

BASE_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
    "HOME": "/home",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    # Honest tools change nothing by looking: without these, git refreshes its
    # index and Python and pytest write caches into a zone that is not theirs.
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTEST_ADDOPTS": "-p no:cacheprovider",
}


def box_environment(spec: BoxSpec, image_path: object) -> dict[str, str]:
    """All variables of a command in a box of ``spec``; ``image_path`` is the PATH that
    the box's image asks for, if it does."""
    found = dict(BASE_ENVIRONMENT)
    found["PATH"] = f"/rolewall/bin:{image_path or found['PATH']}"
    if spec.image != "host":
        found["PYTHONPATH"] = PYTHON_PATH
    return found | dict(spec.env)
