"""The environment of commands in a box."""

from __future__ import annotations

from pathlib import PurePosixPath
from posixpath import normpath

from rolewall.sandbox.host import PYTHON_PATH
from rolewall.sandbox.protocol import BoxSpec
from rolewall.sandbox.showing import search_path
from rolewall.sandbox.workdir import further_places

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
    the box's image asks for, if it does. A PATH in the spec stands in place of that one:
    the box's own programs and those that it is shown come first whatever it says."""
    found = {**BASE_ENVIRONMENT, **spec.env}
    if spec.image != "host":
        found.setdefault("PYTHONPATH", PYTHON_PATH)
    image = spec.env.get("PATH")
    if image is None:
        image = _safe(spec, str(image_path or BASE_ENVIRONMENT["PATH"]))
    found["PATH"] = ":".join(filter(None, ["/rolewall/bin", *search_path(spec), image]))
    return found


def _safe(spec: BoxSpec, path: str) -> str:
    """A search path without what others write: an image may look for programs in the very
    work that a verifier is to judge."""
    others = [f"/{mount.zone}" for mount in spec.mounts if not mount.writable]
    others += [place for mount, place in further_places(spec) if not mount.writable]
    plain = [PurePosixPath(normpath(part)) for part in path.split(":") if part.startswith("/")]
    return ":".join(str(part) for part in plain if not any(map(part.is_relative_to, others)))
