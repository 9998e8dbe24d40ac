"""Makes the attempts of one role, each in a process of its own that bears its name.

Results are printed as JSON lines. Whether something landed is told from outside; here is
only said what the kernel answered.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import select
import signal
import sys
import traceback
from contextlib import suppress

from . import load
from .attempt import Place, Skip, Try
from .calls import LIBC
from .targets import prepare

__all__ = ["main"]

SECONDS = 240
PR_SET_NAME = 15
TWIN = "twin"  # the name of every process that makes a twin's call


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("do", choices=("prepare", "attack", "own", "bare"))
    parser.add_argument("--role", default="verifier", help="whose attempts")
    parser.add_argument("--zone", default="/workspace", help="the zone under attack")
    parser.add_argument("--own", default="/tmp/own", help="a directory that may be written")
    parser.add_argument("--module", action="append", default=[])
    parser.add_argument("--only", action="append", default=[], help="ids")
    asked = parser.parse_args()
    chosen = [
        attempt
        for attempt in load(asked.module)
        if attempt.role == asked.role and (not asked.only or attempt.id in asked.only)
    ]
    for attempt in chosen:
        target = os.path.join(asked.zone, "t", attempt.id)
        if asked.do == "prepare":
            prepare(target, whole=attempt.twin == "zone")
            continue
        allowed = asked.do != "attack"
        if allowed and attempt.twin != asked.do:
            continue
        own = os.path.join(asked.own, asked.do, attempt.id)
        os.makedirs(own)
        told = _apart(attempt, Place(asked.zone, target, own, allowed))
        print(json.dumps({"id": attempt.id, "do": asked.do, **told}), flush=True)


def _apart(attempt: Try, place: Place) -> dict[str, str]:
    """Make one attempt in a new process group, and end it."""
    sys.stdout.flush()
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.close(ours)
        _child(attempt, place, theirs)
    os.close(theirs)
    told = _hear(ours)
    os.close(ours)
    with suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if told:
        return dict(json.loads(told))
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL:
        return {"end": "killed", "error": signal.Signals(os.WTERMSIG(status)).name}
    return {"end": "killed", "error": f"no answer in {SECONDS} s"}


def _hear(pipe: int) -> bytes:
    """One line, or what came of it."""
    told = b""
    while not told.endswith(b"\n") and select.select([pipe], [], [], SECONDS)[0]:
        more = os.read(pipe, 65536)
        if not more:
            break
        told += more
    return told


def _child(attempt: Try, place: Place, pipe: int) -> None:
    told = {"end": "broke", "error": "not a Python exception"}
    try:
        os.setpgid(0, 0)
        LIBC.prctl(PR_SET_NAME, (TWIN if place.allowed else attempt.id).encode(), 0, 0, 0)
        os.chdir(place.own if place.allowed else place.dir)
        told = _try(attempt, place)
    finally:
        os.write(pipe, json.dumps(told).encode() + b"\n")
        os._exit(0)


def _try(attempt: Try, place: Place) -> dict[str, str]:
    try:
        attempt.run(place)
    except Skip as why:
        return {"end": "skipped", "error": str(why)}
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, str(error))
        # A twin must not be refused, so what it says besides is worth reading.
        return {"end": "refused", "error": f"{name}: {error.strerror}" if place.allowed else name}
    except Exception:
        return {"end": "broke", "error": traceback.format_exc(limit=-3)}
    return {"end": "returned", "error": ""}
