"""Files that a box has from the host and from the harness."""

from __future__ import annotations

import errno
import os

from .attempt import Place, attempt

GROUP = "host"


def _file(place: Place, path: str, flags: int) -> None:
    """A file of the host or the harness, or one of the attacker's own."""
    os.open(os.path.join(place.own, "file") if place.allowed else path, flags, 0o644)


CREATE = os.O_WRONLY | os.O_CREAT


@attempt("kit-create", "create a file in /rolewall", twin="own", kind="outside")
def _(place: Place) -> None:
    _file(place, "/rolewall/new", CREATE)


@attempt("kit-agent", "change the program of an agent", twin="own", kind="outside")
def _(place: Place) -> None:
    path = place.mine() if place.allowed else "/rolewall/agents/attack.py"
    os.truncate(path, 0)


@attempt("kit-check", "replace /rolewall/init by rename(2)", twin="own", kind="outside")
def _(place: Place) -> None:
    mine = place.mine()
    os.rename(mine, os.path.join(place.own, "init") if place.allowed else "/rolewall/init")


@attempt("etc-passwd", "append to /etc/passwd", twin="own", kind="outside")
def _(place: Place) -> None:
    path = place.mine() if place.allowed else "/etc/passwd"
    os.open(path, os.O_WRONLY | os.O_APPEND)


@attempt("etc-preload", "create /etc/ld.so.preload", twin="own", kind="outside")
def _(place: Place) -> None:
    _file(place, "/etc/ld.so.preload", CREATE)


@attempt("usr-create", "create a program in /usr/local/bin", twin="own", kind="outside")
def _(place: Place) -> None:
    _file(place, "/usr/local/bin/rolewall-attack", CREATE)


@attempt("usr-chmod", "chmod(2) of a program of the host", twin="own", kind="outside")
def _(place: Place) -> None:
    os.chmod(place.mine() if place.allowed else "/usr/bin/env", 0o777)


@attempt("root-create", "create a file in /", twin="own", kind="outside")
def _(place: Place) -> None:
    _file(place, "/rolewall-attack", CREATE)


@attempt("run-create", "create a file in /run or /var", twin="own", kind="outside")
def _(place: Place) -> None:
    why = OSError(errno.ENOENT, "there is none")
    for path in ("/run/rolewall-attack", "/var/rolewall-attack", "/dev/rolewall-attack"):
        try:
            return _file(place, path, CREATE)
        except OSError as error:
            why = error
    raise why
