"""What runs a program: itself, or for a script what its first line names."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import PurePosixPath

__all__ = ["HEAD", "Program"]

HEAD = 256  # bytes of a file that the kernel reads for it
_SPACE = re.compile("[ \t]+")
_SPLIT = re.compile("(?:-S|--split-string[= \t])[ \t]*")


@dataclass(frozen=True)
class Program:
    """A program that a box has.

    Attributes:
        path: where in the box.
        head: its first bytes, as far as they are known; ``HEAD`` are enough.
    """

    path: str
    head: bytes = b""

    @property
    def needs(self) -> tuple[str, ...]:
        """What must be there besides to run it: a script's interpreter and, where that is
        ``env``, the program that this looks for. A path that is not absolute is left out."""
        if not self.head.startswith(b"#!"):
            return ()
        line = re.split(b"[\n\0]", self.head[2:HEAD], maxsplit=1)[0].decode("utf-8", "replace")
        interpreter, *rest = _SPACE.split(line.strip(" \t"), maxsplit=1)
        if not interpreter.startswith("/"):
            return ()
        by_env = PurePosixPath(interpreter).name == "env" and rest
        return (interpreter, *(_of_env(rest[0]) if by_env else ()))


def _of_env(rest: str) -> tuple[str, ...]:
    """The program that ``env`` runs, which the kernel gives all that follows as one word."""
    words = [rest]
    if found := _SPLIT.match(rest):
        try:
            words = shlex.split(rest[found.end() :])
        except ValueError:
            return ()
    for name in dropwhile(lambda word: "=" in word, words):
        # Another option, or a variable: only env can tell.
        return () if name.startswith("-") or "$" in name else (name,)
    return ()
