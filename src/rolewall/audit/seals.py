"""Seals held against what they seal: an episode's against its files and the run's log,
the run's against all episodes, signatures against keys."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rolewall.attest import (
    ENVELOPE,
    EPISODE_TYPE,
    LOG,
    RUN_TYPE,
    SEAL,
    SEAL_CAP,
    Entry,
    Log,
    PublicKey,
    check_envelope,
    digest_of_file,
    episode_seal,
    parse_seal,
    run_seal,
)
from rolewall.audit.evidence import Verified
from rolewall.audit.findings import Finding, entries_of, words_of
from rolewall.errors import RecordError
from rolewall.record import EpisodeRecord
from rolewall.rundir import RunInfo
from rolewall.storage import read_capped

__all__ = ["Sealing"]

Read = tuple[bytes, dict[str, str]]


@dataclass
class Sealing:
    """Verifies the seals of one run.

    Attributes:
        of: SHA-256 of ``run.json``.
        keys: every one must have signed; none asks for no signature.
        unverified: envelopes that were there while no key was given.
        seal: SHA-256 of the run's own ``seal.json``; empty where there is none to read.
        sealed: its subjects, where they are the files that are there.
    """

    run: Path
    info: RunInfo
    log: Log
    of: str
    keys: Sequence[PublicKey]
    counts: Verified
    unverified: int = 0
    seal: str = ""
    sealed: Mapping[str, str] = field(default_factory=dict)

    def episode(
        self,
        directory: Path,
        entry: Entry,
        record: EpisodeRecord | None,
        digests: Mapping[str, str],
    ) -> Iterator[Finding]:
        """What does not hold of an episode's seal. ``digests`` are of its files, the
        record's among them."""
        path = directory / SEAL
        found = yield from self._seal(path, EPISODE_TYPE)
        if found is None:
            return
        body, files = found
        if hashlib.sha256(body).hexdigest() != entry.seal:
            yield Finding("altered", str(path), f"not the seal that {LOG} has: {entry.seal}")
        differs = list(_files(directory, files, digests))
        yield from differs
        if not differs and record and episode_seal(record.summary(), digests, self.of) != body:
            yield Finding("altered", str(path), "not what the record and run.json make it")
        elif not differs:
            self.counts.seals += 1
        yield from self._signatures(directory, body)

    def whole(self, expect: str | None) -> Iterator[Finding]:
        """What does not hold of the run's own seal. ``expect`` is its SHA-256, kept elsewhere."""
        path = self.run / SEAL
        kinds = entries_of(self.run)
        if self.log.open or not self.log.lines:
            yield from self._unsealed(path, kinds, expect)
            return
        found = yield from self._seal(path, RUN_TYPE)
        if found is None:
            return
        body, files = found
        self.seal = hashlib.sha256(body).hexdigest()
        if expect not in (None, self.seal):
            yield Finding("altered", str(path), f"its SHA-256 is {self.seal}, expected {expect}")
        actuals = self._actual()
        differs = list(_files(self.run, files, actuals))
        yield from differs
        if not differs and run_seal(self.info.summary(), actuals) != body:
            yield Finding("altered", str(path), "not what run.json and the episodes make it")
        elif not differs:
            self.counts.seals += 1
            self.sealed = files
        yield from self._signatures(self.run, body)

    def _unsealed(
        self, path: Path, kinds: Mapping[str, str], expect: str | None
    ) -> Iterator[Finding]:
        if path.name in kinds:
            words = f"it leaves a run open that {SEAL} seals: lines were taken out, or the run was"
            place = str(self.run / LOG)
            yield Finding("altered", place, f"{words} killed as it went on; run it again")
        elif expect is not None or self.keys:
            yield Finding("altered", str(path), "gone, or the run was killed and not run again")
        else:
            yield Finding("note", str(path), "not sealed as a whole: the run has not ended")

    def _seal(self, path: Path, kind: str) -> Generator[Finding, None, Read | None]:
        """The bytes of a seal and its subjects, as the value of the generator."""
        present = entries_of(path.parent).get(path.name)
        if present != "file":
            yield Finding("altered", str(path), "gone" if present is None else f"a {present}")
            return None
        try:
            body = read_capped(path, SEAL_CAP)
            return body, parse_seal(body, str(path), kind).files
        except RecordError as error:
            yield Finding("altered", error.place or str(path), words_of(error))
            return None

    def _actual(self) -> dict[str, str]:
        """What the run's seal should have: seals are held to the log one by one."""
        found = {f"episodes/{key}/{SEAL}": seal for key, seal in self.log.counted().items()}
        return found | {"run.json": self.of, LOG: digest_of_file(self.run / LOG)}

    def _signatures(self, directory: Path, body: bytes) -> Iterator[Finding]:
        path = directory / ENVELOPE
        present = path.name in entries_of(directory)
        if not self.keys:
            self.unverified += present
            return
        if not present:
            yield Finding("altered", str(path), "gone: the seal is not signed")
            return
        try:
            others = check_envelope(read_capped(path, 2 * SEAL_CAP), body, self.keys, str(path))
        except RecordError as error:
            yield Finding("altered", error.place or str(path), words_of(error))
            return
        self.counts.signatures += 1
        for keyid in others:
            words = f"also signed by {keyid[:12]}, which was not given and is not verified"
            yield Finding("note", str(path), words)


def _files(place: Path, sealed: Mapping[str, str], found: Mapping[str, str]) -> Iterator[Finding]:
    """Where the files of a place are not those that its seal has."""
    for name in sorted(sealed.keys() | found.keys()):
        if name not in found:
            words = f"gone, or not readable: {SEAL} has it"
        elif name not in sealed:
            words = f"an orphan: {SEAL} has no such file"
        elif sealed[name] != found[name]:
            words = f"its SHA-256 is {found[name]}, {SEAL} has {sealed[name]}"
        else:
            continue
        yield Finding("altered", str(place / name), words)
