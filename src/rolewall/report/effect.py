"""The third question: what did enforcement change?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from rolewall.compare import Contrast, compare
from rolewall.comparing.outcomes import READINGS, Event
from rolewall.comparing.words import p_words
from rolewall.errors import InputError, RolewallError
from rolewall.paired import LEAST_P
from rolewall.pairing import Pair, pair_up
from rolewall.report.groups import Group
from rolewall.report.model import Cell, Links, Plot, Section, Table
from rolewall.report.plots import Flip, flips_plot
from rolewall.rows import Row, Source
from rolewall.terminal import counted

__all__ = ["effect_section", "flipped"]

WITHOUT_WALL = "prompt-only"
PICTURES, LINES = 3, 15
NOTES = 12


def effect_section(groups: Sequence[Group], links: Links) -> Section:
    answers: list[str] = []
    parts: list[Table | Plot] = []
    for contrast, pairs in _contrasts(groups, answers):
        answers += _answer(contrast)
        tasks = list(_by_task(pairs))
        if tasks and sum(isinstance(p, Plot) for p in parts) < PICTURES:
            parts.append(_picture(f"flips{len(parts)}", contrast, tasks))
        parts += [_flips(contrast, pairs, links), _table(contrast, pairs, links)]
    if not answers:
        answers.append(_alone(groups))
    return Section("effect", "What did enforcement change?", tuple(answers), tuple(parts))


def flipped(groups: Sequence[Group]) -> dict[int, str]:
    """id of each row whose pass differs from its partner's → in words."""
    found: dict[int, str] = {}
    for _, first, second in _comparable(groups):
        for one, other in _paired(first, second)[0]:
            if (one.grade == "pass") != (other.grade == "pass"):
                under = one.condition if one.grade == "pass" else other.condition
                for row in (one, other):
                    found[id(row)] = f"passes under {under} only"
    return found


def _paired(first: Group, second: Group) -> tuple[Sequence[Pair], str]:
    """The pairs, and why there may be none."""
    try:
        pairs, left = pair_up([*first.rows, *second.rows], first.condition, second.condition)
    except InputError as error:
        return (), str(error)
    return pairs, left[0].reason if left else "there are no episodes"


def _comparable(groups: Sequence[Group]) -> Iterator[tuple[Source, Group, Group]]:
    """Of each source, every further condition beside the first; frozen candidates apart."""
    by_source: dict[Source, list[Group]] = defaultdict(list)
    for group in groups:
        if not group.calibration and group.rows:
            by_source[group.source].append(group)
    for source, found in by_source.items():
        found.sort(key=lambda g: g.condition != WITHOUT_WALL)
        for other in found[1:]:
            yield source, found[0], other


def _contrasts(
    groups: Sequence[Group], answers: list[str]
) -> Iterator[tuple[Contrast, Sequence[Pair]]]:
    """One family of tests a source; ``answers`` gets what cannot be compared, and why."""
    by_source: dict[Source, list[tuple[Group, Group]]] = defaultdict(list)
    for source, first, second in _comparable(groups):
        by_source[source].append((first, second))
    for found in by_source.values():
        first = found[0][0]
        able: dict[str, Sequence[Pair]] = {}
        rows: list[Row] = list(first.rows)
        for _, second in found:
            pairs, why = _paired(first, second)
            if pairs:
                able[second.condition] = pairs
                rows += second.rows
            else:
                answers.append(f"No episode pairs {second.name} with {first.name}: {why}.")
        if able:
            try:
                done = compare(rows, [first.condition, *able])
            except RolewallError as error:
                answers.append(f"No comparison: {error}.")
                continue
            yield from ((c, able[c.second]) for c in done.contrasts)


def _alone(groups: Sequence[Group]) -> str:
    names = [g.condition for g in groups if g.rows]
    if not names:
        return "There are no episodes to compare."
    if all(g.calibration for g in groups if g.rows):
        return "Nothing: a calibration shows frozen candidates, under one policy."
    return (
        f"Not known: all episodes were run under {names[0]}. `rolewall compare` runs the same"
        " tasks with and without the wall, paired."
    )


def _answer(contrast: Contrast) -> Iterator[str]:
    pairs = counted(contrast.pairs, "pair")
    yield f"{contrast.second} against {contrast.first}, over {pairs}:"
    for o in contrast.outcomes:
        low, high = 100 * o.interval.low, 100 * o.interval.high
        yield (
            f"{o.name}: {o.first_events} → {o.second_events} of {o.pairs},"
            f" {100 * o.difference:+.1f} points [{low:+.1f}, {high:+.1f}]:"
            f" {o.finding}, p {p_words(o.p_holm, 10 * LEAST_P)} after Holm."
        )


def _table(contrast: Contrast, pairs: Sequence[Pair], links: Links) -> Table:
    """The comparison's own table, an outcome a column: a line a measure fits a phone."""
    sheet = contrast.sheet()
    notes = sheet.notes[:NOTES]
    if more := len(sheet.notes) - len(notes):
        notes = (*notes, f"further notes, by `rolewall compare --json`: {more}")
    behind = {event.name: _sides(event, pairs) for event in READINGS}
    title = f"{contrast.second} against {contrast.first}"
    rows: dict[str, list[Cell]] = {measure: [] for measure in sheet.columns[1:]}
    for line in sheet.rows:
        sides = behind.get(line[0], ((), (), (), ()))
        named = (contrast.first, contrast.second, "first only", "second only")
        found = dict(zip(named, sides, strict=True))
        for measure, text in zip(sheet.columns[1:], line[1:], strict=True):
            words = f"{title}: {line[0]}, {measure}"
            rows[measure].append(links.cell(text, words, list(found.get(measure, ()))))
    alone = {"first only": f"{contrast.first} only", "second only": f"{contrast.second} only"}
    return Table(
        sheet.title, sheet.columns[0], tuple(line[0] for line in sheet.rows),
        tuple((alone.get(measure, measure), tuple(cells)) for measure, cells in rows.items()),
        notes,
    )  # fmt: skip


def _sides(event: Event, pairs: Sequence[Pair]) -> tuple[Sequence[Row], ...]:
    """The rows that have the event: of the first, of the second, of one alone."""
    known = [(a, b, event.value(a), event.value(b)) for a, b in pairs]
    known = [found for found in known if None not in found[2:]]
    return (
        [a for a, _, first, _ in known if first],
        [b for _, b, _, second in known if second],
        [a for a, _, first, second in known if first and not second],
        [b for _, b, first, second in known if second and not first],
    )


def _flips(contrast: Contrast, pairs: Sequence[Pair], links: Links) -> Table:
    """Pass under both, one, none."""
    boxes: dict[str, list[Row]] = {
        "both": [], f"{contrast.first} only": [], f"{contrast.second} only": [], "neither": [],
    }  # fmt: skip
    names = list(boxes)
    for one, other in pairs:
        a, b = one.grade == "pass", other.grade == "pass"
        boxes[names[0 if a and b else 1 if a else 2 if b else 3]] += [one, other]
    title = f"{contrast.second} against {contrast.first}: passes under"
    cells = tuple(links.cell(str(len(rows) // 2), f"{title} {name}", rows)
                  for name, rows in boxes.items())  # fmt: skip
    return Table(f"Pairs that pass: {contrast.second} against {contrast.first}", "",
                 tuple(names), (("pairs", cells),))  # fmt: skip


def _by_task(pairs: Sequence[Pair]) -> Iterator[Flip]:
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one, other in pairs:
        found[one.task][0] += one.grade == "pass" and other.grade != "pass"
        found[one.task][1] += other.grade == "pass" and one.grade != "pass"
    for task, (first, second) in sorted(found.items(), key=lambda item: (-sum(item[1]), item[0])):
        if first or second:
            yield Flip(task, first, second)


def _picture(name: str, contrast: Contrast, tasks: Sequence[Flip]) -> Plot:
    return flips_plot(name, contrast.first, contrast.second, tasks[:LINES], len(tasks) - LINES)
