"""Sealing a run as it goes: each episode before it counts, the run when it ends."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rolewall._files import append_whole, open_regular
from rolewall.attest.envelopes import sign_seals
from rolewall.attest.files import ENVELOPE, LOG, SEAL, digest_of_file, episode_digests
from rolewall.attest.held import HINT, hold_records
from rolewall.attest.log import LOG_CAP, Log, log_line, read_log
from rolewall.attest.signing import KeySigner
from rolewall.attest.statement import SEAL_CAP, episode_seal, run_seal
from rolewall.errors import RecordError, RolewallError, StorageError
from rolewall.storage import read_capped, write_atomic

__all__ = ["RunSeals"]


class RunSeals:
    """The seals of one run that is being written. Threads may share it.

    The log's file is held open, and what it must hold is kept in memory: an edit
    by another hand while the run goes on is refused, not sealed.

    Args:
        summary: what the run was asked for, as its seal says it.
        signer: signs every seal, those of an earlier harness too once the run is closed.

    Raises:
        RecordError: the log is gone, does not verify, or is of another ``run.json``.
        StorageError: the disk refuses.
    """

    def __init__(
        self, run: Path, summary: Mapping[str, Any], signer: KeySigner | None = None
    ) -> None:
        self._run, self._summary, self._signer = run, summary, signer
        self._lock = threading.Lock()
        self._path = run / LOG
        with _disk(run):
            self._of = digest_of_file(run / "run.json")
        self._log, self._hash = self._read()
        with _disk(self._path):
            self._fd = open_regular(self._path, os.O_WRONLY | os.O_APPEND)
            os.ftruncate(self._fd, self._log.size)  # a line that a kill cut off

    def __enter__(self) -> RunSeals:
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self._fd)

    def hold(self, records: Mapping[str, str]) -> None:
        """As ``hold_records``, before the run goes on. What a kill left sealed and not
        counted, though its record is in place, counts from now on."""
        hold_records(self._run, self._log, records)
        for key in sorted(records):
            entry = self._log.episodes[key]
            if entry.state == "sealed":
                self._append("counted", episode=key, seal=entry.seal)

    def discard(self, key: str) -> None:
        """Note that an episode that was sealed will be run again."""
        entry = self._log.episodes.get(key)
        if entry is not None and entry.state == "counted":
            self._append("discarded", episode=key, seal=entry.seal)

    @contextmanager
    def sealing(self, directory: Path, summary: Mapping[str, Any], data: bytes) -> Iterator[None]:
        """Seal an episode, and count it once the block has put its record in place, whose
        bytes are ``data`` and which ``summary`` sums up."""
        with _disk(directory):
            files = episode_digests(directory)
        files["episode.json"] = hashlib.sha256(data).hexdigest()
        body = episode_seal(summary, files, self._of)
        write_atomic(directory / SEAL, body)
        seal = hashlib.sha256(body).hexdigest()
        self._sign({f"episodes/{directory.name}": seal})
        self._append("sealed", episode=directory.name, seal=seal)
        yield
        self._append("counted", episode=directory.name, seal=seal)

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Seal the run after the block, however it ends."""
        try:
            yield
        except BaseException:
            # What ended the block says more than why the run could not be sealed then.
            with suppress(RolewallError):
                self.close()
            raise
        self.close()

    def close(self) -> str:
        """Seal the run as it stands; the SHA-256 of its ``seal.json``. Nothing changes
        where nothing was added since it was last sealed."""
        if self._log.open or not self._log.lines:
            self._append("closed", episodes=len(self._log.counted()))
        seals = {f"episodes/{k}/{SEAL}": d for k, d in self._log.counted().items()}
        files = {"run.json": self._of, LOG: self._hash.hexdigest(), **seals}
        body, path = run_seal(self._summary, files), self._run / SEAL
        if not (path.exists() and read_capped(path, SEAL_CAP) == body):
            write_atomic(path, body)
        digest = hashlib.sha256(body).hexdigest()
        self._sign({f"episodes/{k}": d for k, d in self._log.counted().items()} | {"": digest})
        return digest

    def _sign(self, seals: Mapping[str, str]) -> None:
        if self._signer is not None:
            sign_seals(self._run, seals, self._signer)

    def _read(self) -> tuple[Log, hashlib._Hash]:
        if not os.path.lexists(self._path):
            if any(self._run.glob("episodes/*/episode.json")):
                raise RecordError("gone", place=str(self._path), hint=HINT)
            write_atomic(self._path, b"")
            return Log(), hashlib.sha256()
        log = read_log(self._path)
        if log.run not in ("", self._of):
            raise RecordError(
                "changed since the run began", place=str(self._run / "run.json"), hint=HINT
            )
        return log, hashlib.sha256(read_capped(self._path, LOG_CAP)[: log.size])

    def _append(self, kind: str, **fields: object) -> None:
        with self._lock:
            if not self._log.open:
                self._line("opened", run=self._of)
                # They are of the run as it was.
                for name in (SEAL, ENVELOPE):
                    with _disk(self._run):
                        (self._run / name).unlink(missing_ok=True)
            self._line(kind, **fields)

    def _line(self, kind: str, **fields: object) -> None:
        raw = log_line(self._log, kind, **fields)
        with _disk(self._path):
            if os.fstat(self._fd).st_size != self._log.size:
                raise RecordError("changed by another hand", place=str(self._path), hint=HINT)
            append_whole(self._fd, raw + b"\n", self._log.size, sync=True)
        self._log.add(raw, str(self._path))
        self._hash.update(raw + b"\n")


@contextmanager
def _disk(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot be sealed: {error.strerror}", place=str(place)) from error
