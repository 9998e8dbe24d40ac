"""The commands in a shell's words, as the shell itself would find them.

Words in quotes, what is put in by ``$( )`` or backquotes, and documents (``<<``) are read as
POSIX has them, which bash, dash and zsh share. Whatever is read another way by one of them,
or is not understood, is refused: who asks takes that for the worst.
"""

from __future__ import annotations

import re

__all__ = ["commands_of"]

MOST_DEPTH = 20
_SEPARATORS = frozenset(";&|()\n")
_DOCUMENT = re.compile(r"<<(-?)[ \t]*(?:(['\"])(\w+)\2|(\w+))(?=[\s;&|<>)]|\Z)")
# A parameter with what may be done to it that evaluates nothing: no arithmetic, no further
# expansion, no assignment.
_PARAMETER = re.compile(
    r"\$\{#?(?:[A-Za-z_]\w*|[0-9@*#?$!-])(?:\[[@*0-9]\])?"
    r"(?:(?::?[-?+]|##?|%%?|//?|\^\^?|,,?)[^}\"'`$\\{(]*|:[0-9]+(?::[0-9]+)?)?\}"
)
_ARITHMETIC = re.compile(r"\$\(\(([\w\s+*/%<>!&|^~?:,()-]*?)\)\)")
# Both outputs to a file, in bash; in dash a command in the background and an empty file.
_BOTH = re.compile(r"&>>?[ \t]*[\w./-]+[ \t]*(?=[;\n|)]|\Z)")
# A shell computes with the text of a variable, and runs a command that stands there in the
# place of an index.
_VARIABLE = re.compile(r"(?<![0-9])[A-Za-z_]")
_COMPARING = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v"))
_TAKING = frozenset(("for", "getopts", "read", "select"))


def commands_of(text: str) -> list[list[str]]:
    """The words of every command in ``text``, also of those within words, as they stand there
    with their quotes; what separates commands is left out.

    Raises:
        ValueError: it is not understood, or not by every shell alike.
    """
    if "\0" in text:
        raise ValueError("a NUL")
    return _Reading(text).all()


class _Reading:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._found: list[list[str]] = []
        self._computes = self._takes_in = False
        self._documents: list[tuple[str, bool, bool]] = []  # end, tabs before it, expanded

    def all(self) -> list[list[str]]:
        self._commands("", 0)
        if self._computes or any(map(_computes, self._found)):
            indices = "[" in re.sub(r"(?<![^\s;&|(!])\[\[?(?=\s)", "", self._text)
            if indices or self._takes_in or any(map(_TAKING.intersection, self._found)):
                raise ValueError("it computes with what it takes in")
        return self._found

    def _commands(self, end: str, depth: int) -> None:
        """All up to ``end``, which is read too; up to the end of the text where it is empty."""
        if depth > MOST_DEPTH:
            raise ValueError("too deep")
        command: list[str] = []
        nested = 0
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == end and not nested:
                self._at += 1
                break
            if self._skips(char):
                continue
            if char in _SEPARATORS:
                nested += {"(": 1, ")": -1}.get(char, 0)
                self._end(command, bool(end))
                command = []
                self._separator(char)
            else:
                command.append(self._word(depth))
        else:
            if end:
                raise ValueError("no end")
            self._read_documents()
        self._end(command, bool(end))

    def _skips(self, char: str) -> bool:
        """Pass over what stands between words, if there is such."""
        if char == "#":
            line = self._text.find("\n", self._at)
            self._at = len(self._text) if line < 0 else line
        elif char == "&" and (both := _BOTH.match(self._text, self._at)):
            self._at = both.end()
        elif self._text.startswith("\\\n", self._at):
            self._at += 2
        elif char in " \t":
            self._at += 1
        else:
            return False
        return True

    def _separator(self, char: str) -> None:
        self._computes |= self._text.startswith("((", self._at)
        self._at += 1
        if char == "\n":
            self._read_documents()

    def _end(self, command: list[str], within: bool) -> None:
        # There a pattern's bracket would be taken for the end.
        if within and "case" in command:
            raise ValueError("a choice within a word")
        self._found.append(command)

    def _word(self, depth: int) -> str:
        start = self._at
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t":
                break
            if char in "<>":
                self._redirection(depth)
            elif char in _SEPARATORS:
                # Of >&2, &> and >| it is a part.
                before = self._text[self._at - 1] if self._at > start else ""
                if not (char in "&|" and before in ("<", ">")):
                    break
                self._at += 1
            else:
                self._piece(char, depth)
        return self._text[start : self._at]

    def _redirection(self, depth: int) -> None:
        text, at = self._text, self._at
        if text.startswith(("<(", ">("), at):
            self._substitution(depth)
        elif text.startswith("<<", at) and not text.startswith("<<<", at):
            match = _DOCUMENT.match(text, at)
            if not match:
                raise ValueError("a document without a plain end")
            self._documents.append((match[3] or match[4], bool(match[1]), not match[2]))
            self._at = match.end()
        else:
            self._at += 3 if text.startswith("<<<", at) else 1

    def _piece(self, char: str, depth: int) -> None:
        """One character of a word, or all that it begins."""
        if char == "\\":
            self._at += 2
        elif char == "'":
            self._at = self._text.index("'", self._at + 1) + 1
        elif char == '"':
            self._quoted(depth)
        elif char in "$`":
            self._expansion(char, depth)
        else:
            self._at += 1

    def _quoted(self, depth: int) -> None:
        self._at += 1
        while (char := self._text[self._at : self._at + 1]) != '"':
            if not char:
                raise ValueError("no end of a quote")
            if char == "\\":
                self._at += 2
            elif char in "$`":
                self._expansion(char, depth, quoted=True)
            else:
                self._at += 1
        self._at += 1

    def _expansion(self, char: str, depth: int, *, quoted: bool = False) -> None:
        text, at = self._text, self._at
        if char == "`":
            self._backquoted(depth)
        elif text.startswith("$((", at):
            match = _ARITHMETIC.match(text, at)
            if not match or match[1].count("(") != match[1].count(")"):
                raise ValueError("arithmetic")
            self._computes |= bool(_VARIABLE.search(match[1]))
            self._at = match.end()
        elif text.startswith("$(", at):
            self._substitution(depth)
        elif text.startswith("${", at):
            match = _PARAMETER.match(text, at)
            if not match:
                raise ValueError("a parameter")
            self._at = match.end()
        elif not quoted and text.startswith("$'", at):
            match = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL).match(text, at)
            if not match:
                raise ValueError("no end of a quote")
            self._at = match.end()
        else:
            self._at += 1
        if text.startswith(("$[", '$"'), at) and not quoted:
            raise ValueError("not alike in every shell")

    def _substitution(self, depth: int) -> None:
        self._takes_in = True
        self._at += 2
        documents = len(self._documents)
        self._commands(")", depth + 1)
        if len(self._documents) > documents:
            raise ValueError("a document that begins after its command")

    def _backquoted(self, depth: int) -> None:
        self._takes_in = True
        close = self._text.find("`", self._at + 1)
        inside = self._text[self._at + 1 : close]
        if close < 0 or "\\" in inside:
            raise ValueError("backquotes")
        within = _Reading(inside)
        within._commands("", depth + 1)
        self._found += within._found
        self._computes |= within._computes
        self._at = close + 1

    def _read_documents(self) -> None:
        for end, tabs, expanded in self._documents:
            while True:
                line, newline, _ = self._text[self._at :].partition("\n")
                self._at += len(line) + len(newline)
                if (line.lstrip("\t") if tabs else line) == end:
                    break
                if not newline:
                    raise ValueError("no end of a document")
                if expanded and re.search(r"[`$\\]", line):
                    raise ValueError("a document that is not as it stands")
        self._documents.clear()


def _computes(command: list[str]) -> bool:
    """Whether a command of the shell's own takes words of its for arithmetic, or for names
    with an index."""
    if {"[[", "]]"}.intersection(command):
        return bool(_COMPARING.intersection(command))
    if {"[", "test"}.intersection(command):
        return "-v" in command
    return bool({"let", "unset"}.intersection(command))
