"""What the verifier says, read so that nothing but a verdict counts as one.

The nonce is told to one verifier in one phase. So an approval that is quoted
from the work, left from an earlier round or written by anybody else is
``missing``, as is whatever does not parse. Nothing is guessed and nothing is an
approval by default.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from rolewall._files import load_json
from rolewall._validate import Strict, Version1, validate
from rolewall.errors import InputError

__all__ = ["MAX_VERDICT", "Check", "ParsedVerdict", "VerdictFile", "read_verdict"]

MAX_VERDICT = 64 * 1024
"""Bytes a verdict may have."""

_PLACE = "verdict.json"
_Short = Annotated[str, Field(min_length=1, max_length=2_000)]


class Check(Strict):
    """One thing the verifier looked at, what it found, and how it knows."""

    name: _Short
    ok: bool
    evidence: Annotated[str, Field(max_length=20_000)]


class VerdictFile(Strict):
    """``verdict.json`` as a verifier writes it; ``commands`` are those it claims to have run."""

    schema_version: Version1
    nonce: str
    verdict: Literal["approve", "reject"]
    summary: Annotated[str, Field(max_length=20_000)] = ""
    checks: list[Check] = Field(max_length=500)
    commands: list[_Short] = Field(max_length=500)


@dataclass(frozen=True, slots=True)
class ParsedVerdict:
    """``why`` is the verifier's summary, or what was wrong when the verdict is ``missing``."""

    verdict: Literal["approve", "reject", "missing"]
    why: str
    checks: tuple[Check, ...] = ()
    commands: tuple[str, ...] = ()


def read_verdict(data: bytes | None, nonce: str) -> ParsedVerdict:
    """The verdict in ``data`` (None: no file was left). Never raises for what a role wrote."""
    if not nonce:
        raise ValueError("a verdict without a nonce would count whoever wrote it")
    if data is None:
        return ParsedVerdict("missing", "no verdict was written")
    try:
        loaded = load_json(data, _PLACE, max_bytes=MAX_VERDICT, max_depth=8)
        file = validate(VerdictFile, loaded, _PLACE)
    except InputError as problem:
        return ParsedVerdict("missing", str(problem))
    if not hmac.compare_digest(file.nonce.encode(), nonce.encode()):
        return ParsedVerdict("missing", f"{_PLACE}: nonce: not the nonce of this phase")
    return ParsedVerdict(file.verdict, file.summary, tuple(file.checks), tuple(file.commands))
