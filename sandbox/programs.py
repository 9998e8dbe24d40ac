"""Where a box would look for a program: told without a box, as far as the host can tell.

Of the image ``host`` and of what is shown everything lies on this machine; what another image
has, only a box of it can tell.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from rolewall.sandbox.environment import box_environment
from rolewall.sandbox.protocol import BoxSpec
from rolewall.sandbox.showing import LINKS, is_program, search_path, shown_links, shown_places

__all__ = ["looked_in", "program_found"]

# As ``rolewall.sandbox.kit`` makes them.
_OWN = "/rolewall/bin"
_OWN_NAMES = ("pytest", "rolewall-check")
_OWN_HOST = ("python", "python3")


def looked_in(spec: BoxSpec) -> str:
    """The search path of a box of ``spec``, for a message; of a named image as far as it is
    known."""
    places = [_OWN, *search_path(spec)]
    if spec.image == "host" or "PATH" in spec.env:
        places = box_environment(spec, None)["PATH"].split(":")
    else:
        places.append(f"what the image {spec.image} has")
    return ", ".join(places)


def program_found(spec: BoxSpec, name: str) -> bool | None:
    """Whether a box of ``spec`` has the program ``name``, a name to look for or a path; None
    where only the box can tell."""
    if "/" in name:
        return _path_found(spec, name) if name.startswith("/") else None
    host = spec.image == "host"
    places = box_environment(spec, None)["PATH"].split(":") if host else search_path(spec)
    if name in _OWN_NAMES or (host and name in _OWN_HOST):
        return True
    found = [_path_found(spec, f"{place}/{name}") for place in places if place != _OWN]
    if True in found:
        return True
    return None if not host or None in found else False


def _path_found(spec: BoxSpec, path: str) -> bool | None:
    if path.startswith(f"{LINKS}/"):
        return path.removeprefix(f"{LINKS}/") in shown_links(spec)
    for source, target in _on_this_machine(spec):
        if PurePosixPath(path).is_relative_to(target):
            place = source / PurePosixPath(path).relative_to(target)
            return is_program(place) and _stays(place, source, target)
    return None


def _on_this_machine(spec: BoxSpec) -> Iterator[tuple[Path, str]]:
    """Directories of the host that a box has, and where."""
    yield from shown_places(spec)
    if spec.image == "host":
        yield from ((Path("/", name), f"/{name}") for name in ("usr", "bin", "sbin"))
        yield Path(sys.base_prefix).resolve(), str(Path(sys.base_prefix).resolve())


def _stays(place: Path, source: Path, target: str) -> bool:
    """Whether a program that is a link leads to the same place in the box, where what is
    shown may be at another path than on the host."""
    if target == str(source) or not place.is_symlink():
        return True
    whole = os.path.normpath(place.parent / os.readlink(place))
    return not os.path.isabs(os.readlink(place)) and Path(whole).is_relative_to(source)
