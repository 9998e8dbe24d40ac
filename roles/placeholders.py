"""The words in braces that a team's commands may use."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["PLACEHOLDERS", "checked_word", "expand", "unknown_placeholders"]

PLACEHOLDERS: Mapping[str, str] = {
    "agents": "the directory that holds copies of the files beside the team file",
    "prompt": "the file that holds the role's prompt",
    "role": "the role's name",
    "task": "the task's id",
}
_BRACES = re.compile(r"\{\{(?P<literal>[A-Za-z_]\w*)\}\}|\{(?P<name>[A-Za-z_]\w*)\}", re.ASCII)


def unknown_placeholders(text: str) -> list[str]:
    """Names in braces that mean nothing here. Braces around anything but one name are text."""
    found = [match["name"] for match in _BRACES.finditer(text)]
    return [name for name in found if name is not None and name not in PLACEHOLDERS]


def expand(text: str, values: Mapping[str, str]) -> str:
    """``text`` with each ``{name}`` replaced, once; ``{{name}}`` stands for ``{name}``."""

    def replace(match: re.Match[str]) -> str:
        if match["literal"] is not None:
            return f"{{{match['literal']}}}"
        return values.get(match["name"], match[0])

    return _BRACES.sub(replace, text)


def checked_word(text: str) -> str:
    """``text``, a word of a team file's that may hold placeholders; ValueError if it cannot."""
    if "\0" in text:
        raise ValueError("a NUL character")
    unknown = unknown_placeholders(text)
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        raise ValueError(
            f"unknown placeholder {{{unknown[0]}}}, not one of {known}; "
            f"for the text itself write {{{{{unknown[0]}}}}}"
        )
    return text
