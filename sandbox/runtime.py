"""The Python packages that a box may use: pytest and what it needs.

Copied out of the harness's own installation, so that a box never shows the
harness's packages: rolewall holds the truth that graders know.
"""

from __future__ import annotations

import compileall
import functools
import hashlib
import os
import re
import shutil
import sys
from importlib import metadata
from pathlib import Path

from rolewall.errors import InfrastructureError, StorageError
from rolewall.sandbox.owner import new_name

__all__ = ["cache_directory", "runtime_directory"]

ROOTS = ("pytest",)
REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")


def cache_directory() -> Path:
    """Where rolewall keeps what can be made again: ``$ROLEWALL_CACHE``, or
    ``rolewall`` below ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    if explicit := os.environ.get("ROLEWALL_CACHE"):
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "rolewall"


@functools.cache
def runtime_directory() -> Path:
    """A directory to stand as ``site-packages`` in a box. Made once per set of versions.

    Raises:
        StorageError: the cache directory cannot be written.
        InfrastructureError: pytest is not installed beside rolewall.
    """
    packages = _closure(ROOTS)
    digest = hashlib.sha256(
        repr([(p.metadata["Name"], p.version) for p in packages]).encode()
    ).hexdigest()[:16]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    target = cache_directory() / f"runtime-py{version}-{digest}"
    if not target.is_dir():
        try:
            _build(packages, target)
        except OSError as error:
            raise StorageError(
                f"the box runtime cannot be made: {error.strerror}",
                place=str(target),
                hint="set ROLEWALL_CACHE to a writable directory",
            ) from error
    return target


def _closure(names: tuple[str, ...]) -> list[metadata.Distribution]:
    found: dict[str, metadata.Distribution] = {}
    todo = list(names)
    while todo:
        name = todo.pop()
        key = name.lower().replace("_", "-")
        if key in found:
            continue
        try:
            found[key] = metadata.distribution(name)
        except metadata.PackageNotFoundError as error:
            if name in ROOTS:
                raise InfrastructureError(
                    "a package that boxes need is not installed", got=name
                ) from error
            continue  # needed on another platform or Python only
        todo += [m.group() for r in found[key].requires or () if (m := REQUIREMENT.match(_core(r)))]
    return [found[key] for key in sorted(found)]


def _core(requirement: str) -> str:
    """The requirement, or nothing when it belongs to an optional extra."""
    return "" if "extra ==" in requirement else requirement


def _build(packages: list[metadata.Distribution], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.parent / new_name()
    scratch.mkdir(mode=0o700)
    try:
        for package in packages:
            _copy(package, scratch)
        compileall.compile_dir(scratch, quiet=2, stripdir=str(scratch))
        for path in [scratch, *scratch.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        scratch.rename(target)
    except FileExistsError:
        shutil.rmtree(scratch)
    except OSError:
        shutil.rmtree(scratch, ignore_errors=True)
        if not target.is_dir():  # another harness may have won the race to rename
            raise


def _copy(package: metadata.Distribution, scratch: Path) -> None:
    for item in package.files or ():
        if ".." in item.parts or "__pycache__" in item.parts:
            continue  # console scripts, and byte code that is compiled anew
        destination = scratch / item
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(str(item.locate()), destination)
