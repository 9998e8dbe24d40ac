"""What the policy gave the executor, and what its own calls showed of that."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from rolewall.critical import folded
from rolewall.measures.files import EpisodeFiles

__all__ = ["Given", "Need"]

Met = Literal["met", "unmet", "unknown"]
NETWORK = ("network", "internet")
NOT_FOUND = 127
SIMPLE = re.compile(r"[^;&|`$(){}\n\\]*")  # a command of a shell's with one program in it


@dataclass(frozen=True, slots=True)
class Need:
    """A capability that a step needs, and whether the executor had it. ``tried``: of one that it
    had not, whether anything that it did says so; else the plan alone says that it was needed."""

    need: str
    met: Met
    why: str
    tried: bool = False


class Given:
    """What the executor of an episode had.

    Attributes:
        in_vain: names of programs that it called by a shell, and that nothing was started for.
    """

    def __init__(self, files: EpisodeFiles) -> None:
        contract = files.record.contracts.get("executor")
        self._may = contract.may if contract else ()
        self._reads = {item.partition(":")[0] for item in contract.consumes} if contract else set()
        self._known = contract is not None
        self._zones = {
            item.partition(":")[0]
            for one in files.record.contracts.values()
            for item in (*one.consumes, *one.produces)
        }
        self._tooled = any(phase.tools is not None for phase in files.phases("executor"))
        self._refused = {
            str(line.get("tool"))
            for phase in files.phases("executor")
            for line in files.tool_calls(phase)
            if line.get("refused") in ("tool", "role")
        }
        evidence = [one for handed in files.of("executor") for one in handed.evidence]
        self._used = {one.tool for one in evidence if one.source == "broker" and one.ok}
        self._files = files
        self._phases = files.phases("executor")
        self._calls = files.calls_of("executor")
        deeds, mine = files.deeds, [phase.index for phase in self._phases]
        self._tried = {zone for index in mine for zone in deeds.tried.get(index, ())}
        self._asked = {name for index in mine for name in deeds.asked.get(index, ())}
        self._reached = folded("\n".join(x for index in mine for x in deeds.reached.get(index, ())))
        started = [deeds.programs.get(index) for index in mine]
        self._started = {name for names in started for name in names or ()}
        self._whole = None not in started
        in_vain = {name for index in mine for name in deeds.called.get(index, ())}
        self.in_vain = frozenset(in_vain - self._started if self._whole else ())
        self._looked: dict[str, bool] = {}
        for phase in self._phases:
            for name, there in phase.programs.items():
                self._looked[name] = there or self._looked.get(name, False)

    def look_up(self, need: str) -> Need:
        word, _, name = need.strip().partition(" ")
        word = word.casefold()
        if word in NETWORK or word == "reach":
            return self._reach(need, name.strip())
        if word in ("write", "read"):
            return self._zone(need, word, name.strip().strip("/").partition("/")[0])
        if word == "use":
            return self._tool(need, name.strip())
        if set(NETWORK) & set(need.casefold().split()):
            return self._reach(need, "")
        return self._program(need)

    def _reach(self, need: str, to: str) -> Need:
        reached = [may.removeprefix("reach ") for may in self._may if may.startswith("reach ")]
        if not self._known:
            return Need(need, "unknown", "the record has no contracts")
        if (to in reached) if to else bool(reached):
            return Need(need, "met", "the policy gives it")
        had = ", ".join(reached) or "no network"
        host = to.partition(":")[0]
        words = re.split(r"[^\w.-]+", self._reached)
        tried = folded(host) in words if host else "://" in self._reached
        return Need(need, "unmet", f"the executor may reach {had}", tried)

    def _zone(self, need: str, word: str, zone: str) -> Need:
        if not self._known:
            return Need(need, "unknown", "the record has no contracts")
        if zone not in self._zones:
            return Need(need, "unknown", "there is no zone of that name")
        written = f"write {zone}" in self._may
        if written or (word == "read" and zone in self._reads):
            return Need(need, "met", "the policy gives it")
        return Need(need, "unmet", f"the executor may not {word} {zone}", zone in self._tried)

    def _tool(self, need: str, tool: str) -> Need:
        if tool in self._used:
            return Need(need, "met", "the executor used it")
        if tool in self._refused:
            return Need(need, "unmet", "a call of it was refused: it is not for the executor", True)
        if not self._tooled:
            why = "the executor has no tools of the team's"
            return Need(need, "unmet", why, tool in self._asked)
        return Need(need, "unknown", "nobody tried")

    def _program(self, need: str) -> Need:
        """By what the harness saw itself: it looked for the program, or its tap saw it run. What
        a command writes is its author's word."""
        need = need.strip()
        name = need.rpartition("/")[2]
        if name in self._started:
            return Need(need, "met", "the executor ran it")
        there = self._looked.get(need)
        if there:
            return Need(need, "met", "it is in the executor's box")
        if there is False and _has(self._calls, name):
            return Need(need, "unmet", "there is no such program in the executor's box", True)
        if there is None and (seen := self._not_found({need, name})):
            return Need(need, "unmet", f"{seen}: no such program in the executor's box", True)
        return Need(need, "unknown", "nobody tried")

    def _not_found(self, names: Collection[str]) -> str:
        """The first command that was nothing but a call of the program, and ended as one that
        a shell does not find. Empty where there is none."""
        for phase in self._phases if self._whole else ():
            for number, line in enumerate(self._files.transcript(phase), 1):
                command = str((line.get("arguments") or {}).get("command", ""))
                called = SIMPLE.fullmatch(command) and command.split()[:1]
                if line.get("returncode") == NOT_FOUND and called and called[0] in names:
                    return f"{phase.name}-{number}"
        return ""


def _has(text: str, name: str) -> bool:
    """Whether folded ``text`` has the name as a word."""
    return bool(re.search(rf"(?<![\w./-]){re.escape(folded(name))}(?![\w.-])", text))
