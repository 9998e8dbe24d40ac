"""The record of tool calls: a line of JSON for each, in a file of the phase's transcript."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rolewall._files import append_whole
from rolewall.errors import StorageError

__all__ = ["TOOLS", "ToolLog"]

TOOLS = "tools.jsonl"
"""What the name of a phase's file of tool calls ends in."""

MAX_FILE = 64 << 20  # beyond it lines say what was asked and what came of it, without the result


class ToolLog:
    """Appends to a new file. Raises StorageError where it cannot be made or written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = 0
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._fd = os.open(path, flags, 0o644)
        except OSError as error:
            raise self._failed(error) from error

    def write(self, line: dict[str, Any]) -> None:
        data = _line(line)
        if self._size + len(data) > MAX_FILE:
            data = _line({**line, "result": None, "left_out": True})
        try:
            append_whole(self._fd, data, self._size)
        except OSError as error:
            raise self._failed(error) from error
        self._size += len(data)

    def close(self) -> None:
        """Make it survive the machine. Safe to call twice."""
        if self._fd < 0:
            return
        descriptor, self._fd = self._fd, -1
        try:
            os.fsync(descriptor)
        except OSError as error:
            raise self._failed(error) from error
        finally:
            os.close(descriptor)

    def _failed(self, error: OSError) -> StorageError:
        return StorageError(
            f"calls of tools cannot be recorded: {error.strerror}", place=str(self._path)
        )


def _line(line: dict[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=True).encode() + b"\n"
