"""That records were made in one way: what was not is never taken together."""

from __future__ import annotations

from collections.abc import Sequence

from rolewall.errors import InputError
from rolewall.records.choice import named
from rolewall.rows import Row

__all__ = ["one_source"]

UNSTATED = "(not stated)"
CHOOSE = "choose one by --only {}=NAME, or write a file of each"


def one_source(rows: Sequence[Row], place: str = "") -> dict[str, str]:
    """The version of each task, by content, in rows that were made in one way.

    Raises InputError, at ``place``, where they come from several teams, verifiers, models,
    backends or versions of the code, where some judged frozen candidates and others did not,
    and where a task is there in two versions or with two images.
    """
    sources = {row.source for row in rows}
    for what, field, values in (
        ("teams", "team", {f"{s.team} {s.team_digest[:12]}".strip() for s in sources}),
        ("verifiers", "verifier", {s.verifier for s in sources}),
        ("models", "model", {s.model for s in sources}),
        ("backends", "", {s.backend for s in sources}),
        ("versions of rolewall's code", "", {s.code[:16] for s in sources}),
        ("kinds of work", "", {_kind(row) for row in rows}),
    ):
        if len(values) > 1:
            raise InputError(
                f"the records come from several {what}",
                place=place or None,
                got=named(sorted(value or UNSTATED for value in values)),
                expected="one source at a time",
                hint=CHOOSE.format(field) if field else None,
            )
    # A task may bring an image of its own, so images are compared within a task.
    seen: dict[str, tuple[str, str]] = {}
    for row in rows:
        version = (row.version, row.image)
        if seen.setdefault(row.task, version) != version:
            raise InputError(
                "the records hold two versions of a task, or two images for it",
                place=place or None,
                got=row.task,
                expected="one source at a time",
            )
    return {task: version for task, (version, _) in seen.items()}


def _kind(row: Row) -> str:
    return "frozen candidates" if row.candidate else "work as teams left it"
