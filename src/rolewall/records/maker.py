"""From the texts of one record to its row, with every refusal at its place."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from rolewall._validate import shorten
from rolewall.errors import RecordError
from rolewall.policies import HAS_VERIFIER
from rolewall.records.fields import FIELDS, NAMES, REQUIRED, NotAccepted
from rolewall.records.mapping import RecordMapping
from rolewall.rows import Row, Source, alike

__all__ = ["UNSTATED", "RowMaker", "Slots"]

UNSTATED = "unstated"
"""The condition of records that name none."""

REMEMBERED = 4096  # texts of one field whose meaning is kept
HINTED = 60  # characters of a word that a hint repeats
OTHERWISE = (
    "a condition of theirs that has one needs a name of its own: --value condition:THEIRS=OURS"
)
WITHOUT = f"--map verified= leaves that field out; {OTHERWISE}"
_UNSEEN = object()

Slots = tuple[tuple[str, dict[str, Any]], ...]


class RowMaker:
    """Makes the rows of one table, of which ``fields`` are read.

    Rows that ``mapping.only`` leaves out are counted in ``passed_over``.
    """

    def __init__(self, mapping: RecordMapping, fields: Sequence[str], place: str) -> None:
        self.place = place
        self.rows: list[Row] = []
        self.passed_over = 0
        self._mapping = mapping
        self._meanings: dict[str, dict[str, Any]] = {name: {} for name in fields}
        self._fixed = {name: FIELDS[name](text) for name, text in mapping.constants.items() if text}
        self._by_order = mapping.trials_by_order
        self._has_trial = "trial" in fields or "trial" in mapping.constants
        self._has_condition = "condition" in fields or "condition" in mapping.constants
        self._only = {name: FIELDS[name](text) if text else None
                      for name, text in mapping.only.items()}  # fmt: skip
        self._others: dict[str, set[object]] = {name: set() for name in mapping.only}
        self._has_verifier: dict[str, bool] = {}
        self._spelt: dict[str, dict[str, str]] = {name: {} for name in NAMES}
        self._sources: dict[tuple[str, ...], tuple[Source, int]] = {}
        self._lines: dict[tuple[str, str, int, int], int] = {}
        self._order: Counter[tuple[str, str, int]] = Counter()

    def slots(self, fields: Iterable[str]) -> Slots:
        """What ``add`` is to know of the fields whose texts it gets."""
        return tuple((name, self._meanings[name]) for name in fields)

    def add(self, slots: Slots, texts: Iterable[str], line: int) -> None:
        """Take one record, a text for each of ``slots``. Raises RecordError."""
        values = self._fixed.copy()
        for (name, meanings), text in zip(slots, texts, strict=True):
            value = meanings.get(text, _UNSEEN)
            if value is _UNSEEN:
                value = self._parse(name, text, line)
                if len(meanings) < REMEMBERED:
                    meanings[text] = value
            if value is not None:
                values[name] = value
        if self._only and not self._wanted(values):
            self.passed_over += 1
            return
        self.rows.append(self._row(values, line))

    def finish(self) -> None:
        """Refuse a choice by ``only`` that left nothing of something."""
        if self.rows or not self.passed_over:
            return
        for name, wanted in self._only.items():
            if wanted not in self._others[name]:
                there = sorted(str(value) for value in self._others[name] if value is not None)
                raise RecordError(
                    f"no record has this `{name}`",
                    place=self.place,
                    got=wanted,
                    expected=", ".join(map(shorten, there[:10])) or None,
                )

    def refuse(self, message: str, line: int, **more: Any) -> NoReturn:
        raise RecordError(message, place=f"{self.place}:{line}", **more) from None

    def _parse(self, name: str, text: str, line: int) -> Any:
        """What a text means; None, where it is empty, is not known."""
        ours = self._mapping.values.get(name, {}).get(text, text)
        if not ours:
            return None
        try:
            value = FIELDS[name](ours)
        except NotAccepted as problem:
            hint = None
            if problem.words:
                said = shlex.quote(f"{name}:{text}=WORD")
                hint = f"say what it means: --value {said}" if len(text) <= HINTED else None
            self.refuse(f"not a value of `{name}`", line, got=shorten(text),
                        expected=problem.expected, hint=hint)  # fmt: skip
        if name in self._spelt:
            self._refuse_spelling(name, value, line)
        return value

    def _refuse_spelling(self, name: str, value: str, line: int) -> None:
        """One task under two names would count as two, and weigh more than it is worth."""
        first = self._spelt[name].setdefault(alike(value), value)
        if first != value:
            self.refuse(
                f"two spellings of one `{name}`, {shorten(first)!a} and"
                f" {shorten(value)!a}: they differ in case, spaces or what is not shown",
                line,
                expected="one spelling of each",
                hint=f"--value {name}:THEIRS=OURS gives one of them the name it should have",
            )

    def _wanted(self, values: Mapping[str, Any]) -> bool:
        wanted = True
        for name, value in self._only.items():
            found = values.get(name)
            if len(self._others[name]) < REMEMBERED:
                self._others[name].add(found)
            wanted &= found == value
        return wanted

    def _row(self, values: dict[str, Any], line: int) -> Row:
        verified = self._verified(values, line)
        if values.get("error") or not verified:
            # What an error ended, or nobody judged, has no verdict to give.
            values.setdefault("verdict", "missing")
        if values.get("error"):
            values.setdefault("grade", "error")
        if not verified and values.get("verdict") != "missing":
            self.refuse(
                "a verdict, and no verifier by `verified` or `condition`",
                line,
                got=values["verdict"],
                hint=WITHOUT,
            )
        for name in REQUIRED:
            if name not in values:
                self._refuse_empty(name, line)
        source, index = self._source(values)
        self._place(values, index, line)
        return Row(**values, source=source, verified=verified)

    def _verified(self, values: dict[str, Any], line: int) -> bool:
        """Whether there was a verifier, which a condition of ours settles by its name."""
        said = values.pop("verified", None)
        condition = values.get("condition", UNSTATED)
        has = self._has_verifier.get(condition)
        if has is None:
            has = HAS_VERIFIER.get(alike(condition).replace("_", "-"), True)
            self._has_verifier[condition] = has
        if said and not has:
            self.refuse("a verifier by `verified`, and none by `condition`", line,
                        got=shorten(condition), hint=OTHERWISE)  # fmt: skip
        return has if said is None else bool(said)

    def _source(self, values: dict[str, Any]) -> tuple[Source, int]:
        """Who made the record, and which of the table's sources that is."""
        take = values.pop
        made = (take("team", ""), take("backend", ""), take("verifier", ""), take("model", ""))
        known = self._sources.get(made)
        if known is None:
            source = Source(team=made[0], backend=made[1], verifier=made[2], model=made[3])
            known = self._sources[made] = (source, len(self._sources))
        return known

    def _place(self, values: dict[str, Any], source: int, line: int) -> None:
        """Complete the condition and the trial, and refuse a second record of one episode."""
        if "condition" not in values:
            if self._has_condition:
                self._refuse_empty("condition", line)
            values["condition"] = UNSTATED
        kind = (values["task"], values["condition"], source)
        if self._by_order:
            values["trial"] = self._order[kind]
            self._order[kind] += 1
            return
        if "trial" not in values:
            if self._has_trial:
                self._refuse_empty("trial", line)
            values["trial"] = 0
        first = self._lines.setdefault((*kind, values["trial"]), line)
        if first != line:
            self._refuse_repeat(values, first, line)

    def _refuse_empty(self, name: str, line: int) -> NoReturn:
        word = {"verdict": "missing", "grade": "error"}.get(name)
        hint = f"if empty means {word}, say --value {name}:={word}" if word else None
        self.refuse(f"no `{name}`", line, expected="one in every record", hint=hint)

    def _refuse_repeat(self, values: Mapping[str, Any], first: int, line: int) -> NoReturn:
        said = f"task {shorten(values['task'])}, condition {shorten(values['condition'])}"
        hint = "trials of a task: name their column, --map trial=COLUMN, or --trials-by-order"
        if self._has_trial:
            said, hint = f"{said}, trial {values['trial']}", ""
        self.refuse(
            "two records of one episode",
            line,
            got=said,
            expected=f"one; the other is in line {first}",
            hint=hint,
        )
