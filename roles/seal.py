"""Completing and sealing a handoff.

The seal is a SHA-256 over the whole handoff as canonical JSON, chained to the
seal before it. It shows a later change; it is no signature, and whoever can
rewrite every file of a run can seal anew.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from rolewall._files import load_json
from rolewall._validate import Strict, Version1, validate
from rolewall.errors import RecordError
from rolewall.roles.evidence import Evidence
from rolewall.roles.handoff import Collected, Parts, SealedCondition, Sha256

__all__ = [
    "MAX_SEALED",
    "Evidence",
    "Seal",
    "SealedHandoff",
    "complete_and_seal",
    "lacks_evidence",
    "parse_sealed",
    "sealed_bytes",
    "verify_seal",
]

MAX_SEALED = 16 << 20
MOST_EVIDENCE = 4 << 20
"""Bytes of evidence in a file; of more the newest stay. What a role asks of tools is its own
choice, and must not make a handoff that cannot be read."""
LEFT_OUT = "earlier uses of tools are left out of the evidence, for want of room"


class Seal(Strict):
    """``author`` is the role; ``previous`` the seal before this one in the episode, or null."""

    author: str
    phase: Annotated[int, Field(ge=0)]
    time: float
    previous: Sha256 | None
    sha256: Sha256


class SealedHandoff(Parts):
    """A handoff as the next role gets it. ``problems`` are the harness's notes on it."""

    schema_version: Version1 = 1
    conditions: list[SealedCondition] = Field(  # type: ignore[assignment]
        default_factory=list, max_length=1000
    )
    evidence: list[Evidence] = Field(default_factory=list)
    problems: list[str] = Field(default_factory=list)
    seal: Seal


def complete_and_seal(
    collected: Collected,
    *,
    author: str,
    phase: int,
    time: float,
    previous: str | None,
    evidence: Sequence[Evidence] = (),
    digests: Mapping[tuple[str, str], str] | None = None,
) -> SealedHandoff:
    """The sealed handoff.

    Args:
        author: the role whose phase ended.
        time: when it was sealed, seconds since the epoch.
        previous: ``seal.sha256`` of the handoff sealed before in this episode.
        digests: SHA-256 of files by (zone, path), as the harness measured them. An artifact
            that is not among them, or that a role gave another digest, is noted in ``problems``;
            so is how much of ``evidence`` has no room.
    """
    body = collected.handoff.model_dump(mode="json")
    problems = list(collected.problems)
    for artifact in body["artifacts"]:
        key = (artifact["zone"], artifact["path"])
        artifact["sha256"] = _digest(key, artifact["sha256"], (digests or {}).get(key), problems)
    body["evidence"] = _newest([item.model_dump(mode="json") for item in evidence], problems)
    body["problems"] = problems
    seal: dict[str, Any] = {"author": author, "phase": phase, "time": time, "previous": previous}
    body["seal"] = seal
    seal["sha256"] = _sha256(body)
    return SealedHandoff.model_validate(body)


def sealed_bytes(handoff: SealedHandoff) -> bytes:
    """The file that is stored and shown to the next role: readable JSON, UTF-8."""
    text = json.dumps(handoff.model_dump(mode="json"), indent=2, ensure_ascii=False)
    return text.encode() + b"\n"


def parse_sealed(data: bytes, place: str) -> SealedHandoff:
    """A stored handoff; ``RecordError`` if it is none. The seal is not verified here."""
    found = load_json(data, place, error=RecordError, max_bytes=MAX_SEALED)
    return validate(SealedHandoff, found, place, RecordError)


def lacks_evidence(handoff: SealedHandoff) -> bool:
    """Whether some of the evidence had no room in it."""
    return any(note.partition(" ")[2] == LEFT_OUT for note in handoff.problems)


_ANY = object()


def verify_seal(handoff: SealedHandoff, place: str = "handoff", *, previous: object = _ANY) -> None:
    """Check the seal, and, if ``previous`` is given (a digest or None), what it is chained to.

    Raises:
        RecordError: the handoff is not what was sealed, or another one came before.
    """
    body = handoff.model_dump(mode="json")
    stated = body["seal"].pop("sha256")
    if not hmac.compare_digest(_sha256(body), stated):
        raise RecordError("the handoff is not what was sealed", place=place, expected=stated)
    if previous is not _ANY and handoff.seal.previous != previous:
        raise RecordError(
            "the handoff is sealed to another one before it",
            place=place,
            got=handoff.seal.previous or "none",
            expected=str(previous or "none"),
        )


def _newest(evidence: list[dict[str, Any]], problems: list[str]) -> list[dict[str, Any]]:
    """As much of ``evidence`` as has room, from its end."""
    room, kept = MOST_EVIDENCE, len(evidence)
    for item in reversed(evidence):
        text = json.dumps(item, indent=2, ensure_ascii=False)
        room -= len(text.encode()) + 4 * text.count("\n")  # it stands four deep in the file
        if room < 0:
            break
        kept -= 1
    if kept:
        problems.append(f"{kept} {LEFT_OUT}")
    return evidence[kept:]


def _digest(
    key: tuple[str, str], stated: str | None, found: str | None, problems: list[str]
) -> str | None:
    name = f"artifact {key[0]}/{key[1]}"
    if found is None:
        problems.append(f"{name} does not exist")
    elif stated is not None and stated != found:
        problems.append(f"{name} is not what its author's digest says")
    return found


def _sha256(body: object) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
