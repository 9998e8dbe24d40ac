"""What the roles that come next are shown of a handoff, by the run's arm.

The zone's ``handoff.json`` is what the arm leaves of it, and each box has the same rendered
for the command ``handoff``. A result that a tool gave goes along only where it can hold
nothing that is hidden from the reader: a role's command may have printed whatever the role
could read, so its results stay behind where the reader may not read all of that. What a tool
of the broker's gave was never behind a wall.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from rolewall.episode.setting import Setting
from rolewall.policies import Access, Compiled, Policy
from rolewall.roles import (
    HANDED,
    HANDOFF_ZONES,
    MAX_SEALED,
    MOST_RESULT,
    Evidence,
    Given,
    SealedHandoff,
    handed_files,
    parse_sealed,
    shown_bytes,
)
from rolewall.rundir import write_atomic
from rolewall.sandbox import storage
from rolewall.storage import read_capped

__all__ = ["RESULTS", "handed_to", "places_of_handoffs", "show"]

RESULTS = "results"
"""The folder of an episode that holds what tools gave, by SHA-256."""

CARRIED = 16 << 20
"""Bytes of results that one box is given: the newest of each handoff."""


def show(setting: Setting, name: str, zone: str, sealed: SealedHandoff) -> bytes:
    """The ``handoff.json`` for whoever comes after the phase called ``name``; the same is
    kept for their boxes, and beside the whole handoff.

    Raises:
        StorageError: it cannot be written.
    """
    shown = shown_bytes(setting.handoff, sealed)
    write_atomic(setting.directory / "handoffs" / f"{name}.shown.json", shown)
    place = _place(setting, zone)
    with storage(place):
        place.parent.mkdir(mode=0o700, exist_ok=True)
    write_atomic(place, shown)
    return shown


def handed_to(setting: Setting, compiled: Compiled, now: float) -> dict[str, bytes]:
    """The files of a box below ``/rolewall`` that hold what others have handed over: of each
    zone that the role may see, but what it left there itself.

    Raises:
        RecordError, StorageError: what was kept cannot be read.
    """
    carrier = _Carrier(setting, compiled)
    folder = HANDED.removeprefix("/rolewall/")
    files: dict[str, bytes] = {}
    for zone in _zones(compiled):
        shown = _kept(setting, zone)
        if shown is not None and shown.seal.author != compiled.role:
            found = handed_files(zone, shown, now=now, given=carrier.give)
            files |= {f"{folder}/{zone}/{name}": data for name, data in found.items()}
    return files


def places_of_handoffs(zones: Iterator[str]) -> tuple[tuple[str, str], ...]:
    """Where a box has what is in its zones' handoffs as well: to look there is to look into
    the zone."""
    known = set(HANDOFF_ZONES.values())
    return tuple((f"{HANDED}/{zone}", f"/{zone}") for zone in zones if zone in known)


def _zones(compiled: Compiled) -> list[str]:
    known = set(HANDOFF_ZONES.values())
    return [mount.zone for mount in compiled.mounts if mount.zone in known]


def _place(setting: Setting, zone: str) -> Path:
    return setting.scratch / "handed" / f"{zone}.json"


def _kept(setting: Setting, zone: str) -> SealedHandoff | None:
    if setting.work is not None:
        data = setting.work.handoffs.get(zone)
        return None if data is None else parse_sealed(data, zone)
    place = _place(setting, zone)
    return parse_sealed(read_capped(place, MAX_SEALED), str(place)) if place.exists() else None


class _Carrier:
    """Decides what one reader gets of results, and has room for so many of them."""

    def __init__(self, setting: Setting, reader: Compiled) -> None:
        self._setting = setting
        self._reader = reader
        self._room = CARRIED

    def give(self, found: Evidence) -> Given:
        hidden = () if found.source == "broker" else self._hidden(found.role)
        if hidden:
            return Given(why=f"not handed on: {found.role} could read {', '.join(hidden)},"
                             " which you may not")  # fmt: skip
        if found.result is None:
            return Given(why="it gave nothing")
        out, err = self._read(found.result), self._read(found.stderr)
        if out is None or err is None:
            return Given(why="not kept: there was no more room for results in this episode")
        if len(out) + len(err) > self._room:
            return Given(why="not handed on: newer results have filled the room in this box")
        self._room -= len(out) + len(err)
        return Given(out, err)

    def _hidden(self, author: str) -> list[str]:
        """The zones that ``author`` could read and the reader may not."""
        seen = {mount.zone for mount in self._reader.mounts}
        return [zone for zone in _readable(self._setting.policy, author) if zone not in seen]

    def _read(self, digest: str | None) -> bytes | None:
        """A kept result; None where it was not kept."""
        if digest is None:
            return b""
        path = self._setting.directory / RESULTS / digest
        if not path.exists():
            return None
        data = read_capped(path, MOST_RESULT)
        return data if hashlib.sha256(data).hexdigest() == digest else None


def _readable(policy: Policy, role: str) -> list[str]:
    """The shared zones that a role may read; all of them, for one that is not known."""
    access = policy.access.get(role, {})
    shared = [zone.name for zone in policy.zones if not zone.private]
    return [zone for zone in shared if access.get(zone, Access.READ) is not Access.HIDDEN]
