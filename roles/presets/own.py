"""What a preset's program runs of its own accord, apart from what its model asked for.

A verifier that runs the work in the box of its verdict is recorded as such; see
``rolewall.roles.isolation``. What the program itself is, and the shells in which it wraps a
model's commands, is the caller's and not the work.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import takewhile

from rolewall.roles.agents import PresetName
from rolewall.roles.isolation import Execution, is_interpreter
from rolewall.roles.presets.claude_code import unwrapped

__all__ = ["asked_for"]

# By which of its programs a preset's program starts itself anew, as far as it has been seen to:
# it is then that program, and reads what it is told. By its own name it is an interpreter, of
# scripts or of what a further agent finds where it stands, and only its first start is not
# what a model may have asked for.
_ITS_OWN: Mapping[PresetName, frozenset[str]] = {
    "claude-code": frozenset(("bfs", "rg", "ugrep")),
    "codex": frozenset(("/proc/self/exe", "apply_patch", "applypatch")),
}
_WRAPPED: Mapping[PresetName, Callable[[Sequence[Execution]], Sequence[Execution]]] = {
    "claude-code": unwrapped,
}


def asked_for(
    preset: PresetName, program: str, executions: Sequence[Execution], zones: Collection[str]
) -> Sequence[Execution]:
    """The executions that the model asked for, as far as they can be told.

    Args:
        program: what was started, by its name or path.
        executions: all of the box, oldest first.
        zones: names of all zones; a program from one is never taken for the caller's.
    """
    name = posixpath.basename(program)
    for index, one in enumerate(executions):
        if one.argv and posixpath.basename(one.argv[0]) == name:
            chain = list(takewhile(partial(_hands_on, one), executions[index:]))
            own = {link.exe for link in chain if _is_callers(link.exe, zones)}
            helpers = _ITS_OWN.get(preset, frozenset())
            rest = [
                other
                for other in executions[index + len(chain) :]
                if other.exe not in own or not helpers.intersection(other.argv[:1])
            ]
            return _WRAPPED.get(preset, list)(rest)
    return executions


def _hands_on(start: Execution, one: Execution) -> bool:
    """Whether ``one`` is ``start``, or what stands behind it: a program around another starts
    that with the same words."""
    words = start.argv[1:]
    return one is start or (bool(words) and one.argv[-len(words) :] == words)


def _is_callers(exe: str, zones: Collection[str]) -> bool:
    """Whether this file is the caller's: neither the work's nor an interpreter of whatever it
    is told."""
    return exe.startswith("/") and exe.split("/")[1] not in zones and not is_interpreter(exe)
