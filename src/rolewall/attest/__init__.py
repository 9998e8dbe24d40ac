"""What is said of a run so that it can be held to it: seals, their log, signatures.

Every episode has a ``seal.json``, an in-toto statement of its files; ``seals.jsonl``
has them in order, and the run's own ``seal.json`` binds all of them. Whoever keeps
that file's SHA-256, or has it signed, finds every later edit.
"""

from __future__ import annotations

from rolewall.attest.envelopes import is_signed, sign_seals
from rolewall.attest.files import (
    ENVELOPE,
    LOG,
    SEAL,
    digest_of_file,
    episode_digests,
    readable_digests,
)
from rolewall.attest.held import hold_records, hold_run, never_sealed
from rolewall.attest.log import Entry, Log, read_log
from rolewall.attest.signing import KeySigner, PublicKey, check_envelope, read_public_key
from rolewall.attest.statement import (
    EPISODE_TYPE,
    PAYLOAD_TYPE,
    RUN_TYPE,
    SEAL_CAP,
    Statement,
    episode_seal,
    parse_digest,
    parse_seal,
    run_seal,
)
from rolewall.attest.writer import RunSeals

__all__ = [
    "ENVELOPE",
    "EPISODE_TYPE",
    "LOG",
    "PAYLOAD_TYPE",
    "RUN_TYPE",
    "SEAL",
    "SEAL_CAP",
    "Entry",
    "KeySigner",
    "Log",
    "PublicKey",
    "RunSeals",
    "Statement",
    "check_envelope",
    "digest_of_file",
    "episode_digests",
    "episode_seal",
    "hold_records",
    "hold_run",
    "is_signed",
    "never_sealed",
    "parse_digest",
    "parse_seal",
    "read_log",
    "read_public_key",
    "readable_digests",
    "run_seal",
    "sign_seals",
]
