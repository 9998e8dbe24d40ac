"""What a calibration leaves to a secret: the numbers of trials, the seeds of agents, the order.

All are drawn from one salt, which is made when the calibration begins and stands in
``run.json`` alone: no box can compute them, and who holds the run can check every one.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable

from rolewall.storage import canonical_json

__all__ = ["in_order", "new_salt", "seed_of", "trials_of"]


def new_salt() -> str:
    """256 bits that nobody can guess."""
    return secrets.token_hex(32)


def trials_of(salt: str, task: str, number: int) -> tuple[int, ...]:
    """The trial of each of ``number`` pieces of work that one task shows."""
    drawn = sorted(range(number), key=lambda place: _lot(salt, "trial", task, place))
    found = {place: trial for trial, place in enumerate(drawn)}
    return tuple(found[place] for place in range(number))


def seed_of(salt: str, task: str, trial: int, condition: str) -> int:
    """What an agent gets as its seed: 63 bits, an episode's own."""
    return int.from_bytes(_lot(salt, "seed", task, trial, condition)[:8], "big") >> 1


def in_order(salt: str, keys: Iterable[str]) -> list[str]:
    """Episodes in the order in which they are begun."""
    return sorted(keys, key=lambda key: _lot(salt, "order", key))


def _lot(salt: str, *of: str | int) -> bytes:
    return hashlib.sha256(canonical_json([salt, *of])).digest()
