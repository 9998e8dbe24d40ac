"""What a caller says of a foreign table: where the fields stand and what their words mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rolewall._files import MAX_TEXT, load_yaml
from rolewall.errors import InputError
from rolewall.records.fields import FIELDS, NotAccepted
from rolewall.storage import read_capped

__all__ = ["RecordMapping", "read_mapping"]

Words = Mapping[str, Mapping[str, str]]
KEYS = ("map", "values", "const", "only", "trials_by_order")


@dataclass(frozen=True)
class RecordMapping:
    """How to read records that are not ours. What is not said is not guessed.

    Attributes:
        columns: field → column of a table, or key of a JSON object (``a.b`` reaches into
            an inner object); an empty column leaves the field out. A field that is not
            named here is read from the column of its own name, where there is one.
        values: field → their word → ours. Empty stands for an empty cell, or for not known.
        constants: field → its value in every record.
        only: field → value; other records are not taken.
        trials_by_order: records that repeat a task under a condition are its trials.

    Raises InputError for a field that there is not, one that is said in two ways, and a
    word that is none of the field's.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Words = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    only: Mapping[str, str] = field(default_factory=dict)
    trials_by_order: bool = False

    def __post_init__(self) -> None:
        _refuse_unknown(self)
        _refuse_two_ways(self)
        _refuse_words(self)

    def over(self, other: RecordMapping) -> RecordMapping:
        """This mapping where it says something, ``other`` elsewhere."""
        said = self.columns.keys() | self.constants.keys()
        if self.trials_by_order:
            said |= {"trial"}
        kept_columns = {k: v for k, v in other.columns.items() if k not in said}
        kept_constants = {k: v for k, v in other.constants.items() if k not in said}
        return RecordMapping(
            columns={**kept_columns, **self.columns},
            values={
                name: {**other.values.get(name, {}), **self.values.get(name, {})}
                for name in other.values.keys() | self.values.keys()
            },
            constants={**kept_constants, **self.constants},
            only={**other.only, **self.only},
            trials_by_order=self.trials_by_order or (other.trials_by_order and "trial" not in said),
        )


def read_mapping(
    path: Path | None = None,
    *,
    columns: Iterable[str] = (),
    values: Iterable[str] = (),
    constants: Iterable[str] = (),
    only: Iterable[str] = (),
    trials_by_order: bool = False,
) -> RecordMapping:
    """The mapping of a file and of options; an option stands above the file.

    Args:
        path: a YAML file with any of the keys map, values, const, only, trials_by_order.
        columns: texts ``FIELD=COLUMN``; ``constants`` and ``only``, ``FIELD=VALUE``.
        values: texts ``FIELD:THEIRS=OURS``; the last ``=`` parts the two words.

    Raises InputError with the option, or the key of the file, at fault.
    """
    said = RecordMapping(
        columns=_pairs(columns, "--map"),
        values=_words(values),
        constants=_pairs(constants, "--const"),
        only=_pairs(only, "--only"),
        trials_by_order=trials_by_order,
    )
    return said if path is None else said.over(_of_file(path))


def _pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    made: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign:
            raise InputError("no `=`", place=option, got=text, expected="FIELD=…")
        if name in made:
            raise InputError("said twice", place=f"{option} {text}", expected="each field once")
        made[name] = value
    return made


def _words(texts: Iterable[str]) -> dict[str, dict[str, str]]:
    made: dict[str, dict[str, str]] = {}
    for text in texts:
        name, colon, rest = text.partition(":")
        theirs, sign, ours = rest.rpartition("=")
        if not colon or not sign:
            raise InputError(
                "not of this form", place="--value", got=text, expected="FIELD:THEIRS=OURS"
            )
        words = made.setdefault(name, {})
        if theirs in words:
            raise InputError("said twice", place=f"--value {text}", expected="each word once")
        words[theirs] = ours
    return made


def _of_file(path: Path) -> RecordMapping:
    found = load_yaml(read_capped(path, MAX_TEXT), str(path))
    found = {} if found is None else found
    if not isinstance(found, dict):
        raise InputError(
            "not a mapping", place=str(path), expected=f"any of the keys {', '.join(KEYS)}"
        )
    for key in found:
        if key not in KEYS:
            raise InputError(
                "unknown key", place=str(path), got=key, expected=f"one of {', '.join(KEYS)}"
            )
    by_order = found.get("trials_by_order", False)
    if not isinstance(by_order, bool):
        raise InputError(
            "not a truth value",
            place=f"{path}: trials_by_order",
            got=by_order,
            expected="true or false",
        )
    values = _section(found, "values", path)
    return RecordMapping(
        columns=_texts(_section(found, "map", path), f"{path}: map"),
        values={
            name: _texts(_mapping(words, f"{path}: values.{name}"), f"{path}: values.{name}")
            for name, words in values.items()
        },
        constants=_texts(_section(found, "const", path), f"{path}: const"),
        only=_texts(_section(found, "only", path), f"{path}: only"),
        trials_by_order=by_order,
    )


def _section(found: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
    return _mapping(found.get(key, {}), f"{path}: {key}")


def _mapping(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError("not a mapping", place=place, got=value, expected="keys with values")
    return value


def _texts(values: Mapping[str, Any], place: str) -> dict[str, str]:
    for name, value in values.items():
        if not isinstance(value, str) and type(value) is not int:
            raise InputError(
                "neither text nor a whole number",
                place=f"{place}.{name}",
                got=value,
                expected="text; quote what YAML reads as something else",
            )
    return {name: str(value) for name, value in values.items()}


def _refuse_unknown(said: RecordMapping) -> None:
    for key, names in (
        ("map", said.columns),
        ("values", said.values),
        ("const", said.constants),
        ("only", said.only),
    ):
        for name in names:
            if name not in FIELDS:
                raise InputError(
                    "no such field",
                    place=f"mapping: {key}",
                    got=name,
                    expected=f"one of {', '.join(FIELDS)}",
                )


def _refuse_two_ways(said: RecordMapping) -> None:
    for name in said.constants:
        if name in said.columns:
            raise InputError(
                f"`{name}` has both a column and a constant",
                place="mapping",
                expected="one of the two",
            )
    if said.trials_by_order and (said.columns.get("trial") or "trial" in said.constants):
        raise InputError(
            "trials come both by their order and by a field",
            place="mapping",
            expected="one of the two",
        )


def _refuse_words(said: RecordMapping) -> None:
    """Refuse what a field would not take; empty is not known."""
    words = [("const", name, text) for name, text in said.constants.items()]
    words += [("only", name, text) for name, text in said.only.items()]
    words += [("values", n, ours) for n, known in said.values.items() for ours in known.values()]
    for key, name, text in words:
        try:
            if text:
                FIELDS[name](text)
        except NotAccepted as problem:
            raise InputError(
                f"not a value of `{name}`",
                place=f"mapping: {key}",
                got=text[:60],
                expected=problem.expected,
            ) from None
