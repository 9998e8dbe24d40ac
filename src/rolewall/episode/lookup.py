"""Whether what steps of a plan need is a program that the executor's box has.

Told by looking, before the executor acts: what its own commands say of that is its word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rolewall.episode.setting import Setting
from rolewall.sandbox import Box, BoxSpec, open_box, programs_found

__all__ = ["programs_there"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}\Z")
MOST = 50  # names of one plan
LOOK = 'command -v "$1"'
LOOK_SECONDS = 30.0


def programs_there(setting: Setting, spec: BoxSpec, needs: Iterable[str]) -> dict[str, bool]:
    """Each of ``needs`` that can be a program's name, and whether a box of ``spec`` finds one:
    in the image, in what every role is shown, or among the role's own files. What cannot be
    told is left out.

    Raises:
        InfrastructureError: the box to look in failed.
    """
    names = [name for name in dict.fromkeys(needs) if NAME.match(name)][:MOST]
    brought = {path.rpartition("/")[2] for path in spec.programs}
    found = {name: True for name in names if name in brought}
    in_box: list[str] = []
    for name in names:
        if name in found:
            continue
        programs = programs_found(spec, name)
        if programs is not None:
            found[name] = bool(programs)
        elif spec.image != "host":
            in_box.append(name)
    return {**found, **_in_box(setting, spec, in_box)} if in_box else found


def _in_box(setting: Setting, whole: BoxSpec, names: Sequence[str]) -> dict[str, bool]:
    """What a box of the image finds, with nothing of the episode in it. A search path of the
    task's may lead into the work, which is not there."""
    spec = BoxSpec(
        label="look",
        mounts=(),
        image=whole.image,
        limits=whole.limits,
        tap=False,
        env=whole.env,
        shown=whole.shown,
    )
    with open_box(setting.backend, spec) as box:
        looked = {name: _looked(box, name) for name in names}
    told = {True} if "PATH" in whole.env else {True, False}
    return {name: there for name, there in looked.items() if there is not None and there in told}


def _looked(box: Box, name: str) -> bool | None:
    """None where the image has no shell to look with."""
    done = box.run(["/bin/sh", "-c", LOOK, "sh", name], cwd="/", timeout=LOOK_SECONDS)
    return None if done.absent or done.timed_out else done.returncode == 0
