"""The engine's seccomp profile for a box.

``seccomp.json`` is Docker's default profile as it is resolved for a container
with the capabilities of a box, in the engine's own format: facts, not choices.

A box without a tap gets the engine's default. A box with a tap gets a profile
that lets the tap's calls reach the tap: the default answers many of them with
an error, an error outranks a notification, and what is not notified is not
recorded. The tap's own filter, in force before the first command, decides
those calls.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from rolewall.sandbox.docker.engine import Engine
from rolewall.sandbox.tap.syscalls import TABLE

__all__ = ["Profile", "choose_profile", "tap_profile"]

ALLOW = "SCMP_ACT_ALLOW"
# These names of the default stand in rules that compare arguments. The tap
# compares clone's itself; clone3's are in memory, so it stays refused.
RULED_BY_TAP = "clone"
STAYS_REFUSED = frozenset({"clone3"})


@dataclass(frozen=True, slots=True)
class Profile:
    """A seccomp profile for the engine.

    Attributes:
        name: for the record.
        text: the profile in JSON; None for the engine's default.
    """

    name: str
    text: str | None

    @property
    def digest(self) -> str | None:
        """SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest() if self.text else None

    def options(self) -> list[str]:
        """The engine's security options that put the profile in force."""
        return [f"seccomp={self.text}"] if self.text else []


def choose_profile(engine: Engine, *, tap: bool) -> Profile:
    """The profile of a box with or without a tap."""
    if tap:
        return Profile("tap", tap_profile())
    if engine.security_option("seccomp") in {"", "default", "builtin"}:
        return Profile("engine default", None)
    # An engine can be told to run everything unconfined, which would be weaker.
    return Profile("docker default", json.dumps(_default()))


@cache
def tap_profile() -> str:
    """The default profile with the tap's calls let through to the tap's filter."""
    profile = _default()
    rules = [rule for rule in profile["syscalls"] if rule["names"] != [RULED_BY_TAP]]
    calls = {row.name for row in TABLE} - STAYS_REFUSED
    profile["syscalls"] = [*rules, {"names": sorted(calls), "action": ALLOW}]
    return json.dumps(profile)


def _default() -> dict[str, Any]:
    text = files("rolewall.sandbox.docker").joinpath("seccomp.json").read_text("utf-8")
    profile: dict[str, Any] = json.loads(text)
    return profile
