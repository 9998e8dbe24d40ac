"""What a caller says of a foreign table: where the fields stand and what their words mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from rolewall._files import MAX_TEXT, load_yaml
from rolewall._validate import Strict, validate
from rolewall.errors import InputError
from rolewall.records.fields import FIELDS, OUTCOMES, NotAccepted
from rolewall.storage import read_capped

__all__ = ["MappingModel", "RecordMapping", "read_mapping"]

Words = Mapping[str, Mapping[str, str]]
WORDED = ("verdict", "grade", "trust", "isolated", "verified")


def _text(said: object) -> object:
    if not isinstance(said, str) and type(said) is not int:
        raise ValueError("neither text nor a whole number: quote what YAML reads as another thing")
    return str(said)


Text = Annotated[str, BeforeValidator(_text)]
Texts = Mapping[str, Text]


class MappingModel(Strict):
    """The keys of a mapping file; ``docs/records.md`` says what they mean."""

    map: Texts = Field(default_factory=dict)
    values: Mapping[str, Texts] = Field(default_factory=dict)
    const: Texts = Field(default_factory=dict)
    only: Texts = Field(default_factory=dict)
    trials_by_order: bool = False


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

    Raises InputError for a field that there is not, one that is said in two ways, a word
    that is none of the field's, a choice by what came of an episode, and a word of ours that
    is to mean another.
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
        _refuse_choosing(self)

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
    place = str(path)
    data = load_yaml(read_capped(path, MAX_TEXT), place)
    said = validate(MappingModel, {} if data is None else data, place)
    try:
        return RecordMapping(said.map, said.values, said.const, said.only, said.trials_by_order)
    except InputError as error:
        at = (error.place or "").removeprefix("mapping").removeprefix(": ")
        raise InputError(error.message, place=f"{place}: {at}" if at else place, got=error.got,
                         expected=error.expected) from None  # fmt: skip


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


def _refuse_choosing(said: RecordMapping) -> None:
    """Refuse what would choose the evidence by what it says."""
    for name in said.only:
        if name in OUTCOMES:
            raise InputError(
                "records are not chosen by what came of them",
                place="mapping: only",
                got=name,
                expected=f"none of {', '.join(OUTCOMES)}",
            )
    for name in WORDED:
        for theirs, ours in said.values.get(name, {}).items():
            if theirs != ours and _is_word(name, theirs):
                raise InputError(
                    f"a word of `{name}` that is to mean another",
                    place="mapping: values",
                    got=f"{theirs}={ours}",
                    expected=f"`{theirs}` to stay what it is",
                )


def _is_word(name: str, text: str) -> bool:
    try:
        FIELDS[name](text)
    except NotAccepted:
        return False
    return True
