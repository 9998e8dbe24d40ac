"""The files that say a decision: asked for before it is made, written whatever it is."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rolewall.decision import Decision
from rolewall.errors import InputError, StorageError
from rolewall.gating.badge import badge
from rolewall.gating.junit import junit
from rolewall.gating.summary import summary
from rolewall.storage import write_atomic

__all__ = ["Outputs"]

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
AUTO = Path("auto")
CONTENTS: dict[str, Callable[[Decision], bytes]] = {
    "--junit": junit,
    "--summary": lambda decision: summary(decision).encode(),
    "--badge": lambda decision: json.dumps(badge(decision)).encode() + b"\n",
}


@dataclass(frozen=True)
class Outputs:
    """Where a decision is written, beside the terminal.

    ``summary`` may be ``auto``: the file that the environment variable GITHUB_STEP_SUMMARY
    names, to which other steps' words belong too, so that it is added to.
    """

    junit: Path | None = None
    summary: Path | None = None
    badge: Path | None = None

    def check(self, environment: Mapping[str, str]) -> None:
        """Raises InputError where something that is no file stands in a file's place, or
        two files have one, before anything is decided."""
        taken: dict[str, str] = {}
        for option, path in self._files():
            if path == AUTO and option == "--summary":
                _need_step_summary(environment)
                continue
            _refuse_what_is_no_file(option, path)
            if (other := taken.setdefault(os.path.realpath(path), option)) != option:
                raise InputError("one file for two outputs", place=option, got=f"that of {other}")

    def _files(self) -> Iterator[tuple[str, Path]]:
        for option, path in (
            ("--junit", self.junit),
            ("--summary", self.summary),
            ("--badge", self.badge),
        ):
            if path is not None:
                yield option, path

    def write(self, decision: Decision, environment: Mapping[str, str]) -> None:
        """Write every file that was asked for. Raises StorageError for the first that could
        not be written, when the others have been."""
        failed: list[StorageError] = []
        for write in self._writers(decision, environment):
            try:
                write()
            except StorageError as error:
                failed.append(error)
        if failed:
            raise failed[0]

    def _writers(
        self, decision: Decision, environment: Mapping[str, str]
    ) -> Iterator[Callable[[], None]]:
        for option, path in self._files():
            data = CONTENTS[option](decision)
            if path == AUTO and option == "--summary":
                yield partial(_append, Path(environment[STEP_SUMMARY]), data)
            else:
                yield partial(_write, path, data)


def _need_step_summary(environment: Mapping[str, str]) -> None:
    if not environment.get(STEP_SUMMARY):
        raise InputError(
            f"auto is the file that {STEP_SUMMARY} names, and it names none",
            place="--summary",
            expected="a file, or to run as a step of a GitHub workflow",
        )


def _refuse_what_is_no_file(option: str, path: Path) -> None:
    """A file is put in place whole, which would put it in the place of a device or a link."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise InputError(f"cannot be a file: {error.strerror}", place=option) from error
    if not stat.S_ISREG(mode):
        raise InputError(
            "something that is no file stands there",
            place=option,
            got=str(path),
            expected="a file, or nothing",
        )


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot write: {error.strerror}", place=str(path)) from error
    write_atomic(path, data)


def _append(path: Path, data: bytes) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except OSError as error:
        raise StorageError(f"cannot write: {error.strerror}", place=str(path)) from error
