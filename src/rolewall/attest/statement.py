"""What is said of an episode, and of a run: in-toto statements.

The subjects of a statement are files, by SHA-256. A statement is made of what
it speaks of and of nothing else, so that whoever has the files can make the
same bytes again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from rolewall._files import load_json
from rolewall._validate import Strict, validate
from rolewall.errors import InputError, RecordError

__all__ = [
    "EPISODE_TYPE",
    "PAYLOAD_TYPE",
    "RUN_TYPE",
    "SEAL_CAP",
    "Statement",
    "episode_seal",
    "parse_digest",
    "parse_seal",
    "run_seal",
]

STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
EPISODE_TYPE = "urn:rolewall:episode:1"
RUN_TYPE = "urn:rolewall:run:1"
SEAL_CAP = 64 << 20
HEX = re.compile("[0-9a-f]{64}")


class _Digest(Strict):
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class _Subject(Strict):
    name: str
    digest: _Digest


class Statement(Strict):
    """An in-toto Statement, version 1."""

    type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: list[_Subject]
    predicate_type: str = Field(alias="predicateType")
    predicate: dict[str, Any]

    @property
    def files(self) -> dict[str, str]:
        """Name → SHA-256 of every subject."""
        return {subject.name: subject.digest.sha256 for subject in self.subject}


def episode_seal(summary: Mapping[str, Any], files: Mapping[str, str], run: str) -> bytes:
    """``seal.json`` of an episode.

    Args:
        summary: what its record says, as ``EpisodeRecord.summary`` has it.
        files: name in the episode's directory → SHA-256, of every file but the seal.
        run: SHA-256 of ``run.json``.
    """
    return _statement(EPISODE_TYPE, files, {**summary, "run": {"digest": {"sha256": run}}})


def run_seal(summary: Mapping[str, Any], files: Mapping[str, str]) -> bytes:
    """``seal.json`` of a run.

    Args:
        summary: what was asked for, as ``RunInfo.summary`` has it.
        files: name in the run's directory → SHA-256, of ``run.json``, ``seals.jsonl`` and
            the seal of every episode that counts.
    """
    episodes = sum(name.startswith("episodes/") for name in files)
    return _statement(RUN_TYPE, files, {**summary, "episodes": episodes})


def _statement(kind: str, files: Mapping[str, str], predicate: Mapping[str, Any]) -> bytes:
    subjects = [{"name": n, "digest": {"sha256": d}} for n, d in sorted(files.items())]
    body = {
        "_type": STATEMENT,
        "subject": subjects,
        "predicateType": kind,
        "predicate": predicate,
    }
    return json.dumps(body, indent=1, ensure_ascii=True, allow_nan=False).encode() + b"\n"


def parse_digest(text: str) -> str:
    """A SHA-256 as a user gives it, with or without ``sha256:``. Raises InputError."""
    digest = text.removeprefix("sha256:").lower()
    if not HEX.fullmatch(digest):
        raise InputError("not a digest", got=text, expected="64 hexadecimal digits")
    return digest


def parse_seal(data: bytes, place: str, kind: str) -> Statement:
    """A written seal of one kind, EPISODE_TYPE or RUN_TYPE. Raises RecordError."""
    raw = load_json(data, place, error=RecordError, max_bytes=SEAL_CAP)
    statement = validate(Statement, raw, place, RecordError)
    if statement.predicate_type != kind:
        raise RecordError(
            "a seal of another kind", place=place, got=statement.predicate_type, expected=kind
        )
    if len(statement.files) != len(statement.subject):
        raise RecordError("a file is sealed twice", place=place)
    return statement
