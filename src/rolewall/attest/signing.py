"""Signatures: a seal in a DSSE envelope, by securesystemslib.

The library belongs to the extra ``attest`` and is imported only here and only
when a key is given. Keys are PEM files, Ed25519 or ECDSA on P-256: what
``openssl genpkey`` writes, and ``cosign`` reads.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from rolewall._files import load_json, open_regular
from rolewall._validate import Strict, validate
from rolewall.attest.statement import PAYLOAD_TYPE, SEAL_CAP
from rolewall.errors import InputError, RecordError

if TYPE_CHECKING:
    from securesystemslib.dsse import Envelope

__all__ = ["ENVELOPE_CAP", "KeySigner", "PublicKey", "check_envelope", "read_public_key"]

KEY_CAP = 64 << 10
ENVELOPE_CAP = 2 * SEAL_CAP
KINDS = "a PEM file with an Ed25519 key or an ECDSA key on P-256"
SCHEMES = ("ed25519", "ecdsa-sha2-nistp256")
MISSING = "pip install 'rolewall[attest]'"


class _Signature(Strict):
    keyid: str
    sig: str


class _Envelope(Strict):
    payload: str
    payload_type: Literal["application/vnd.in-toto+json"] = Field(alias="payloadType")
    signatures: list[_Signature] = Field(min_length=1)


@dataclass(frozen=True)
class PublicKey:
    """A key to verify with, and the file it came from."""

    path: Path
    key: Any  # securesystemslib's SSlibKey

    @property
    def keyid(self) -> str:
        return str(self.key.keyid)


class KeySigner:
    """Signs with the private key of a file.

    Attributes:
        keyid: names the key in signatures.
        warnings: what the owner of the key should know.

    Raises:
        InputError: securesystemslib is not installed, or the file has no key of a known kind.
    """

    def __init__(self, path: Path) -> None:
        library = _library(path)
        data, mode = _read_key(path)
        try:
            key = library.load_private(data, None)
            self._signer = library.signer(key)
        except (ValueError, TypeError, library.unsupported) as error:
            hint = "an encrypted key must be decrypted first" if b"ENCRYPTED" in data else None
            raise InputError(
                "not a private key", place=str(path), expected=KINDS, hint=hint
            ) from error
        _known(self._signer.public_key.scheme, path)
        self.keyid = str(self._signer.public_key.keyid)
        open_to = f"{path}: others may read this private key (mode {mode:04o})"
        self.warnings = (open_to,) if mode & 0o077 else ()

    def sign(self, seal: bytes, envelope: bytes | None = None, place: str = "envelope") -> bytes:
        """An envelope of ``seal``, with the signatures too that ``envelope`` has of it.

        The same one where this key has signed it. RecordError where it is none.
        """
        from securesystemslib.dsse import Envelope

        made = Envelope(seal, PAYLOAD_TYPE, {})
        if envelope is not None:
            found = _parse(envelope, place)
            if found.payload == seal:
                made = found
        if not self._has_signed(made):
            made.sign(self._signer)
        return _bytes(made)

    def _has_signed(self, envelope: Envelope) -> bool:
        from securesystemslib.exceptions import VerificationError

        try:
            envelope.verify([self._signer.public_key], 1)
        except VerificationError:
            return False
        return True


def read_public_key(path: Path) -> PublicKey:
    """The public key of a PEM file. Raises InputError as ``KeySigner`` does."""
    library = _library(path)
    data, _ = _read_key(path)
    try:
        key = library.key(library.load_public(data))
    except (ValueError, TypeError, library.unsupported) as error:
        hint = "this is a private key" if b"PRIVATE KEY" in data else None
        raise InputError("not a public key", place=str(path), expected=KINDS, hint=hint) from error
    _known(key.scheme, path)
    return PublicKey(path, key)


def check_envelope(data: bytes, seal: bytes, keys: Sequence[PublicKey], place: str) -> list[str]:
    """Verify an envelope of ``seal`` with every one of ``keys``.

    Returns:
        Ids of keys that signed too and were not given.

    Raises:
        RecordError: it is of something else, or a key did not sign it.
    """
    from securesystemslib.exceptions import VerificationError

    envelope = _parse(data, place)
    if envelope.payload != seal:
        raise RecordError("the signatures are of another seal", place=place)
    for key in keys:
        try:
            envelope.verify([key.key], 1)
        except VerificationError:
            ids = ", ".join(keyid[:12] for keyid in envelope.signatures)
            raise RecordError(
                "no valid signature by the key given",
                place=place,
                got=f"signatures by {ids}",
                expected=f"one by {key.keyid[:12]} ({key.path})",
            ) from None
    return sorted(envelope.signatures.keys() - {key.keyid for key in keys})


def _parse(data: bytes, place: str) -> Envelope:
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import Error

    raw = load_json(data, place, error=RecordError, max_bytes=ENVELOPE_CAP)
    validate(_Envelope, raw, place, RecordError)
    try:
        envelope = Envelope.from_dict(raw)
    except (Error, ValueError) as error:
        raise RecordError("not an envelope", place=place) from error
    if _bytes(envelope) != data:
        raise RecordError("not an envelope as it was written", place=place)
    return envelope


def _bytes(envelope: Envelope) -> bytes:
    return json.dumps(envelope.to_dict(), indent=1).encode() + b"\n"


def _read_key(path: Path) -> tuple[bytes, int]:
    """The bytes of a key's file, and its mode."""
    try:
        # Secrets are often mounted as links.
        with open(open_regular(path, follow=True), "rb") as file:
            found = os.fstat(file.fileno())
            data = file.read(KEY_CAP + 1)
    except OSError as error:
        raise InputError(
            f"cannot read the key: {error.strerror}", place=str(path), expected=KINDS
        ) from error
    if len(data) > KEY_CAP:
        raise InputError("too large for a key", place=str(path), expected=KINDS)
    return data, stat.S_IMODE(found.st_mode)


def _known(scheme: str, path: Path) -> None:
    if scheme not in SCHEMES:
        raise InputError("a key of another kind", place=str(path), got=scheme, expected=KINDS)


@dataclass(frozen=True)
class _Library:
    load_private: Any
    load_public: Any
    signer: Any
    key: Any
    unsupported: type[Exception]


def _library(path: Path) -> _Library:
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from securesystemslib import signer as found
    except ImportError as error:
        raise InputError(
            "keys need securesystemslib, which is not installed", place=str(path), hint=MISSING
        ) from error
    signer: Any = found  # its names are public and not exported
    return _Library(
        serialization.load_pem_private_key,
        serialization.load_pem_public_key,
        signer.CryptoSigner,
        signer.SSlibKey.from_crypto,
        UnsupportedAlgorithm,
    )
