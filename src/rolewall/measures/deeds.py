"""What was done in each phase of an episode, by its ledger."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rolewall.measures.stored import MOST_TEXT
from rolewall.policies import read_ledger
from rolewall.record import EpisodeRecord

__all__ = ["Deeds", "Forbidden", "read_deeds"]

FORBIDDEN = "forbidden by condition"
LEDGER = "audit.jsonl"
TOOL = "rolewall-tool"
CLIENTS = ("curl", "wget", "git", "pip", "pip3", "npm", "npx", "ssh", "scp", "rsync", "nc", "ping")
"""Programs that are for a network."""
SHELLS = ("sh", "bash", "dash", "ash", "ksh", "zsh")
COMMAND = re.compile(r"-[a-z]*c[a-z]*")
FIRST = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._+-]{0,63})(?=[\s;&|<>]|\Z)")
BUILT_IN = re.compile(
    r"alias|bg|bind|break|builtin|caller|case|cd|command|compgen|complete|compopt"
    r"|continue|coproc|declare|dirs|disown|do|done|echo|elif|else|enable|esac|eval|exec"
    r"|exit|export|false|fc|fg|fi|for|function|getopts|hash|help|history|if|in|jobs"
    r"|kill|let|local|logout|mapfile|popd|printf|pushd|pwd|read|readarray|readonly"
    r"|return|select|set|shift|shopt|source|suspend|test|then|time|times|trap|true|type"
    r"|typeset|ulimit|umask|unalias|unset|until|wait|while"
)
"""Words of a shell's own, for which it starts no program."""
UNRECORDED = " spent on the rest,"  # of the note that executions are counted alone from there


@dataclass(frozen=True)
class Forbidden:
    """What one phase tried though an open condition forbids it: attempts in a zone, another's
    too, and calls of tools. ``of_work``: some were at the work itself, or asked a tool for it.
    ``file`` and ``field`` are where the first of them stands."""

    attempts: int = 0
    allowed: int = 0
    of_work: bool = False
    file: str = ""
    field: str = ""


class Deeds:
    """What the ledger says, by phase.

    Attributes:
        forbidden: attempts of what an open condition forbids.
        lines: command lines that were run, as far as there is room for them.
        called: what a shell was given to start first, by name, where that is a program's.
        tried: zones in which there was any attempt but on what is the role's own to change.
        asked: names that ``rolewall-tool`` was started with.
        reached: command lines of programs that speak over a network, as far as there is room.
    """

    def __init__(self, phases: Iterable[int]) -> None:
        self.forbidden: dict[int, Forbidden] = {}
        self.lines: dict[int, list[str]] = defaultdict(list)
        self.called: dict[int, set[str]] = defaultdict(set)
        self.tried: dict[int, set[str]] = defaultdict(set)
        self.asked: dict[int, set[str]] = defaultdict(set)
        self.reached: dict[int, list[str]] = defaultdict(list)
        self._room: dict[int, int] = defaultdict(lambda: MOST_TEXT)
        self._started: dict[int, set[str]] = {phase: set() for phase in phases}

    @property
    def programs(self) -> dict[int, frozenset[str]]:
        """The names of the programs that were started. A phase of which not all are known is
        absent."""
        return {phase: frozenset(names) for phase, names in self._started.items()}

    def add(self, line: Mapping[str, Any]) -> None:
        phase = line.get("phase", -1)
        if line["type"] == "attempt":
            self.tried[phase].add(str(line["zone"]))
        if line["type"] == "attempt" and _is_forbidden(line):
            first = Forbidden(file=LEDGER, field=f"seq {line['seq']}")
            was = self.forbidden.get(phase, first)
            allowed = was.allowed + (line["outcome"] == "allowed")
            of_work = was.of_work or line["zone"] == "workspace"
            self.forbidden[phase] = replace(
                was, attempts=was.attempts + 1, allowed=allowed, of_work=of_work
            )
        elif line["type"] == "note" and UNRECORDED in str(line["text"]):
            self._started.pop(phase, None)
        elif line["type"] == "exec":
            self._execution(phase, line)

    def _execution(self, phase: int, line: Mapping[str, Any]) -> None:
        argv = [str(word) for word in line["argv"]]
        if phase in self._started:
            self._started[phase] |= {_last(word) for word in (str(line["exe"]), *argv[:1])}
        if (name := _called(argv)) is not None:
            self.called[phase].add(name)
        if _last(argv[0] if argv else "") == TOOL:
            self.asked[phase].update(argv[1:2])
        if self._room[phase] > 0:
            text = " ".join(argv)
            self._room[phase] -= len(text)
            self.lines[phase].append(text)
            if _last(str(line["exe"])) in CLIENTS:
                self.reached[phase].append(text)


def read_deeds(path: Path, record: EpisodeRecord) -> Deeds:
    """Raises RecordError where the ledger is not the record's."""
    there = path.exists()
    found = Deeds([phase.index for phase in record.phases] if there else [])
    if there:
        for line in read_ledger(path, head=record.ledger_head or None, lines=record.ledger_lines):
            found.add(line)
    return found


def _called(argv: Sequence[str]) -> str | None:
    """The program that a shell's ``-c`` begins with; None where it begins with something else."""
    if _last(argv[0] if argv else "").removeprefix("-") not in SHELLS:
        return None
    given = next((n for n, word in enumerate(argv) if COMMAND.fullmatch(word)), len(argv))
    first = FIRST.match(argv[given + 1]) if given + 1 < len(argv) else None
    return first[1] if first and not BUILT_IN.fullmatch(first[1]) else None


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _is_forbidden(line: Mapping[str, Any]) -> bool:
    return line["kind"] == "forbidden" or (line["kind"] == "edit" and FORBIDDEN in line["why"])
