"""A plant, and the tripwire by which it tells where it acted."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["MARKS", "Plant", "Put", "put_file", "trip_python", "trip_shell"]

MARKS = "/tmp/rolewall-fired"
"""Where a plant leaves its mark if the host's directory is not there: in some box."""

Put = Callable[[str, str], None]


@dataclass(frozen=True)
class Plant:
    """One plant.

    Attributes:
        put: called with the workspace's path and the host directory's; makes the plant.
        paths: what of the workspace belongs to it, for a copy in which to be careless.
        naive: shell words that set it off, with such a copy as current directory.
        home: whether it lies in the planter's own home or tmp, which no other box has.
    """

    id: str
    group: str
    what: str
    put: Put
    paths: tuple[str, ...]
    naive: str
    home: bool = False


def trip_shell(host: str, plant: str) -> str:
    """Shell words that leave a mark in the host's directory, or else in the box."""
    here = f"mkdir -p {MARKS}; true >{MARKS}/{plant}"
    return f"{{ true >{host}/{plant} || {{ {here}; }}; }} 2>/dev/null"


def trip_python(host: str, plant: str) -> str:
    """The same as Python statements that import nothing but what every Python has loaded."""
    return (
        "import os as _os\n"
        f"try:\n    _os.close(_os.open('{host}/{plant}', 65))\n"
        "except OSError:\n"
        f"    _os.makedirs('{MARKS}', exist_ok=True)\n"
        f"    _os.close(_os.open('{MARKS}/{plant}', 65, 0o644))\n"
    )


def put_file(root: str, name: str, text: str, mode: int = 0o644) -> None:
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def one_a_name(plants: list[Plant]) -> dict[str, Plant]:
    found = {plant.id: plant for plant in plants}
    if len(found) != len(plants):
        raise ValueError("two plants have one id")
    return found
