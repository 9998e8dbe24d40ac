"""What the commands of one phase wrote, as files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rolewall.sandbox import Completed, Output, Streams

__all__ = ["CALLS", "CALLS_LIMIT", "CUT", "FILE_LIMIT", "Transcript", "line_of"]

CALLS = "calls.jsonl"
FILE_LIMIT = 64 * 1024 * 1024
CALLS_LIMIT = 128 * 1024 * 1024
CUT = {"tool": "cut", "arguments": {}}  # in place of each call that there was no more room for


@dataclass(frozen=True)
class Transcript:
    """``lines`` has one JSON object a command, and one a note (see ``say``); ``out`` and
    ``err`` take the first ``FILE_LIMIT`` bytes of the whole phase, command after command.
    ``calls`` has one JSON object for each thing that the agent asked for, whole, so that it can
    be done again: see ``rolewall.roles.recordedcalls``."""

    lines: IO[str]
    out: IO[bytes]
    err: IO[bytes]
    calls: IO[str]

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Transcript]:
        """New files beside ``path``, which has no suffix. Raises OSError."""
        with (
            open(path.with_suffix(".jsonl"), "w", encoding="utf-8") as lines,
            open(path.with_suffix(".stdout"), "wb") as out,
            open(path.with_suffix(".stderr"), "wb") as err,
            open(path.with_suffix(f".{CALLS}"), "w", encoding="utf-8") as calls,
        ):
            yield cls(lines, out, err, calls)

    def streams(self) -> Streams:
        """Where the next command's output goes, and how much of it."""
        left = (max(0, FILE_LIMIT - file.tell()) for file in (self.out, self.err))
        return Streams(self.out, self.err, *left)

    def ends(self) -> tuple[int, int]:
        """Where in the files the next command's output begins."""
        return self.out.tell(), self.err.tell()

    def note(
        self, tool: str, arguments: dict[str, Any], done: Completed, begins: tuple[int, int]
    ) -> None:
        """Write down a command that ran, and what ended it."""
        line = line_of(tool, arguments, done, begins)
        self.lines.write(json.dumps(line, ensure_ascii=True) + "\n")
        self.lines.flush()

    def agent(self, kind: str) -> None:
        """Begin the calls: what kind of agent makes them."""
        self.calls.write(json.dumps({"agent": kind}) + "\n")
        self.calls.flush()

    def call(self, tool: str, arguments: Mapping[str, Any], **more: object) -> None:
        """Write down what the agent asks for, before it is done."""
        line = json.dumps({"tool": tool, "arguments": arguments, **more}, ensure_ascii=True)
        fits = self.calls.tell() + len(line) < CALLS_LIMIT
        self.calls.write((line if fits else json.dumps(CUT)) + "\n")
        self.calls.flush()

    def say(self, note: str, **words: object) -> None:
        """Write down what an agent's loop did itself: no command, and nothing a role wrote."""
        self.lines.write(json.dumps({"note": note, **words}, ensure_ascii=True) + "\n")
        self.lines.flush()


def line_of(
    tool: str, arguments: dict[str, Any], done: Completed, begins: tuple[int, int]
) -> dict[str, Any]:
    """A command's line; ``begins`` is where its output begins in the files."""
    return {
        "tool": tool,
        "arguments": arguments,
        "started": done.started,
        "ended": done.ended,
        "returncode": done.returncode,
        "timed_out": done.timed_out,
        "violation": done.violation,
        "disk_full": done.disk_full,
        "out_of_memory": done.out_of_memory,
        "stdout": _output(done.stdout, begins[0]),
        "stderr": _output(done.stderr, begins[1]),
    }


def _output(output: Output, begins: int) -> dict[str, Any]:
    return {
        "text": output.text(),
        "bytes": output.size,
        "truncated": output.truncated,
        "file_offset": begins,
        "file_truncated": output.sink_truncated,
    }
