"""What the allowed attempts of a phase can have done, entry by entry.

An entry may have had several names: by renames of it or of a directory above,
and by hard links. An attempt on any of them is an attempt on it, and on no
other entry.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, auto
from itertools import chain

from rolewall.policies import DELETED, SHORT, Attempt, Effect, Kind, Outcome, shorten

__all__ = ["Deed", "Deeds"]


class Deed(Enum):
    """What was done to the entry of a name. ``MADE`` is a new entry of any content."""

    MADE = auto()
    WRITTEN = auto()
    REMOVED = auto()
    LINKED = auto()
    MODE = auto()
    OWNER = auto()
    TIMES = auto()
    XATTR = auto()


_DEEDS: Mapping[Effect, tuple[Deed, ...]] = {
    Effect.CREATE: (Deed.MADE,),
    Effect.CREATE_WRITE: (Deed.MADE, Deed.WRITTEN),
    Effect.WRITE: (Deed.WRITTEN,),
    Effect.TRUNCATE: (Deed.WRITTEN,),
    Effect.UNLINK: (Deed.REMOVED, Deed.LINKED),
    Effect.MODE: (Deed.MODE,),
    Effect.OWNER: (Deed.OWNER,),
    Effect.TIMES: (Deed.TIMES,),
    Effect.XATTR: (Deed.XATTR,),
}
_NAMING = frozenset({Effect.CREATE, Effect.CREATE_WRITE, Effect.UNLINK, Effect.RENAME, Effect.LINK})
# Of all look-ups in one phase: a role can rename so that an entry has names without end, and
# link so that each of many has many. What is not followed to its end is accounted for by nothing.
_LOOKUPS = 500_000
_LOOKUPS_ENTRY = 64


class Deeds:
    """The edits that a phase's ledger says were allowed.

    Args:
        attempts: all of the phase; what was blocked, or measured to change nothing, did
            nothing.
        linked: the names of each file that had several before the phase.
        entries: how many entries will be asked for, which bounds the effort.
    """

    def __init__(
        self, attempts: Iterable[Attempt], linked: Iterable[frozenset[str]] = (), entries: int = 0
    ) -> None:
        self.busy: set[str] = set()  # directories in which a name came or went
        self.over: Counter[str] = Counter()  # names that something was renamed to
        self._done: dict[str, set[Deed]] = defaultdict(set)
        self._moved: dict[str, set[str]] = defaultdict(set)
        self._linked: dict[str, set[str]] = defaultdict(set)
        self._unnamed: set[str] = set()
        self._known: dict[tuple[str, bool], frozenset[str] | None] = {}
        self._left = _LOOKUPS + _LOOKUPS_ENTRY * entries
        for attempt in attempts:
            if attempt.outcome is Outcome.ALLOWED and attempt.kind is Kind.EDIT:
                self._add(attempt)
        for names in linked:
            hub = min(names)
            self._linked[hub] |= names
            for name in names:
                self._linked[name].add(hub)

    def _add(self, attempt: Attempt) -> None:
        effect, paths = attempt.effect, attempt.paths
        if effect in _NAMING:
            self.busy.update(p.rpartition("/")[0] for p in paths if len(p) < SHORT)
        if effect is Effect.CREATE_UNNAMED:
            self._unnamed.update(paths)
        if effect is Effect.RENAME and len(paths) == 2:
            self._rename(*paths, exchange="RENAME_EXCHANGE" in attempt.flags)
            if "RENAME_WHITEOUT" in attempt.flags:
                self._done[paths[0]].add(Deed.MADE)  # a device stands where the entry was
        elif effect is Effect.LINK and len(paths) == 2:
            self._link(*paths)
        else:
            for path in paths:
                for name in {path, path.removesuffix(DELETED)}:
                    self._done[name].update(_DEEDS.get(effect, ()))

    def _rename(self, source: str, target: str, *, exchange: bool) -> None:
        self._moved[source].add(target)
        self._moved[target].add(source)
        if not exchange:
            self.over[target] += 1
            self._done[target].add(Deed.LINKED)  # one name less for a file that stood there

    def _link(self, source: str, target: str) -> None:
        self._linked[source].add(target)
        self._linked[target].add(source)
        for path in (source, target):
            self._done[path].add(Deed.LINKED)
        folder, _, name = source.rpartition("/")
        if folder in self._unnamed and name.startswith("#"):  # an O_TMPFILE gets its name
            self._done[target].add(Deed.MADE)

    def affords(self, names: frozenset[str]) -> bool:
        """Whether there is effort left to look at each of ``names``."""
        self._left -= len(names)
        return self._left >= 0

    def names(self, path: str, *, links: bool = True) -> frozenset[str] | None:
        """All names that the entry at ``path`` may have had, this one too, by renames and
        ``links``; None where they are too many to follow."""
        key = (path, links)
        if key not in self._known:
            found = self._follow(path, links)
            for name in found or (path,):
                self._known[name, links] = found
        return self._known[key]

    def _follow(self, path: str, links: bool) -> frozenset[str] | None:
        found, todo = {path}, [path]
        while todo:
            name = todo.pop()
            linked = self._linked.get(shorten(name), ()) if links else ()
            for other in chain(linked, self._renamed(name)):
                if other not in found:
                    found.add(other)
                    todo.append(other)
            if self._left < 0:
                return None
        return frozenset(found)

    def _renamed(self, name: str) -> Iterator[str]:
        """The names that one rename leads to from ``name``."""
        end = len(name)
        while end > 0:
            self._left -= 1
            for other in self._moved.get(shorten(name[:end]), ()):
                yield other + name[end:]
            end = name.rfind("/", 0, end)

    def moved(self, names: Iterable[str]) -> bool:
        """Whether an entry of these names was renamed, or something to one of them."""
        return any(True for name in names for _ in self._renamed(name))

    def done(self, names: Iterable[str]) -> set[Deed]:
        """What was done to an entry of these names."""
        return {deed for name in names for deed in self._done.get(shorten(name), ())}
