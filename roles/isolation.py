"""Did a verifier run the work in the box that holds its verdict?

Judged by what was seen at execve, so it holds for whatever an agent is made of.
The rule errs on the side of saying yes: an execution is innocent only if its
program is the system's or the team's and is known to read and no more, or is an
interpreter or shell on a script of the system's or the team's. What such a
script does within its own process is the team's word.
"""

from __future__ import annotations

import posixpath
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile

from rolewall.roles.shellwords import commands_of
from rolewall.roles.variables import SETTING, assigned, harmless, sets_harmlessly

__all__ = ["Execution", "claim_seen", "is_interpreter", "runs_work"]

SYSTEM = ("/usr/", "/bin/", "/sbin/")
TEAM = "/rolewall/agents/"
CHECK = "/rolewall/init"
HANDOFF = "/rolewall/bin/handoff"  # the harness's own, which shows files with cat
INTERPRETER = re.compile(r"(python|pypy|node|ruby|perl|php|lua|Rscript|julia)[0-9.]*\Z")
SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash"))
# Built-in commands by which a shell runs a file, or words, that no execve shows.
HIDING = frozenset((
    ".", "source", "eval", "trap", "alias", "command", "builtin", "exec", "enable", "mapfile",
    "readarray", "fc", "hash", "compgen", "complete", "compopt", "bind", "jobs", "coproc",
    "function", "autoload", "zmodload", "emulate", "noglob", "nocorrect", "repeat", "foreach",
    "integer", "float", "nameref", "sched", "zle",
))  # fmt: skip
KEYWORDS = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "time", "{"))
LITERAL = re.compile(r"[A-Za-z0-9_@%+:,./-]+\Z|\[\[?\Z|\}\Z")
# Options of a shell that change nothing of what its words are or whom it hands them to.
SHELL_FLAGS = re.compile(r"-[cefhilmnuvxB]+\Z|--(?:login|noprofile|norc|posix)\Z")
# The harness's own program, which hands no variable on.
CHECKS = frozenset(("rolewall-check", "/rolewall/bin/rolewall-check"))
PLAIN_FLAGS = frozenset(("-I", "-B", "-u", "-S", "-s", "-E", "-q", "-O", "-OO", "-P"))
# How awk and sed are told to take their program from a file, combined flags too.
PROGRAM_FILE = dict.fromkeys(("awk", "gawk", "mawk"), re.compile(r"-[fEil]|--(?:f|e|i|l|so)")) | {
    "sed": re.compile(r"-[nrsuzE]*f|--f")
}
TAKES_IN = re.compile(r"(?<!\w)@(?:load|include)\b")
ENV_FLAGS = frozenset(("-", "-i", "-0", "-v", "--", "--ignore-environment", "--null", "--debug"))
READERS = frozenset([
    "[", "awk", "base64", "basename", "cat", "chgrp", "chmod", "chown", "cksum", "cmp", "column",
    "comm", "cp", "cut", "date", "dd", "df", "diff", "dirname", "du", "echo", "egrep", "env",
    "expand", "expr", "false", "fgrep", "file", "find", "fold", "gawk", "getconf", "getopt",
    "git", "grep", "gunzip", "gzip", "head", "hexdump", "hostname", "id", "install", "join",
    "jq", "less", "ln", "locale", "ls", "lsb_release", "mawk", "md5sum", "mkdir", "mkfifo",
    "mktemp", "more", "mv", "nl", "nproc", "od", "paste", "patch", "printenv", "printf", "pwd",
    "readlink", "realpath", "rg", "rm", "rmdir",
    "sed", "seq", "sha1sum", "sha256sum", "sha512sum", "shuf", "sleep", "sort",
    "split", "stat", "strings", "tac", "tail", "tar", "tee", "test", "timeout", "touch", "tr",
    "tree", "true", "truncate", "uname", "uniq", "unzip", "wc", "which", "whoami", "xargs", "xxd",
    "yes", "zcat",
])  # fmt: skip


@dataclass(frozen=True, slots=True)
class Execution:
    """A program that was started: its file, and its arguments with its own name first.

    ``whole`` is false when the arguments were too long to be recorded as they were.
    """

    exe: str
    argv: tuple[str, ...]
    whole: bool = True


def runs_work(execution: Execution) -> bool:
    """Whether this execution may have run code of the workspace.

    The program is known by its file: what it calls itself is its caller's word.
    """
    if execution.exe in (CHECK, HANDOFF):
        return False
    name = posixpath.basename(execution.exe)
    if not execution.exe.startswith((*SYSTEM, f"{sys.base_prefix}/")):
        return not execution.exe.startswith(TEAM)
    told = _told_what_to_run(name)
    if told is None:
        return name not in READERS
    return not execution.whole or told(execution.argv[1:])


def is_interpreter(exe: str) -> bool:
    """Whether a program is made to run what it is told."""
    return _told_what_to_run(posixpath.basename(exe)) is not None


def _told_what_to_run(name: str) -> Callable[[Sequence[str]], bool] | None:
    """For a program that runs what its arguments say: whether that may be the work."""
    if name in SHELLS:
        return lambda arguments: not _innocent_shell(arguments)
    if INTERPRETER.match(name):
        return lambda arguments: not _own_script(arguments)
    if name in PROGRAM_FILE:
        return lambda arguments: any(
            PROGRAM_FILE[name].match(one) or TAKES_IN.search(one) for one in arguments
        )
    if name == "env":
        return _env_loads
    return None


def _own_script(arguments: Sequence[str]) -> bool:
    """Whether an interpreter was given a script file of the team's, and nothing before it
    that could load anything else."""
    for argument in arguments:
        if argument.startswith("-"):
            if argument not in PLAIN_FLAGS:
                return False
            continue
        return posixpath.normpath(argument).startswith(TEAM)
    return False


def _env_loads(arguments: Sequence[str]) -> bool:
    """What stands before the command; the command itself is seen when it is started."""
    words = iter(arguments)
    for word in words:
        if word in ("-u", "-C", "--unset", "--chdir"):
            next(words, None)
        elif word.startswith("-"):
            if word not in ENV_FLAGS and not word.startswith(("--unset=", "--chdir=")):
                return True
        elif "=" not in word:
            return False
        elif not harmless(*word.split("=", 1)):
            return True
    return False


def _innocent_shell(arguments: Sequence[str]) -> bool:
    """A shell on a script of the team's, or on words that only start programs."""
    told = False
    for argument in arguments:
        if argument.startswith(("-", "+")):
            if not SHELL_FLAGS.match(argument):
                return False
            told = told or ("c" in argument[1:] and not argument.startswith("--"))
            continue
        if told:  # whatever options stand between
            return _only_starts_programs(argument)
        return posixpath.normpath(argument).startswith(TEAM)
    return False


def _only_starts_programs(text: str) -> bool:
    """Whether every command of a shell's words is a program by its plain name.

    What cannot be read so, such as a name that is quoted or made from a
    variable, is taken for the worst.
    """
    try:
        commands = commands_of(text)
    except (ValueError, RecursionError):
        return False
    substitutes = "$(" in text or "`" in text
    return all(_is_innocent(_without_keywords(command), substitutes) for command in commands)


def _without_keywords(command: Sequence[str]) -> list[str]:
    return list(dropwhile(KEYWORDS.__contains__, command))


def _is_innocent(command: Sequence[str], substitutes: bool) -> bool:
    """Whether one command starts a program by its plain name, if any, and hands it no variable
    by which a program could load a file."""
    set_before = list(takewhile(lambda pair: pair is not None, map(assigned, command)))
    words = command[len(set_before) :]
    if not (words and words[0] in CHECKS) and not all(
        harmless(*pair) for pair in set_before if pair
    ):
        return False
    if not words:
        return True
    name = posixpath.basename(words[0])
    loads = name in SHELLS or name in PROGRAM_FILE or bool(INTERPRETER.match(name))
    if not LITERAL.match(words[0]) or words[0].startswith("-") or name in HIDING:
        return False
    if "{" in words[1:]:  # a block, for one shell or another
        return False
    if name in SETTING and not sets_harmlessly(name, list(words[1:])):
        return False
    return not (substitutes and loads)


def claim_seen(claim: str, executions: Iterable[Sequence[str]]) -> bool:
    """Whether a command that a verifier claims was executed: word for word, however it
    quotes them, or as the words of a shell's ``-c``."""
    wanted = [words for words in (claim.split(), _shell_words(claim)) if words]
    return any(_is_claimed(claim, wanted, argv) for argv in executions)


def _shell_words(claim: str) -> list[str]:
    try:
        return shlex.split(claim)
    except ValueError:
        return []


def _is_claimed(claim: str, wanted: Sequence[list[str]], argv: Sequence[str]) -> bool:
    if not argv or not wanted:
        return False
    name = posixpath.basename(argv[0])
    if name in SHELLS and len(argv) > 2 and argv[1] == "-c" and argv[2].strip() == claim.strip():
        return True
    ran = [name, *argv[1:]]
    plain = " ".join(ran).split()
    return any([posixpath.basename(w[0]), *w[1:]] in (ran, plain) for w in wanted)
