"""Who changed what: manifests decide, the ledger explains.

A change outside its owner's phase that no allowed attempt accounts for is
unattributed: a racing thread can make a logged path wrong, so it is counted
and never dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rolewall.policies import Attempt, Effect, Outcome, is_cache, shorten
from rolewall.record import Change
from rolewall.sandbox import Manifest, diff

__all__ = ["changes_of_phase", "unattributed"]

# What takes everything below a directory along.
MOVING = frozenset((Effect.RENAME, Effect.UNLINK))


def changes_of_phase(
    role: str,
    owners: Mapping[str, str],
    before: Mapping[str, Manifest],
    after: Mapping[str, Manifest],
) -> tuple[Change, ...]:
    """What is different in any zone after a phase of ``role``."""
    return tuple(
        Change(
            zone=zone,
            path=difference.name,
            change=difference.change,
            what=difference.what,
            cross_role=owner != role,
            incidental=is_cache(difference.name),
        )
        for zone, owner in owners.items()
        for difference in diff(before[zone], after[zone])
        if not difference.derived
    )


def unattributed(changes: Iterable[Change], attempts: Iterable[Attempt]) -> tuple[Change, ...]:
    """Cross-role changes that no allowed attempt of the phase accounts for."""
    allowed = [a for a in attempts if a.outcome is Outcome.ALLOWED]
    touched = {path for attempt in allowed for path in attempt.paths}
    moved = {path for attempt in allowed if attempt.effect in MOVING for path in attempt.paths}
    return tuple(c for c in changes if c.cross_role and not _accounted(c, touched, moved))


def _accounted(change: Change, touched: set[str], moved: set[str]) -> bool:
    """An attempt on the entry itself, on a directory above it (renamed, removed), or,
    for a directory's time alone, on an entry that came and went in it."""
    path = f"/{change.zone}" if change.path == "." else f"/{change.zone}/{change.path}"
    if change.what == ("mtime",) and any(t.rpartition("/")[0] == path for t in touched):
        return True
    if shorten(path) in touched:
        return True
    while len(path) > 1:
        path = path.rpartition("/")[0]
        if shorten(path) in moved:
            return True
    return False
