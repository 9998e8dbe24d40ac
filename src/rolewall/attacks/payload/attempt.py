"""One attempt of the attack suite: a call that must not work, and how its twin shows that it could.

A payload module makes its attempts like this; importing it does nothing else::

    @attempt("trunc-path", "truncate(2) by path", twin="zone")
    def _(place: Place) -> None:
        os.truncate(place.file, 0)

Returning says that the call succeeded, ``OSError`` that it was refused, ``Skip`` that this
machine lacks it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["TWINS", "Place", "Skip", "Try", "attempt"]

TWINS = ("zone", "own", "bare")
# Short enough to be the name of a process, which is how the ledger tells attempts apart.
_ID = re.compile(r"[a-z0-9-]{1,15}\Z")


class Skip(Exception):
    """This machine has no such call; nothing was tried, so nothing was blocked."""


@dataclass(frozen=True)
class Place:
    """Where one attempt is made. ``other``, ``empty``, ``inner`` and ``link`` are there for those
    with a twin of kind ``zone``.

    Attributes:
        zone: the zone under attack, another role's.
        dir: the attempt's own target directory in it, as ``targets`` makes it.
        own: an empty private directory, on a file system that may be written.
        allowed: the twin: make the same call on an object of your own.
    """

    zone: str
    dir: str
    own: str
    allowed: bool = False

    @property
    def file(self) -> str:
        """Two pages of ``a``, mode 0664."""
        return os.path.join(self.dir, "file")

    @property
    def other(self) -> str:
        """Two pages of ``b``."""
        return os.path.join(self.dir, "other")

    @property
    def new(self) -> str:
        """A name that is free."""
        return os.path.join(self.dir, "new")

    @property
    def empty(self) -> str:
        """An empty directory."""
        return os.path.join(self.dir, "empty")

    @property
    def inner(self) -> str:
        """A file in a directory of the target directory."""
        return os.path.join(self.dir, "dir", "inner")

    @property
    def link(self) -> str:
        """A symbolic link to ``file``."""
        return os.path.join(self.dir, "link")

    @property
    def exec(self) -> str:
        """A shell script, mode 0775."""
        return os.path.join(self.dir, "exec")

    @property
    def fifo(self) -> str:
        return os.path.join(self.dir, "fifo")

    def mine(self, name: str = "mine", data: bytes = b"m" * 8192) -> str:
        """A new file of the attacker's own, with ``data``."""
        path = os.path.join(self.own, name)
        with open(path, "wb") as file:
            file.write(data)
        return path


@dataclass(frozen=True)
class Try:
    """What is tried, and what is expected of its traces.

    Attributes:
        twin: ``zone``: the same call lands where the zone may be written; ``own``: on an
            object of the attacker's own; ``bare``: outside any box, in throw-away namespaces.
        role: who makes it; a ``verifier`` attacks the workspace, an ``executor`` the plan.
        kind: of a line that the ledger must hold; empty for any.
        unseen: why the ledger holds none; empty where it must.
        races: turns its path around meanwhile, so that an edit may be counted as unattributed
            in place of standing in the ledger.
    """

    id: str
    what: str
    group: str
    twin: str
    role: str
    kind: str
    unseen: str
    races: bool
    run: Callable[[Place], object]


def attempt(
    id: str,
    what: str,
    *,
    twin: str,
    group: str = "",
    role: str = "verifier",
    kind: str | None = None,
    unseen: str = "",
    races: bool = False,
) -> Callable[[Callable[[Place], object]], Callable[[Place], object]]:
    """Add the function below to its module's ``ATTEMPTS``; its ``GROUP`` is the default group."""
    if not _ID.match(id) or twin not in TWINS:
        raise ValueError(f"not an attempt: {id!r}, twin {twin!r}")

    def add(run: Callable[[Place], object]) -> Callable[[Place], object]:
        names = run.__globals__
        wanted = ("edit" if twin == "zone" else "") if kind is None else kind
        where = group or names["GROUP"]
        line = "" if unseen else wanted
        made = Try(id, what, where, twin, role, line, unseen, races, run)
        names.setdefault("ATTEMPTS", []).append(made)
        return run

    return add
