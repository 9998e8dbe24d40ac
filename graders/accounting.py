"""Verdict by grade accounting: how often the verifier approves what fails.

Pure. Every rate carries its counts, so that none can be read without its
denominator; a rate over nothing is None, never 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from rolewall.graders.protocol import Grade

__all__ = ["GRADES", "VERDICTS", "Accounting", "Rate", "Verdict", "account", "wilson"]

Verdict = Literal["approve", "reject", "missing"]
VERDICTS: tuple[Verdict, ...] = ("approve", "reject", "missing")
GRADES: tuple[Grade, ...] = ("pass", "fail", "error")


@dataclass(frozen=True, slots=True)
class Rate:
    """``count`` of ``of``, with the Wilson 95 % interval; all None where ``of`` is 0."""

    count: int
    of: int
    rate: float | None
    low: float | None
    high: float | None

    @classmethod
    def over(cls, count: int, of: int) -> Rate:
        if not of:
            return cls(count, of, None, None, None)
        low, high = wilson(count, of)
        return cls(count, of, count / of, low, high)


@dataclass(frozen=True)
class Accounting:
    """The table and what follows from it.

    ``error`` grades stand in ``counts`` and ``errors`` and in no rate.

    Attributes:
        counts: (verdict, grade) → episodes, all nine pairs.
        episodes: all rows; ``errors``: those whose grade is ``error``.
        false_approval: approve∧fail ÷ (approve or reject)∧fail; missing verdicts excluded.
        false_approval_missing_as_reject: approve∧fail ÷ all fail.
        verifier_failure: (approve∧fail + reject∧pass + missing) ÷ all graded:
            a missing verdict is a failure of the verifier.
        false_approval_missing_as_approval: (approve∧fail + missing∧fail) ÷ all
            fail: what a gate must hold, so that silence gains nothing.
        false_rejection: reject∧pass ÷ (approve or reject)∧pass.
        accuracy: (approve∧pass + reject∧fail) ÷ (approve or reject)∧(pass or fail).
        missing: missing verdicts ÷ all graded.
        passed: pass ÷ all graded.
    """

    counts: Mapping[tuple[Verdict, Grade], int]
    episodes: int
    errors: int
    false_approval: Rate
    false_approval_missing_as_reject: Rate
    verifier_failure: Rate
    false_approval_missing_as_approval: Rate
    false_rejection: Rate
    accuracy: Rate
    missing: Rate
    passed: Rate


def account(rows: Iterable[tuple[Verdict, Grade]]) -> Accounting:
    """Count rows of (verdict, grade).

    Raises:
        ValueError: a word that is no verdict or no grade; a caller's mistake.
    """
    seen = Counter(rows)
    known = [(verdict, grade) for verdict in VERDICTS for grade in GRADES]
    if strange := set(seen) - set(known):
        raise ValueError(f"not a verdict and a grade: {sorted(map(str, strange))}")
    counts = {pair: seen[pair] for pair in known}
    return _derive(counts)


def _derive(counts: Mapping[tuple[Verdict, Grade], int]) -> Accounting:
    approve_fail, reject_fail = counts["approve", "fail"], counts["reject", "fail"]
    approve_pass, reject_pass = counts["approve", "pass"], counts["reject", "pass"]
    missing_fail, missing_pass = counts["missing", "fail"], counts["missing", "pass"]
    failing = approve_fail + reject_fail + missing_fail
    passing = approve_pass + reject_pass + missing_pass
    judged_fail, judged_pass = approve_fail + reject_fail, approve_pass + reject_pass
    missing, graded = missing_fail + missing_pass, failing + passing
    episodes = sum(counts.values())
    return Accounting(
        counts=counts,
        episodes=episodes,
        errors=episodes - graded,
        false_approval=Rate.over(approve_fail, judged_fail),
        false_approval_missing_as_reject=Rate.over(approve_fail, failing),
        verifier_failure=Rate.over(approve_fail + reject_pass + missing, graded),
        false_approval_missing_as_approval=Rate.over(approve_fail + missing_fail, failing),
        false_rejection=Rate.over(reject_pass, judged_pass),
        accuracy=Rate.over(approve_pass + reject_fail, judged_fail + judged_pass),
        missing=Rate.over(missing, graded),
        passed=Rate.over(passing, graded),
    )


def wilson(count: float, of: float, confidence: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval for ``count`` of ``of``, two-sided.

    Both may be effective, fractional sizes; ``of`` is positive and at least ``count``.
    """
    if not 0 <= count <= of or of <= 0 or not 0 < confidence < 1:
        raise ValueError(f"no proportion: {count} of {of} at {confidence}")
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    centre = (count + z2 / 2) / (of + z2)
    spread = (z2 * (count * (of - count) / of + z2 / 4)) ** 0.5 / (of + z2)
    low = 0.0 if count == 0 else centre - spread
    high = 1.0 if count == of else centre + spread
    return max(0.0, low), min(1.0, high)
