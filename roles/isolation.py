"""Did a verifier run the work in the box that holds its verdict?

Seen at execve, so it holds for whatever an agent is made of. The rule errs on
the side of saying yes: a program of the workspace, a test runner, a build
tool, or an interpreter that is handed anything but a file of the team's own.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence

__all__ = ["claim_seen", "runs_work"]

RUNNERS = frozenset([
    "pytest", "py.test", "tox", "nox", "make", "cmake", "ninja", "npm", "npx", "yarn", "pnpm",
    "bun", "deno", "cargo", "go", "mvn", "gradle", "rake", "bundle", "ctest", "bazel", "ant",
    "meson", "just",
])  # fmt: skip
INTERPRETER = re.compile(r"(python|pypy|node|ruby|perl|php|lua|Rscript|julia)[0-9.]*\Z")
SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash"))
TRUSTED = ("/rolewall/", "/usr/")


def runs_work(argv: Sequence[str], cwd: str = "/workspace") -> bool:
    """Whether this execution may have run code of the workspace."""
    if not argv:
        return True
    program = posixpath.basename(argv[0])
    if program == "rolewall-check":
        return False
    if _within(argv[0], cwd) or program in RUNNERS:
        return True
    if INTERPRETER.match(program):
        return not _own_script(argv[1:])
    if program in SHELLS:
        return _shell_script(argv[1:], cwd)
    return False


def _within(path: str, cwd: str) -> bool:
    if "/" not in path:
        return False
    return posixpath.normpath(posixpath.join(cwd, path)).startswith("/workspace/")


def _own_script(arguments: Sequence[str]) -> bool:
    """An interpreter that runs a file of the team's or of the system."""
    for argument in arguments:
        if argument in ("-m", "-c", "-e", "-"):
            return False
        if not argument.startswith("-"):
            return posixpath.normpath(argument).startswith(TRUSTED)
    return False


def _shell_script(arguments: Sequence[str], cwd: str) -> bool:
    """A shell that reads a script file of the workspace; what ``-c`` starts is seen itself."""
    for argument in arguments:
        if argument.startswith("-") and "c" in argument[1:]:
            return False
        if not argument.startswith(("-", "+")):
            return not posixpath.normpath(posixpath.join(cwd, argument)).startswith(TRUSTED)
    return False


def claim_seen(claim: str, executions: Iterable[Sequence[str]]) -> bool:
    """Whether a command that a verifier claims was executed: as words, or by a shell's ``-c``."""
    wanted = claim.split()
    if not wanted:
        return False
    for argv in executions:
        words = [posixpath.basename(argv[0]), *argv[1:]] if argv else []
        if words == [posixpath.basename(wanted[0]), *wanted[1:]] or claim in argv:
            return True
    return False
