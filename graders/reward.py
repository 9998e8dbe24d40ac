"""Reading a reward out of a directory that the work could write."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rolewall._beneath import Root
from rolewall._files import load_json
from rolewall.errors import RolewallError

__all__ = ["REWARD_DIRECTORY", "Reward", "RewardError", "read_reward"]

REWARD_DIRECTORY = "verifier"
LIMIT = 64 * 1024
MOST_REWARDS = 100
NAME = 100


class RewardError(Exception):
    """There is no reward, or it says nothing; the text says which."""


@dataclass(frozen=True)
class Reward:
    """``value`` is the one called ``reward``, else the least of all ``values``."""

    value: float
    values: Mapping[str, float]

    @property
    def passed(self) -> bool:
        return self.value >= 1.0


def read_reward(logs: Path) -> Reward:
    """Read ``verifier/reward.json``, or ``verifier/reward.txt`` where there is none, as
    Harbor does; call only when no process of the box lives.

    Raises:
        RewardError: neither is there, or what is there is a link, no regular file, too
            large, or no finite number or object of such.
    """
    text = _bytes(logs, "reward.json")
    if text is not None:
        return _from_json(text)
    text = _bytes(logs, "reward.txt")
    if text is None:
        raise RewardError("the tests wrote no reward.txt and no reward.json")
    try:
        value = float(text.decode("ascii").strip())
    except (UnicodeDecodeError, ValueError):
        raise RewardError("reward.txt is not a number") from None
    value = _finite(value, "reward.txt")
    return Reward(value, {"reward": value})


def _bytes(logs: Path, name: str) -> bytes | None:
    path = f"{REWARD_DIRECTORY}/{name}"
    try:
        with Root(logs) as root:
            return None if root.kind(path) is None else root.read(path, LIMIT)
    except RolewallError as error:
        raise RewardError(str(error)) from None


def _from_json(text: bytes) -> Reward:
    try:
        data = load_json(text, "reward.json")
    except RolewallError as error:
        raise RewardError(str(error)) from None
    if not isinstance(data, dict) or not 0 < len(data) <= MOST_REWARDS:
        raise RewardError(f"reward.json is not an object of 1 to {MOST_REWARDS} numbers")
    whole = {name: _number(value, name) for name, value in data.items()}
    values: dict[str, float] = {}
    for name, value in whole.items():  # of names that are alike as far as they are kept, the least
        values[name[:NAME]] = min(value, values.get(name[:NAME], value))
    return Reward(whole.get("reward", min(whole.values())), values)


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RewardError(f"reward.json: `{name}` is not a number")
    return _finite(float(value) if abs(value) < 1e300 else math.inf, f"reward.json: `{name}`")


def _finite(value: float, place: str) -> float:
    if not math.isfinite(value):
        raise RewardError(f"{place} is not a finite number")
    return value
