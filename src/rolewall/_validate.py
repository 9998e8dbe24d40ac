"""Turning pydantic's findings into the one message that a user reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from rolewall._beneath import shown
from rolewall.errors import InputError

__all__ = ["Hidden", "Strict", "Version1", "describe_validation_error", "shorten", "validate"]

_SHOWN = 120
_FURTHER = 5
_PREFIX = ("Value error, ", "Assertion failed, ", "Input should be ")
_Model = TypeVar("_Model", bound=BaseModel)


class Hidden(ValueError):
    """What is wrong with a value that may be a secret: the message does not show the value."""


class Strict(BaseModel):
    """The base of every typed file: unknown keys refused, no type guessed, unchangeable."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def _integer(value: object) -> object:
    if type(value) is not int:  # True and 1.0 are equal to 1
        raise ValueError("not the number 1")
    return value


Version1 = Annotated[Literal[1], BeforeValidator(_integer)]
"""The ``schema_version`` of every file so far."""


def validate(
    model: type[_Model], data: object, place: str, error: type[InputError] = InputError
) -> _Model:
    """``data`` as ``model``, or one ``error`` that names the place."""
    if not isinstance(data, Mapping):
        got = "nothing" if data is None else shorten(data)
        raise error("not a mapping", place=place, got=got, expected="a mapping of keys to values")
    try:
        return model.model_validate(data)
    except ValidationError as problem:
        raise describe_validation_error(problem, place, error=error, model=model) from None


def describe_validation_error(
    problem: ValidationError,
    place: str,
    *,
    error: type[InputError] = InputError,
    model: type[BaseModel] | None = None,
) -> InputError:
    """The first finding in full, with place ``file: a.b[0].c``; the others by place."""
    findings = problem.errors(include_url=False)
    first = findings[0]
    message, got, expected = _explain(first, model)
    others = [path(tuple(item["loc"])) or "the file" for item in findings[1 : _FURTHER + 1]]
    hint = f"also wrong: {', '.join(others)}" if others else None
    if len(findings) > _FURTHER + 1:
        hint = f"{hint} and {len(findings) - 1 - _FURTHER} more"
    at = path(tuple(first["loc"]))
    where = f"{place}: {at}" if at else place
    return error(message, place=where, got=got, expected=expected, hint=hint)


def path(location: tuple[int | str, ...]) -> str:
    """``("a", "b", 0, "c")`` as ``a.b[0].c``."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = shown(shorten(part))
            text += f".{name}" if text else name
    return text


def shorten(value: object) -> str:
    """A value as it may stand in a message, at most 120 characters."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, Mapping | list | tuple | set):
        noun = "mapping" if isinstance(value, Mapping) else "list"
        text = f"a {noun} of {len(value)}"
    else:
        text = str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _explain(item: Any, model: type[BaseModel] | None) -> tuple[str, object, str | None]:
    kind = item["type"]
    location = tuple(item["loc"])
    if kind == "extra_forbidden":
        known = _known_keys(model, location[:-1]) if model else ()
        return "unknown key", str(location[-1]), f"one of {', '.join(known)}" if known else None
    if kind == "missing":
        return "missing", None, "a value"
    if kind in ("model_type", "dict_type"):
        return "not acceptable", shorten(item["input"]), "a mapping of keys to values"
    text = item["msg"]
    plain = isinstance(item["input"], bool | int | float)
    got: object = item["input"] if plain else shorten(item["input"])
    if isinstance(item["input"], Mapping):
        got = None  # a finding about the whole: its size would tell nothing
    if isinstance(item.get("ctx", {}).get("error"), Hidden):
        got = None
    for prefix in _PREFIX:
        if text.startswith(prefix):
            text = text.removeprefix(prefix)
            if prefix.startswith("Input"):
                return "not acceptable", got, text
    return text[:1].lower() + text[1:], got, None


def _known_keys(model: type[BaseModel], location: tuple[int | str, ...]) -> tuple[str, ...]:
    found: Any = model
    for part in location:
        found = _step(found, part)
    found = _bare(found)
    if isinstance(found, type) and issubclass(found, BaseModel):
        return tuple(field.alias or name for name, field in found.model_fields.items())
    return ()


def _step(annotation: Any, part: int | str) -> Any:
    annotation = _bare(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            if part in (name, field.alias):
                return field.annotation
        return None
    arguments = get_args(annotation)
    if not arguments:
        return None
    return arguments[0] if isinstance(part, int) else arguments[-1]


def _bare(annotation: Any) -> Any:
    """Without ``Annotated`` and ``| None``."""
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif origin in (Union, UnionType):
            rest = [a for a in get_args(annotation) if a is not type(None)]
            if len(rest) != 1:
                return annotation
            annotation = rest[0]
        else:
            return annotation
