"""Which rows may be weighed: one condition, one source, each episode once, nothing hidden."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rolewall.errors import InputError
from rolewall.frozen import kept_apart, unpaired
from rolewall.gaterules import Rules
from rolewall.rows import Row, repeats
from rolewall.sources import one_source
from rolewall.tally import errored
from rolewall.terminal import counted, listed

__all__ = ["Side", "admit", "choose"]

NAMED = 5


@dataclass(frozen=True)
class Side:
    """The episodes of one condition, as the gate takes them.

    Attributes:
        rows: all of them; ``graded`` those that are weighed.
        errors: how many ended in error; ``apart``: reason → candidates of a calibration that
            are left out for it.
        absent: how many more were planned, or twins of candidates that are not there.
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
    def failures(self) -> dict[str, int] | None:
        """Phases whose agent failed or was ended, by outcome; None where no row states it."""
        known = [row.failures for row in self.rows if row.failures is not None]
        if self.rows and not known:
            return None
        return dict(sorted(Counter(word for words in known for word in words).items()))

    @property
    def repaired(self) -> int | None:
        """Of ``graded``, those whose verifier repaired the work; None where no row states it."""
        known = [row.repaired for row in self.graded if row.repaired is not None]
        return sum(known) if known or not self.graded else None


def admit(
    rows: Sequence[Row], rules: Rules, condition: str | None, *, absent: int = 0, place: str = ""
) -> Side:
    """The rows of one condition, ``absent`` more having been planned.

    Raises InputError, at ``place``, when the rows hold several conditions and none is named,
    when they mix sources, when one is there twice, when they have no verifier, or when
    candidates are no pairs.
    """
    if condition is None and rows:
        condition = choose(sorted({r.condition for r in rows}), None)
    chosen = tuple(r for r in rows if r.condition == condition)
    for words in repeats(chosen):
        raise InputError(words, place=place or None, expected="each once")
    _need_a_verifier(chosen, place)
    versions = one_source(chosen, place)
    alone, wrong = unpaired(chosen)
    if wrong:
        raise InputError("not a failing candidate and its twin", place=place or None, got=wrong)
    absent = max(absent, alone)
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
        refusal=_too_many(rules, errors, sum(row.unanswered for row in counting))
        or _refusal(graded, rules, absent)
        or _unsound(counting),
    )


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


def _too_many(rules: Rules, errors: int, unanswered: int) -> tuple[int, str] | None:
    """Why there are too many errors. An agent can bring a model's endpoint to refuse it, and
    so get another try: a try that ended so is an error that stays."""
    if errors > rules.max_errors:
        return 3, (
            f"{counted(errors, 'episode')} ended in error and at most {rules.max_errors} may;"
            " an error says nothing about the verifier, and nothing may gain by causing one"
        )
    if errors + unanswered > rules.max_errors:
        return 3, (
            f"{counted(unanswered, 'earlier try', 'earlier tries')} of these episodes ended since a"
            f" model's endpoint gave no answer, and at most {rules.max_errors} errors may be;"
            " an agent can cause that, and nothing may gain by it (--max-errors)"
        )
    return None


def _refusal(graded: Sequence[Row], rules: Rules, absent: int) -> tuple[int, str] | None:
    """Why these records may not be weighed at all, with the exit code."""
    if not graded:
        return None
    total = counted(len(graded), "episode")
    if replayed := sum(row.replayed for row in graded):
        return 4, (
            f"in {replayed} of {total} a recording answered in place of models or agents:"
            " a replay repeats evidence and is none of its own"
        )
    if absent and not rules.allow_partial:
        return 4, (
            f"the run is incomplete: {counted(absent, 'planned episode')} without a record;"
            " run it again to resume, or pass --allow-partial"
        )
    untrusted = sum(r.trust == "untrusted" for r in graded)
    if untrusted:
        return 4, (
            f"the grader of {untrusted} of {total} is untrusted,"
            " as it runs code that roles could write; such grades are never gated"
        )
    return _beside_the_work(graded) if rules.require_isolated else None


def _unsound(counting: Sequence[Row]) -> tuple[int, str] | None:
    passed = sorted({r.task for r in counting if (r.kind, r.grade) == ("untouched", "pass")})
    if not passed:
        return None
    return 4, (
        f"the untouched workspace of {listed(passed, NAMED)} passed, which was shown because it"
        " fails: what its grader says of the other candidates is no truth either"
    )


def _beside_the_work(graded: Sequence[Row]) -> tuple[int, str] | None:
    shared = sum(r.isolated is False for r in graded)
    unknown = sum(r.isolated is None for r in graded)
    total = counted(len(graded), "episode")
    if shared:
        return 4, (
            f"in {shared} of {total} the verdict was not isolated from the work"
            " it judged, or was given without sight of it, and --require-isolated is given"
        )
    if unknown:
        return 4, (
            f"in {unknown} of {total} it is not stated whether the verdict was"
            " isolated from the work it judged, and --require-isolated is given"
        )
    return None
