"""Starving init: limits, processors, priorities. Where it has the role's user, the kernel would
let the role do it; a call that names process 1 is refused before."""

from __future__ import annotations

import os
import resource
import struct

from .attempt import Place, attempt
from .calls import call
from .processes import whom

GROUP = "starving"
PRIO_PROCESS, PRIO_USER, IOPRIO_PROCESS, IOPRIO_USER = 0, 2, 1, 3
IOPRIO_IDLE = 3 << 13
SCHED_OTHER = 0
ALONE = 64998  # a user whom nobody else is, for what reaches all processes of one


@attempt("init-files", "prlimit64(2): no more open files for init", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("prlimit64", whom(place), resource.RLIMIT_NOFILE, struct.pack("<QQ", 0, 0), 0)


@attempt("init-cpu", "prlimit64(2): no processor time for init", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("prlimit64", whom(place), resource.RLIMIT_CPU, struct.pack("<QQ", 0, 0), 0)


@attempt("init-affinity", "sched_setaffinity(2) of init", twin="own", kind="privileged")
def _(place: Place) -> None:
    os.sched_setaffinity(whom(place), {min(os.sched_getaffinity(0))})


@attempt("init-scheduler", "sched_setscheduler(2) of init to SCHED_IDLE", twin="own",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    os.sched_setscheduler(whom(place), os.SCHED_IDLE, os.sched_param(0))


@attempt("init-schedparam", "sched_setparam(2) of init", twin="own", kind="privileged")
def _(place: Place) -> None:
    os.sched_setparam(whom(place), os.sched_param(0))


@attempt("init-schedattr", "sched_setattr(2) of init to nice 19", twin="own", kind="privileged")
def _(place: Place) -> None:
    wish = struct.pack("<IIQiIQQQ", 48, SCHED_OTHER, 0, 19, 0, 0, 0, 0)
    call("sched_setattr", whom(place), wish, 0)


@attempt("init-nice", "setpriority(2) of init to nice 19", twin="own", kind="privileged")
def _(place: Place) -> None:
    os.setpriority(PRIO_PROCESS, whom(place), 19)


@attempt("init-nice-user", "setpriority(2) of all processes of one's user", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    """Where init has the role's user, it is one of them."""
    if place.allowed:
        os.setresuid(*[ALONE] * 3)
    os.setpriority(PRIO_USER, 0, 19)


@attempt("init-ioprio", "ioprio_set(2) of init to idle", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("ioprio_set", IOPRIO_PROCESS, whom(place), IOPRIO_IDLE)


@attempt("init-ioprio-usr", "ioprio_set(2) of all processes of one's user", twin="bare",
         kind="privileged")  # fmt: skip
def _(place: Place) -> None:
    if place.allowed:
        os.setresuid(*[ALONE] * 3)
    call("ioprio_set", IOPRIO_USER, os.geteuid(), IOPRIO_IDLE)


@attempt("init-pgid", "setpgid(2) of init", twin="own", kind="privileged")
def _(place: Place) -> None:
    os.setpgid(whom(place), 0)


@attempt("init-migrate", "migrate_pages(2) of init", twin="own", kind="privileged")
def _(place: Place) -> None:
    nodes = struct.pack("<Q", 1)
    call("migrate_pages", whom(place), 2, nodes, nodes)


@attempt("init-move-pages", "move_pages(2) of init", twin="own", kind="privileged")
def _(place: Place) -> None:
    call("move_pages", whom(place), 0, 0, 0, 0, 0)
