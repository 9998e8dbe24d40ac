"""Verifying a run: that it holds what its records say, and nothing that none speaks of."""

from __future__ import annotations

import fcntl
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rolewall.attest import (
    LOG,
    Log,
    PublicKey,
    read_log,
)
from rolewall.audit.contents import Contents
from rolewall.audit.episode import Episodes
from rolewall.audit.evidence import Verified
from rolewall.audit.findings import Finding, Level, entries_of, unexpected, unreadable, words_of
from rolewall.audit.seals import Sealing
from rolewall.errors import RecordError
from rolewall.layout import BLAME, ENTRIES, REPORT
from rolewall.lots import in_order, trials_of
from rolewall.rundir import RunInfo, read_run_json
from rolewall.storage import is_partial
from rolewall.terminal import counted

__all__ = ["AuditReport", "Finding", "audit_run"]


@dataclass(frozen=True)
class AuditReport:
    """``exit_code`` is 0 when all holds and 1 when anything was altered; ``seal`` is the
    SHA-256 of the run's ``seal.json``, ``sealed`` the files that it seals: name → SHA-256."""

    run: str
    verified: dict[str, int]
    findings: tuple[Finding, ...]
    seal: str | None = None
    sealed: Mapping[str, str] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        return int(any(f.level == "altered" for f in self.findings))

    def lines(self) -> list[str]:
        verdict = "something was altered" if self.exit_code else "all holds"
        numbers = ", ".join(
            counted(n, noun.removesuffix("s"))
            for noun, n in self.verified.items()
            if n or noun != "signatures"
        )
        seal = [f"seal sha256:{self.seal}"] if self.seal else []
        found = [f.line() for f in self.findings]
        return [*found, *seal, f"{self.run}: {verdict}: {numbers} verified"]

    def json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "exit_code": self.exit_code,
            "seal": self.seal,
            **self.verified,
            "findings": [
                {"level": f.level, "place": f.place, "message": f.message} for f in self.findings
            ],
        }


def audit_run(
    path: Path, *, expect: str | None = None, keys: Sequence[PublicKey] = ()
) -> AuditReport:
    """Verify everything in a run directory.

    Args:
        expect: SHA-256 of the run's ``seal.json``, as it was when the run ended.
        keys: public keys, each of which must have signed every seal.

    Raises:
        RecordError: it is no run directory.
    """
    try:
        info, of = read_run_json(path)
    except RecordError as error:
        if LOG not in entries_of(path):
            raise
        found = Finding("altered", str(path / "run.json"), words_of(error))
        return AuditReport(str(path), {"episodes": 0}, (found,))
    counts, contents = Verified(), Contents(path / "blobs.git")
    findings = [*contents.files.check(), *_around(path, info), *_by_lot(path, info)]
    names = _names(path, findings)
    log = _log(path, of, findings)
    sealing: Sealing | None = None
    if log is not None:
        sealing = Sealing(path, info, log, of, keys, counts)
        episodes = Episodes(path, info, sealing, contents)
        findings += [*episodes.check(names), *sealing.whole(expect)]
        notes = _notes(info, counts, sealing)
        findings += [Finding("note", str(path), words) for words in notes]
        complete = not log.open and bool(sealing.sealed) and len(log.counted()) >= info.planned
        findings = [found.settled(complete) for found in findings]
    verified = {
        "episodes": counts.episodes,
        "ledgers": counts.ledgers,
        "manifests": counts.manifests,
        "contents": contents.verified,
        "handoffs": counts.handoffs,
        "transcripts": counts.transcripts,
        "seals": counts.seals,
        "signatures": counts.signatures,
    }
    if sealing is None:
        findings = [found.settled(False) for found in findings]
        return AuditReport(str(path), verified, tuple(findings))
    return AuditReport(str(path), verified, tuple(findings), sealing.seal or None, sealing.sealed)


def _log(path: Path, of: str, findings: list[Finding]) -> Log | None:
    place = path / LOG
    try:
        log = read_log(place)
    except RecordError as error:
        findings.append(Finding("altered", error.place or str(place), words_of(error)))
        return None
    if log.cut:
        level: Level = "note" if log.open else "altered"
        findings.append(Finding(level, str(place), "its last line is cut off, as by a kill"))
    if log.run not in ("", of):
        place = path / "run.json"
        findings.append(Finding("altered", str(place), f"not the one that {LOG} was opened for"))
    return log


def _around(path: Path, info: RunInfo) -> Iterator[Finding]:
    """Entries of the run's own directory."""
    kinds = entries_of(path)
    partial = {name for name in kinds if is_partial(Path(name)) and kinds[name] == "file"}
    yield from unexpected(path, ENTRIES | dict.fromkeys(partial, "file"))
    if kinds.get(".lock") == "file" and (path / ".lock").stat().st_size:
        yield Finding("altered", str(path / ".lock"), "not empty")
    if info.keys and kinds.get("scratch") == "directory":
        yield from unexpected(path / "scratch", dict.fromkeys(info.keys, "directory"))
    if kinds.get(REPORT) == "file":
        yield Finding("note", str(path / REPORT), "made from the run; no seal covers it")
    if kinds.get(BLAME) == "directory":
        yield Finding(
            "note", str(path / BLAME), "replays for `blame`; no seal of this run covers them"
        )
    running = _running(path)
    for name in sorted({"scratch"} & kinds.keys() | partial):
        if not running:
            words = "left by a run that was killed; running it again removes it"
            yield Finding("left", str(path / name), words)


def _by_lot(path: Path, info: RunInfo) -> Iterator[Finding]:
    """What a calibration's salt decides, and nobody may choose."""
    found = info.calibration
    if found is None:
        return
    shown: dict[str, dict[int, int]] = defaultdict(dict)
    for one in found.candidates:
        shown[one.task][2 * one.pair + (one.kind == "solution")] = one.trial
    place = str(path / "run.json")
    for task, trials in shown.items():
        drawn = trials_of(found.salt, task, len(trials))
        if trials != dict(enumerate(drawn)):
            yield Finding("altered", place, f"the trials of {task} are not those of its salt")
    if list(info.keys) != in_order(found.salt, info.keys):
        yield Finding("altered", place, "its episodes are not in the order of its salt")


def _running(path: Path) -> bool:
    try:
        lock = os.open(path / ".lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _notes(info: RunInfo, counts: Verified, sealing: Sealing) -> Iterator[str]:
    if sealing.unverified:
        signed = counted(sealing.unverified, "seal")
        yield f"{signed} signed, not verified: give --public-key"
    absent = info.planned - counts.episodes
    if absent > 0:
        yield f"{absent} of {counted(info.planned, 'planned episode')} absent"


def _names(path: Path, findings: list[Finding]) -> list[str]:
    """The directories of episodes. What lies beside them is a finding."""
    place = path / "episodes"
    if entries_of(path).get("episodes", "directory") != "directory" or unreadable(place):
        raise RecordError("cannot be read", place=str(place), expected="a directory")
    kinds = entries_of(place)
    findings += unexpected(place, dict.fromkeys(kinds, "directory"))
    return sorted(n for n, kind in kinds.items() if kind == "directory")
