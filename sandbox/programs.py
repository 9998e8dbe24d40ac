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
from rolewall.sandbox.interpreter import HEAD, Program
from rolewall.sandbox.protocol import BoxSpec
from rolewall.sandbox.showing import LINKS, is_program, search_path, shown_links, shown_places

__all__ = ["looked_in", "programs_found"]

# As ``rolewall.sandbox.kit`` makes them.
_OWN = "/rolewall/bin"
_OWN_NAMES = ("pytest", "rolewall-check", "rolewall-tool")
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


def programs_found(spec: BoxSpec, name: str) -> tuple[Program, ...] | None:
    """What a box of ``spec`` would run for ``name``, a name to look for or a path: the first,
    and those that it would try after it. None where only the box can tell."""
    if "/" in name:
        return _at(spec, name) if name.startswith("/") else None
    host = spec.image == "host"
    brought = f"bin/{name}" in spec.programs
    if brought or name in _OWN_NAMES or (host and name in _OWN_HOST):
        return (Program(f"{_OWN}/{name}"),)
    places = box_environment(spec, None)["PATH"].split(":") if host else search_path(spec)
    looked = [_at(spec, f"{place}/{name}") for place in places if place != _OWN]
    found = tuple(program for one in looked for program in one or ())
    return found if found or (host and None not in looked) else None


def _at(spec: BoxSpec, path: str) -> tuple[Program, ...] | None:
    """What is at a path in the box; at most one."""
    path = str(PurePosixPath(path))
    if path.startswith(f"{LINKS}/"):
        links = shown_links(spec)
        name = path.removeprefix(f"{LINKS}/")
        return _at(spec, links[name]) if name in links else ()
    for source, target in _on_this_machine(spec):
        if PurePosixPath(path).is_relative_to(target):
            return _file(spec, path, source / PurePosixPath(path).relative_to(target), source)
    parts = PurePosixPath(path).parts
    # A private zone is empty when a program is to start.
    return () if len(parts) > 1 and parts[1] in spec.private else None


def _file(spec: BoxSpec, path: str, place: Path, source: Path) -> tuple[Program, ...] | None:
    """The program at ``place`` of this machine, below ``source``, which the box has at
    ``path``."""
    if not is_program(place):
        return ()
    if path != str(place):
        # What is shown elsewhere takes along no link that leads out of it.
        return (Program(path, _head(place)),) if _stays(place, source) else ()
    real = os.path.realpath(place)
    if not Path(real).is_relative_to(os.path.realpath(source)):
        found = _at(spec, real)
        return found and (Program(path, found[0].head),)
    return (Program(path, _head(place)),)


def _head(place: Path) -> bytes:
    try:
        with place.open("rb") as file:
            return file.read(HEAD)
    except OSError:  # a program that may be run and not read is no script
        return b""


def _on_this_machine(spec: BoxSpec) -> Iterator[tuple[Path, str]]:
    """Directories of the host that a box has, and where."""
    yield from shown_places(spec)
    if spec.image == "host":
        yield from ((Path("/", name), f"/{name}") for name in ("usr", "bin", "sbin"))
        yield Path(sys.base_prefix).resolve(), str(Path(sys.base_prefix).resolve())


def _stays(place: Path, source: Path) -> bool:
    """Whether a program that is a link leads to the same place in the box, where what is
    shown is at another path than on the host."""
    if not place.is_symlink():
        return True
    whole = os.path.normpath(place.parent / os.readlink(place))
    return not os.path.isabs(os.readlink(place)) and Path(whole).is_relative_to(source)
