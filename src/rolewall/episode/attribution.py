"""Who changed what: manifests decide, the ledger explains.

A change outside its owner's phase that no allowed attempt accounts for is
unattributed: a racing thread can make a logged path wrong, so it is counted
and never dropped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rolewall.episode.deeds import Deed, Deeds
from rolewall.policies import Attempt, escape, is_cache, unescape
from rolewall.record import Change
from rolewall.sandbox import Difference, Entry, Manifest, aspects, diff

__all__ = ["changes_of_phase"]

_SET_ID = 0o6000
# By which deeds on it an entry can come to differ, while it stays the same entry. A list of
# permissions is an attribute and part of the mode.
_BY: Mapping[str, frozenset[Deed]] = {
    "content": frozenset({Deed.WRITTEN}),
    "mode": frozenset({Deed.MODE, Deed.XATTR}),
    "owner": frozenset({Deed.OWNER}),
    "mtime": frozenset({Deed.WRITTEN, Deed.TIMES}),
    "xattrs": frozenset({Deed.XATTR, Deed.MODE}),
    "links": frozenset({Deed.LINKED}),
}
# With these an entry in a directory changes the directory's time by itself.
_REPLACED = frozenset({"type", "target"})


def changes_of_phase(
    role: str,
    owners: Mapping[str, str],
    before: Mapping[str, Manifest],
    after: Mapping[str, Manifest],
    attempts: Sequence[Attempt],
) -> Iterator[Change]:
    """What is different in any zone after a phase of ``role``, and whether its ``attempts``
    account for it; one by one, for there may be a million."""
    for zone, owner in owners.items():
        found = diff(before[zone], after[zone])
        if owner == role:
            yield from (_change(zone, d, False, True) for d in found if not d.derived)
        elif found:
            crossed = _Crossed(zone, before[zone], after[zone], attempts, len(found))
            yield from crossed.changes(found)


def _change(zone: str, found: Difference, cross_role: bool, attributed: bool) -> Change:
    return Change(
        zone=zone,
        path=found.name,
        change=found.change,
        what=found.what,
        cross_role=cross_role,
        incidental=is_cache(found.name),
        attributed=attributed,
    )


class _Crossed:
    """A zone of another role, before and after."""

    def __init__(
        self,
        zone: str,
        before: Manifest,
        after: Manifest,
        attempts: Iterable[Attempt],
        entries: int,
    ) -> None:
        self._zone, self._before, self._after = zone, before, after
        self._deeds = Deeds(attempts, self._linked(), entries)

    def changes(self, found: Sequence[Difference]) -> Iterator[Change]:
        """All differences, in their order. A directory's time that follows from another
        difference is left out."""
        attributed = {d.path: self._accounted(d) for d in found if not d.derived}
        moved = {
            d.path.rpartition(b"/")[0]
            for d in found
            if d.path in attributed and (_moves(d) or not attributed[d.path])
        }
        for d in found:
            if not d.derived:
                yield _change(self._zone, d, True, attributed[d.path])
            elif d.path not in moved and not self._accounted(d):
                yield _change(self._zone, d, True, False)

    def _accounted(self, found: Difference) -> bool:
        deeds, path = self._deeds, self._name(found.path)
        own, names = deeds.names(path, links=False), deeds.names(path)
        if own is None or names is None or not deeds.affords(names):
            return False
        # A link shares what is written, and keeps its own name: that goes by itself.
        removed = Deed.REMOVED in deeds.done(own)
        if found.change == "deleted":
            return removed or self._replaced(path, own) or self._elsewhere(path, own)
        done = deeds.done(names)
        # A new entry stands only where there was none, or where it was taken away.
        freed = found.change == "created" or removed or deeds.moved(own)
        return (freed and Deed.MADE in done) or self._came(found.path, names, done)

    def _elsewhere(self, path: str, names: frozenset[str]) -> bool:
        return any(self._at(self._after, name) for name in names - {path})

    def _replaced(self, path: str, names: frozenset[str]) -> bool:
        """Whether something was renamed to its name. At a name that it was renamed to
        itself, that must have happened once more."""
        over = self._deeds.over
        return over[path] > 0 or any(over[name] > 1 for name in names if name != path)

    def _came(self, path: bytes, names: frozenset[str], done: set[Deed]) -> bool:
        """Whether what stands there is an entry that was there before under one of these
        names, with no other differences than were done to it."""
        now = self._after.by_path[path]
        for name in names:
            was = self._at(self._before, name)
            if was and all(self._done(word, was, now, names, done) for word in aspects(was, now)):
                return True
        return False

    def _done(
        self, word: str, was: Entry, now: Entry, names: frozenset[str], done: set[Deed]
    ) -> bool:
        if not done.isdisjoint(_BY.get(word, ())):
            return True
        if word == "mtime" and now.kind == "dir":
            return not self._deeds.busy.isdisjoint(names)
        if word == "mode" and (was.mode ^ now.mode) & ~_SET_ID == 0:
            # Writing to a file, or giving it away, takes its set-id bits.
            return now.mode & _SET_ID == 0 and not done.isdisjoint({Deed.WRITTEN, Deed.OWNER})
        return False

    def _name(self, path: bytes) -> str:
        return f"/{self._zone}/{escape(path)}" if path else f"/{self._zone}"

    def _at(self, manifest: Manifest, name: str) -> Entry | None:
        """The entry that a path in the box names, if it is one of this zone."""
        zone, _, rest = name[1:].partition("/")
        try:
            return manifest.by_path.get(unescape(rest)) if zone == self._zone else None
        except ValueError:
            return None  # cut short in the ledger

    def _linked(self) -> Iterator[frozenset[str]]:
        """The names of each file that had several. What is linked afterwards is no evidence:
        the ledger must say so."""
        groups: dict[bytes, set[str]] = defaultdict(set)
        for entry in self._before.entries:
            if entry.nlink > 1:
                groups[entry.first or entry.path].add(self._name(entry.path))
        return (frozenset(names) for names in groups.values() if len(names) > 1)


def _moves(found: Difference) -> bool:
    return found.change != "modified" or not _REPLACED.isdisjoint(found.what)
