"""Foreign records: files as other harnesses leave them, and the gate over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from rolewall.cli import cli as command_line
from rolewall.cli import explain


@dataclass(frozen=True)
class Said:
    """What a command said. ``text`` is everything, the message of an error too."""

    code: int
    text: str


Put = Callable[..., Path]
Command = Callable[..., Said]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Write a file: text, bytes, or lines."""

    def write(content: str | bytes | Iterable[str], name: str = "records.csv") -> Path:
        if not isinstance(content, str | bytes):
            content = "".join(f"{line}\n" for line in content)
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def call(*arguments: str) -> Said:
    """Run the command line in this process."""
    done = CliRunner().invoke(command_line, arguments)
    if done.exception is None or isinstance(done.exception, SystemExit):
        return Said(done.exit_code, done.output)
    if not isinstance(done.exception, Exception):
        raise done.exception
    return Said(*explain(done.exception))


@pytest.fixture
def gate() -> Command:
    """Run ``rolewall gate``; the limit is 0.10."""
    return lambda path, *options: call("gate", str(path), "--max-false-approval", "0.10", *options)


@pytest.fixture
def compare() -> Command:
    """Run ``rolewall compare``."""
    return lambda path, *options: call("compare", str(path), *options)
