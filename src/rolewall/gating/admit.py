"""Which rows may be weighed: one condition, one source, each episode once, nothing hidden."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rolewall.decision import Rules
from rolewall.errors import InputError
from rolewall.rows import Row, repeats
from rolewall.tally import errored
from rolewall.terminal import counted

__all__ = ["Side", "admit", "choose", "kept_apart"]

UNSTATED = "(not stated)"
CHANGED = {("solution", "fail"), ("mutant", "pass")}


@dataclass(frozen=True)
class Side:
    """The episodes of one condition, as the gate takes them.

    Attributes:
        rows: all of them; ``graded`` those that are weighed.
        errors: how many ended in error; ``apart``: reason → candidates of a calibration that
            are left out for it.
        absent: how many more were planned.
        versions: task → its version by content, empty where that is not known.
        refusal: why they may not be weighed, with the exit code.
    """

    condition: str
    rows: tuple[Row, ...]
    graded: tuple[Row, ...]
    errors: int = 0
    absent: int = 0
    apart: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    refusal: tuple[int, str] | None = None

    @property
    def failures(self) -> dict[str, int]:
        """Phases whose agent failed or was ended, by outcome."""
        return dict(sorted(Counter(word for row in self.rows for word in row.failures).items()))


def admit(
    rows: Sequence[Row], rules: Rules, condition: str | None, *, absent: int = 0, place: str = ""
) -> Side:
    """The rows of one condition, ``absent`` more having been planned.

    Raises InputError, at ``place``, when the rows hold several conditions and none is named,
    when they mix sources, when one is there twice, or when they have no verifier.
    """
    if condition is None and rows:
        condition = choose(sorted({r.condition for r in rows}), None)
    chosen = tuple(r for r in rows if r.condition == condition)
    for words in repeats(chosen):
        raise InputError(words, place=place or None, expected="each once")
    _need_a_verifier(chosen, place)
    versions = _one_source(chosen, place)
    counting = [r for r in chosen if not errored(r)]
    graded = tuple(r for r in counting if not kept_apart(r))
    errors = len(chosen) - len(counting)
    return Side(
        condition=condition or "(none)",
        rows=chosen,
        graded=graded,
        errors=errors,
        absent=absent,
        apart=dict(Counter(filter(None, map(kept_apart, counting)))),
        versions=versions,
        refusal=_refusal(graded, rules, errors, absent),
    )


def kept_apart(row: Row) -> str:
    """Why a candidate of a calibration is not weighed; empty where it is."""
    if row.kind == "untouched":
        return "the untouched workspace, which an empty diff gives away"
    if (row.kind, row.grade) in CHANGED:
        return "graded otherwise than when it was chosen"
    return ""


def choose(conditions: Sequence[str], asked: str | None, place: str = "--condition") -> str:
    """The condition to decide on. Raises InputError unless it is there, and alone or named."""
    if asked is None and len(conditions) == 1:
        return conditions[0]
    if asked is None or asked not in conditions:
        raise InputError(
            "the gate decides on one condition at a time" if asked is None else "no such condition",
            place=place,
            got=asked,
            expected=f"one of {', '.join(conditions)}"
            if conditions
            else "records, and none is there",
        )
    return asked


def _need_a_verifier(rows: Sequence[Row], place: str) -> None:
    without = sum(not row.verified for row in rows)
    if without:
        raise InputError(
            "there is no verifier to decide on",
            place=place or None,
            got=f"{rows[0].condition}: {without} of {counted(len(rows), 'episode')} without one",
            expected="a condition with a verifier",
        )


def _one_source(rows: Sequence[Row], place: str) -> dict[str, str]:
    """Refuse to pool what was not made in one way; the version of each task."""
    sources = {row.source for row in rows}
    for what, values in (
        ("teams", {f"{s.team} {s.team_digest[:12]}".strip() for s in sources}),
        ("verifiers", {s.verifier for s in sources}),
        ("models", {s.model for s in sources}),
        ("backends", {s.backend for s in sources}),
        ("verifiers", {s.verifier for s in sources}),
        ("models", {s.model for s in sources}),
        ("versions of rolewall's code", {s.code[:16] for s in sources}),
        ("kinds of work", {_kind(row) for row in rows}),
    ):
        if len(values) > 1:
            raise InputError(
                f"the records come from several {what}",
                place=place or None,
                got=", ".join(sorted(value or UNSTATED for value in values)),
                expected="one source at a time",
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


def _refusal(
    graded: Sequence[Row], rules: Rules, errors: int, absent: int
) -> tuple[int, str] | None:
    """Why these records may not be weighed at all, with the exit code."""
    if errors > rules.max_errors:
        return 3, (
            f"{counted(errors, 'episode')} ended in error and at most {rules.max_errors} may;"
            " an error says nothing about the verifier, and nothing may gain by causing one"
        )
    if not graded:
        return None
    if absent and not rules.allow_partial:
        return 4, (
            f"the run is incomplete: {counted(absent, 'planned episode')} without a record;"
            " run it again to resume, or pass --allow-partial"
        )
    untrusted = sum(r.trust == "untrusted" for r in graded)
    if untrusted:
        return 4, (
            f"{untrusted} of {len(graded)} episodes were graded by an untrusted grader,"
            " which runs code that roles could write; such grades are never gated"
        )
    return _beside_the_work(graded) if rules.require_isolated else None


def _beside_the_work(graded: Sequence[Row]) -> tuple[int, str] | None:
    shared = sum(r.isolated is False for r in graded)
    unknown = sum(r.isolated is None for r in graded)
    if shared:
        return 4, (
            f"in {shared} of {len(graded)} episodes the verdict was not isolated from the work"
            " it judged, and --require-isolated is given"
        )
    if unknown:
        return 4, (
            f"in {unknown} of {len(graded)} episodes it is not stated whether the verdict was"
            " isolated from the work it judged, and --require-isolated is given"
        )
    return None
