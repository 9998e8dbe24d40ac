"""Variables that a command may be given without any program loading a file for it.

The other way round there is no end: each library has variables of its own by which it is told
what to load (``LD_AUDIT``, ``PERL5LIB``, ``OPENSSL_CONF``, ``GETCONF_DIR``…). So these few are
known to be harmless, and with a plain value alone: one without a slash names no file elsewhere,
and a name of the language or the terminal is looked for where the system has them.
"""

from __future__ import annotations

import re

__all__ = ["SETTING", "assigned", "harmless", "sets_harmlessly"]

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=(.*)\Z", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z0-9_.@:,%+-]*\Z")
_HARMLESS = frozenset((
    "CI", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "FORCE_COLOR", "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT", "LANG", "LANGUAGE", "LINES", "NO_COLOR", "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED", "PYTHONUNBUFFERED", "SOURCE_DATE_EPOCH", "TERM", "TZ",
))  # fmt: skip
_LOCALE = re.compile(r"LC_[A-Z]+\Z")
# Programs that show what they are given.
_PAGERS = frozenset(("GIT_PAGER", "MANPAGER", "PAGER", "SYSTEMD_PAGER"))
# No program is known to load anything for a variable in lower case; zsh has some that are its
# own functions and places of them.
_OWN = re.compile(r"[a-z_][a-z0-9_]*\Z")
_ZSH = frozenset((
    "aliases", "builtins", "commands", "dis_aliases", "dis_functions", "fpath", "functions",
    "galiases", "module_path", "modules", "path", "saliases",
))  # fmt: skip
# What a shell splits words at; no program takes it from its environment.
_SHELLS = frozenset(("IFS", "OPTIND", "REPLY"))


def assigned(word: str) -> tuple[str, str] | None:
    """Name and value of a word of a shell that assigns a variable, or adds to one."""
    match = _ASSIGNMENT.match(word)
    return (match[1], match[2]) if match else None


def harmless(name: str, value: str) -> bool:
    """Whether no program loads anything for a variable ``name`` with this value, as it is or
    in quotes."""
    if _OWN.match(name):
        return name not in _ZSH
    if name in _SHELLS:
        return True
    for quote in "'\"":
        if len(value) > 1 and value[0] == value[-1] == quote:
            value = value[1:-1]
            break
    if name in _PAGERS:
        return value in ("", "cat")
    return bool((name in _HARMLESS or _LOCALE.match(name)) and _PLAIN.match(value))


def sets_harmlessly(command: str, words: list[str]) -> bool:
    """Whether a shell's own command that sets or exports variables leaves all others alone.

    Args:
        command: one of ``SETTING``.
        words: the words after it, as they stand there.
    """
    if command in ("for", "select"):
        return bool(words) and _may_be_set(words[0]) and words[1:2] in ([], ["in"])
    if command == "set":
        return all(_SET.match(word) or word in _SET_OPTIONS for word in words)
    if command == "printf":
        return not words or not words[0].lstrip("'\"").startswith(("-v", "$"))
    if command == "read":
        words = _names_read(words)
    return all(_may_be_set(word) for word in words)


SETTING = frozenset((
    "declare", "export", "for", "getopts", "let", "local", "printf", "read", "readonly",
    "select", "set", "typeset",
))  # fmt: skip
# Not ``-a`` and ``-k``, by which a shell hands on all it is told.
_SET = re.compile(r"[-+][efuvxnCbm]*o?\Z")
_SET_OPTIONS = frozenset(("errexit", "nounset", "noglob", "noclobber", "pipefail", "xtrace", "--"))
# Not ``-i`` and ``-n``: what is then assigned is computed, or is the name of another.
_FLAGS = re.compile(r"-[rxpgaA]+\Z")
_REDIRECTED = re.compile(r"[0-9]*[<>]")
_TAKES_VALUE = re.compile(r"-[ers]*[dinNptu]\Z")


def _may_be_set(word: str) -> bool:
    if _FLAGS.match(word) or word == "--":
        return True
    name, value = assigned(word) or (word, "")
    return harmless(name, value)


def _names_read(words: list[str]) -> list[str]:
    """The words of ``read`` that name variables, with what cannot be told apart from them."""
    names: list[str] = []
    value = False
    for word in words:
        if _REDIRECTED.match(word):
            break
        if not value and not word.startswith("-"):
            names.append(word)
        value = bool(_TAKES_VALUE.match(word))
    return names
