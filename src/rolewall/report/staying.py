"""The second question: did roles stay in their place?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from rolewall.record import AttemptCounts, EpisodeRecord
from rolewall.report.groups import Group
from rolewall.report.ledgers import Crossings, Tried, read_crossings
from rolewall.report.model import Cell, Links, Plot, Section, Table
from rolewall.report.plots import Spot, spots_plot
from rolewall.rows import Row
from rolewall.rundir import Run
from rolewall.terminal import counted

__all__ = ["staying_section"]

PICTURES, COLUMNS = 4, 8
UNKNOWN = Cell("not stated")
# Counts of a role; of the first the episodes count, and not the calls.
BY_ROLE = (
    ("edit_attempted", "episodes with an attempt"),
    ("distinct_edits", "distinct edits"),
    ("edit_blocked", "calls blocked"),
    ("edit_allowed", "calls let through"),
    ("unattributed", "changes nobody was seen making"),
    ("privileged", "privileged calls"),
)


def staying_section(
    groups: Sequence[Group], run: Run | None, by_key: dict[str, Row], links: Links
) -> Section:
    """``by_key``: the rows of the run's episodes."""
    answers = [words for group in groups for words in _answer(group)]
    parts: list[Table | Plot] = []
    notes: list[str] = []
    if run is not None:
        crossings = read_crossings(run)
        parts += _pictures(crossings, run)
        notes += _unread(crossings)
    if any(group.graded for group in groups):
        parts.append(_table(groups, links))
    if run is not None and run.records:
        parts.append(_by_role(run, groups, by_key, links))
    elif any(group.rows for group in groups):
        notes.append("Records without a run directory: which role tried what is not known.")
    return Section("place", "Did roles stay in their place?", tuple(answers), tuple(parts),
                   tuple(notes))  # fmt: skip


def _answer(group: Group) -> Iterator[str]:
    known = [row for row in group.graded if row.attempts is not None]
    if not group.graded:
        return
    if not known:
        yield f"{group.name}: attempts are not stated in these records."
        return
    tried, landed = _some(known, _tried), _some(known, _landed)
    of = counted(len(known), "episode")
    if not tried and not landed:
        yield f"{group.name}: yes. No role tried to change the zone of another in {of}."
        return
    words = f"{group.name}: in {len(tried)} of {of} a role tried to change the zone of another"
    words += f"; in {len(landed)} it succeeded." if landed else "; nothing landed."
    if corrupt := _some(known, _corrupt):
        words += f" Of the passing work, {len(corrupt)} has such a change: a corrupt success."
    yield words


def _tried(row: Row) -> bool:
    return bool(row.attempts)


def _landed(row: Row) -> bool:
    return bool(row.landed)


def _corrupt(row: Row) -> bool:
    return bool(row.corrupt)


def _peeked(row: Row) -> bool:
    return bool(row.peeks)


def _some(rows: Sequence[Row], counts: Callable[[Row], bool]) -> list[Row]:
    return [row for row in rows if counts(row)]


def _table(groups: Sequence[Group], links: Links) -> Table:
    lines = [
        _episodes("a cross-role edit was attempted", groups, links, _tried, "attempts"),
        _episodes("a cross-role edit landed", groups, links, _landed, "landed"),
        _episodes("corrupt success: passes, with a landed edit", groups, links, _corrupt, "landed"),
        _episodes("the verifier repaired the work", groups, links, lambda r: bool(r.repaired),
                  "repaired"),
        _episodes("a role looked at what is hidden from it", groups, links, _peeked, "peeks"),
        _episodes("a verdict was made beside the work it judged, or without it", groups, links,
                  lambda r: r.isolated is False, "isolated"),
        _episodes("a phase failed", groups, links, lambda r: bool(r.failures), "failures"),
        _sums("distinct edits (program, target)", groups, links, "edits"),
        _sums("entries changed by another than their owner", groups, links, "landed"),
        ("trust class of the graders", tuple(_trust(g) for g in groups)),
    ]  # fmt: skip
    return Table(
        "Cross-role edits, in episodes without error", "episodes in which",
        tuple(g.name for g in groups), tuple(lines),
    )  # fmt: skip


def _episodes(
    words: str, groups: Sequence[Group], links: Links, counts: Callable[[Row], bool], known: str
) -> tuple[str, tuple[Cell, ...]]:
    """``known`` is the field without which an episode says nothing of it."""
    cells = []
    for group in groups:
        rows = [r for r in group.graded if getattr(r, known) is not None]
        found = _some(rows, counts)
        text = f"{len(found)}/{len(rows)}"
        cells.append(links.cell(text, f"{group.name}: {words}", found) if rows else UNKNOWN)
    return words, tuple(cells)


def _sums(
    words: str, groups: Sequence[Group], links: Links, name: str
) -> tuple[str, tuple[Cell, ...]]:
    cells = []
    for group in groups:
        known = [row for row in group.graded if getattr(row, name) is not None]
        found = [row for row in known if getattr(row, name)]
        text = str(sum(getattr(row, name) for row in known))
        cells.append(links.cell(text, f"{group.name}: {words}", found) if known else UNKNOWN)
    return words, tuple(cells)


def _trust(group: Group) -> Cell:
    found = sorted({row.trust for row in group.graded if row.trust})
    return Cell(", ".join(found)) if found else UNKNOWN


def _by_role(run: Run, groups: Sequence[Group], by_key: dict[str, Row], links: Links) -> Table:
    lines = []
    for group in groups:
        records = [r for r in run.records if r.condition == group.condition]
        for role in dict.fromkeys(name for record in records for name in record.attempts):
            lines.append((f"{group.name}: {role}", _role_cells(role, records, by_key, links)))
    return Table("Attempts by role, errors included", "condition: role",
                 tuple(words for _, words in BY_ROLE), tuple(lines))  # fmt: skip


def _role_cells(
    role: str, records: Sequence[EpisodeRecord], by_key: dict[str, Row], links: Links
) -> tuple[Cell, ...]:
    sums: Counter[str] = Counter()
    behind: dict[str, list[Row]] = defaultdict(list)
    for record in records:
        counts = record.attempts.get(role, AttemptCounts())
        for name, _ in BY_ROLE:
            if number := getattr(counts, name):
                sums[name] += 1 if name == "edit_attempted" else number
                behind[name].append(by_key[record.key])
    title = f"{records[0].condition}, {role}"
    return tuple(links.cell(str(sums[name]), f"{title}: {words}", behind[name])
                 for name, words in BY_ROLE)  # fmt: skip


def _pictures(crossings: Crossings, run: Run) -> Iterator[Plot]:
    for number, (condition, tried) in enumerate(list(crossings.tried.items())[:PICTURES], 1):
        records = [r for r in run.records if r.condition == condition]
        played = {(phase.index, phase.role) for record in records for phase in record.phases}
        played |= {(phase, role) for phase, role, _ in tried.episodes}
        columns = [f"{phase} {role}" for phase, role in sorted(played)[:COLUMNS]]
        spots = list(_spots(tried, columns, len(records)))
        columns += ["later"] * any(spot.column == "later" for spot in spots)
        title = f"Attempts by role and zone over the phases, {condition}"
        yield spots_plot(f"place{number}", title, columns, spots)


def _spots(tried: Tried, columns: Sequence[str], of: int) -> Iterator[Spot]:
    """Phases that are in no column are one column."""
    merged: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    for (phase, role, zone), keys in sorted(tried.episodes.items()):
        column = f"{phase} {role}" if f"{phase} {role}" in columns else "later"
        found = merged.setdefault((column, zone), (set(), set()))
        found[0].update(keys)
        found[1].update(tried.allowed.get((phase, role, zone), ()))
    for (column, zone), (keys, allowed) in merged.items():
        yield Spot(column, zone, len(keys), len(allowed), of)


def _unread(crossings: Crossings) -> Iterator[str]:
    if crossings.unread:
        yield (
            f"The pictures are of {crossings.read} ledgers; {crossings.unread} with attempts were"
            " not read: they are too long together, or gone."
        )
