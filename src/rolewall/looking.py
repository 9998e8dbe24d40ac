"""What a program that was started can have read of an episode's zones, by its arguments.

For phases whose reads were not observed. A program in a role's box starts in
``/workspace``; what it opens is its own affair. So only few programs are known to read
what they are told and no more, and of any other it is not known what else it read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rolewall.roles import HANDED, HANDOFF, Execution

__all__ = ["Looked", "looked_by"]

CHECK = "/rolewall/init"
SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash"))
# A shell reads by itself where its words redirect input or make it take in a file.
TAKES_IN = re.compile(r"<|(?:^|[\s;&|({])(?:\.|source|eval)\s")
BLIND = frozenset((
    "basename", "chmod", "chown", "date", "dirname", "echo", "false", "hostname", "id", "kill",
    "mkdir", "mkfifo", "mktemp", "nproc", "printf", "pwd", "rm", "rmdir", "seq", "sleep", "touch",
    "true", "uname", "whoami", "yes",
))  # fmt: skip
# Without a file's name these read their standard input.
READERS = frozenset((
    "base64", "cat", "cksum", "cmp", "comm", "cut", "diff", "egrep", "expand", "fgrep", "fold",
    "grep", "head", "hexdump", "jq", "less", "md5sum", "more", "nl", "od", "paste", "sha1sum",
    "sha256sum", "sha512sum", "sort", "strings", "tac", "tail", "tee", "tr", "uniq", "wc", "xxd",
    "zcat",
))  # fmt: skip
# The first word of these is what to look for, or to do, and no file.
TOLD_FIRST = frozenset(("egrep", "fgrep", "grep", "jq", "tr"))
# Flags that name no file and do not make a reader go through directories.
PLAIN_FLAGS = re.compile("-[A-QS-Za-eg-qs-z0-9]*|--")
# Without a file's name these read where they stand.
STANDING = frozenset(("du", "file", "find", "ls", "stat", "tree"))
# A repository is in the workspace and nowhere else.
GIT_READS = frozenset((
    "blame", "cat-file", "diff", "diff-files", "diff-index", "diff-tree", "format-patch", "grep",
    "log", "ls-files", "ls-tree", "show", "status", "whatchanged",
))  # fmt: skip
GIT_WORDS = 6  # its command comes after its own flags and their values
WORKSPACE = "workspace"
ZONE = re.compile(rf"(?<![\w./-])(?:{re.escape(HANDED)})?/([a-z][a-z0-9_-]*)(?=[/\s\"';&|)]|$)")
SYSTEM = ("/usr/", "/bin/", "/sbin/")


@dataclass(frozen=True, slots=True)
class Looked:
    """``zones`` that were looked at; ``whole`` says that it was at no other."""

    zones: frozenset[str] = frozenset()
    whole: bool = True


def looked_by(execution: Execution) -> Looked:
    """What one execution, apart from the programs it starts, looked at."""
    name = posixpath.basename(execution.exe)
    arguments = execution.argv[1:]
    if execution.exe in (CHECK, HANDOFF):
        return Looked()  # the command handoff starts cat for all that it shows
    if not execution.exe.startswith(SYSTEM):
        return Looked(_named((execution.exe, *arguments)), whole=False)
    if name in BLIND:
        return Looked(whole=execution.whole)
    if name in READERS or name in STANDING:
        return _reader(name, arguments, execution.whole)
    return _shell(arguments) if name in SHELLS else _other(name, arguments)


def _named(words: Sequence[str]) -> frozenset[str]:
    """The zones that words name by absolute paths."""
    return frozenset(found for word in words for found in ZONE.findall(word))


def _shell(arguments: Sequence[str]) -> Looked:
    """What its words start is an execution of its own."""
    for index, argument in enumerate(arguments):
        if not argument.startswith("-"):
            return Looked(whole=False)  # a script, which may take in what it likes
        if "c" in argument[1:] and not argument.startswith("--"):
            words = "".join(arguments[index + 1 : index + 2])
            return Looked(_taken_in(words), whole=not TAKES_IN.search(words))
    return Looked(whole=False)


def _taken_in(words: str) -> frozenset[str]:
    """The zones of files that a shell's words redirect as input."""
    return _named(re.findall(r"<\s*([^\s;&|<>()]+)", words))


def _other(name: str, arguments: Sequence[str]) -> Looked:
    zones = _named(arguments)
    if name == "git" and not GIT_READS.isdisjoint(arguments[:GIT_WORDS]):
        zones |= {WORKSPACE}
    return Looked(zones, whole=False)


def _reader(name: str, arguments: Sequence[str], whole: bool) -> Looked:
    words = [word for word in arguments if not word.startswith("-")]
    paths = words[1:] if name in TOLD_FIRST else words
    relative = [word for word in paths if not word.startswith("/")]
    stands = name in STANDING and not paths
    plain = all(PLAIN_FLAGS.fullmatch(word) for word in arguments if word.startswith("-"))
    return Looked(_named(arguments), whole=whole and plain and not relative and not stands)
