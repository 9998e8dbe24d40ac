"""Options that say how another harness's records are to be read."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    from rolewall.records import RecordMapping

__all__ = ["mapping_of", "records_options", "without_collector"]

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS = (
    click.option(
        "--map",
        "columns",
        multiple=True,
        metavar="FIELD=COLUMN",
        help="Where a field of a record stands in a table, such as verdict=decision. Repeat.",
    ),
    click.option(
        "--value",
        "values",
        multiple=True,
        metavar="FIELD:THEIRS=OURS",
        help="What a word of theirs means, such as verdict:LGTM=approve. Repeat.",
    ),
    click.option(
        "--const",
        "constants",
        multiple=True,
        metavar="FIELD=VALUE",
        help="A field that is the same in all records, such as condition=solo. Repeat.",
    ),
    click.option(
        "--only",
        "only",
        multiple=True,
        metavar="FIELD=VALUE",
        help="Take the records where a field is that, such as model=m1. Repeat.",
    ),
    click.option(
        "--trials-by-order",
        is_flag=True,
        help="Repeated records of a task are its trials, in the order of the file.",
    ),
    click.option(
        "--mapping",
        "mapping_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A YAML file that says the same; options add to it.",
    ),
)
GIVEN = ("columns", "values", "constants", "only", "trials_by_order", "mapping_file")


def records_options(function: F) -> F:
    """Add the options to a command, which gets them as one keyword ``mapping``: a
    ``RecordMapping``, or None when none of them is given.

    Stands above ``click.pass_context``.
    """

    @functools.wraps(function)
    def taking(*args: Any, **given: Any) -> Any:
        asked = {name: given.pop(name) for name in GIVEN}
        return function(*args, mapping=mapping_of(asked), **given)

    for option in reversed(OPTIONS):
        taking = option(taking)
    return cast(F, taking)


def mapping_of(given: dict[str, Any]) -> RecordMapping | None:
    """What the options amount to. Raises InputError with the option at fault."""
    if not any(given[name] for name in GIVEN):
        return None
    from rolewall.records import read_mapping

    return read_mapping(
        given["mapping_file"],
        columns=given["columns"],
        values=given["values"],
        constants=given["constants"],
        only=given["only"],
        trials_by_order=given["trials_by_order"],
    )


@contextmanager
def without_collector() -> Iterator[None]:
    """Read and count without the collector, which would walk every row again and again: rows
    hold no cycles, and counting 100,000 of them takes twice as long with it."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
