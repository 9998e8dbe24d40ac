"""The files that say a decision: asked for before it is made, written whatever it is."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rolewall.decision import Decision
from rolewall.errors import InputError, StorageError
from rolewall.gating.badge import badge
from rolewall.gating.junit import junit
from rolewall.gating.summary import summary
from rolewall.layout import run_around
from rolewall.storage import write_output

__all__ = ["Outputs"]

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
AUTO = Path("auto")
CONTENTS: dict[str, Callable[[Decision], bytes]] = {
    "--junit": junit,
    "--summary": lambda decision: summary(decision).encode(),
    "--badge": lambda decision: json.dumps(badge(decision)).encode() + b"\n",
}
BEGINNINGS = {"--junit": b"<?xml", "--summary": b"### ", "--badge": b'{"schemaVersion"'}


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
        for error in self._faults(environment).values():
            raise error

    def sound(self, environment: Mapping[str, str]) -> Outputs:
        """Those of them that ``check`` has nothing against."""
        return self._without(self._faults(environment))

    def of_their_kind(self) -> Outputs:
        """Those whose file is not there, or looks like what was written there before: where
        words are wrong, what follows ``--junit`` may be the records themselves."""
        strange = [
            option
            for option, path in self._files()
            if (option, path) != ("--summary", AUTO) and not _is_of_kind(path, BEGINNINGS[option])
        ]
        return self._without(strange)

    def _without(self, options: Iterable[str]) -> Outputs:
        return replace(self, **{option.removeprefix("--"): None for option in options})

    def _faults(self, environment: Mapping[str, str]) -> dict[str, InputError]:
        """Option → what is wrong with its file."""
        taken: dict[str, str] = {}
        faults: dict[str, InputError] = {}
        for option, path in self._files():
            try:
                if path == AUTO and option == "--summary":
                    _need_step_summary(environment)
                    continue
                _refuse_what_is_no_file(option, path)
                _refuse_evidence(option, path)
                _refuse_a_taken_place(option, path, taken)
            except InputError as error:
                faults[option] = error
        return faults

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
                yield partial(write_output, path, data)


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


def _refuse_evidence(option: str, path: Path) -> None:
    if run := run_around(path):
        raise InputError(
            "in a run directory, whose files are its evidence",
            place=option,
            got=str(path),
            expected=f"a place outside of {run}",
        )


def _refuse_a_taken_place(option: str, path: Path, taken: dict[str, str]) -> None:
    """``taken``: place → option that has it, to which this one is added."""
    if (other := taken.setdefault(os.path.realpath(path), option)) != option:
        raise InputError("one file for two outputs", place=option, got=f"that of {other}")


def _is_of_kind(path: Path, beginning: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(beginning)) == beginning
    except OSError:
        return not os.path.lexists(path)


def _append(path: Path, data: bytes) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except OSError as error:
        raise StorageError(f"cannot write: {error.strerror}", place=str(path)) from error
