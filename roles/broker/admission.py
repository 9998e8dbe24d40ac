"""Whether a tool is run for a call: known, this role's, not held, with arguments that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rolewall.errors import InputError
from rolewall.roles.broker.answer import Refused
from rolewall.roles.broker.canonical import canonical
from rolewall.roles.broker.fetching import destination
from rolewall.roles.broker.tool import Http, Tool

__all__ = ["MAX_NAME", "Admission", "Holds"]

MAX_NAME = 100  # characters that are shown of what a role calls a tool


@dataclass(frozen=True)
class Holds:
    """Tool → ids of the conditions that hold it. Not ``binding``: where there is no wall, a call
    is written down as forbidden, and let through."""

    by_tool: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    binding: bool = True


@dataclass(frozen=True)
class Admission:
    """What one phase may call.

    Attributes:
        tools: those of the role.
        others: names of the team's tools that the role may not use.
    """

    tools: Mapping[str, Tool]
    others: frozenset[str]
    holds: Holds

    def held(self, name: str) -> tuple[str, ...]:
        """The conditions that hold a tool."""
        return self.holds.by_tool.get(name, ())

    def admit(self, name: str, arguments: bytes) -> tuple[Tool, dict[str, Any]]:
        """The tool that is called, and its canonical arguments. Raises Refused."""
        tool = self.tools.get(name)
        if tool is None:
            known = ", ".join(self.tools) or "none"
            word, what = ("role", "not for this role") if name in self.others else (
                "tool", "no such tool")  # fmt: skip
            raise Refused(word, f"{what}: {name:.{MAX_NAME}}; there are: {known}")
        if self.held(name) and self.holds.binding:
            named = ", ".join(self.held(name))
            words = f"not to be used while it is held by condition {named}"
            raise Refused("held", words, self.held(name))
        try:
            given = canonical(arguments)
            if isinstance(tool.means, Http):
                _hold_url(given, tool.means)
        except (InputError, ValueError) as error:
            raise Refused("arguments", str(error)) from None
        return tool, given


def _hold_url(given: dict[str, Any], means: Http) -> None:
    url = given.get("url")
    if set(given) != {"url"} or not isinstance(url, str):
        raise ValueError("it takes one argument, the text url")
    if (place := destination(url)) not in set(map(str, means.allow)):
        known = ", ".join(map(str, means.allow))
        raise ValueError(f"{place} is not among the allowed destinations: {known}")
