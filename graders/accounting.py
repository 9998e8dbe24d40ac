"""Verdict by grade accounting: how often the verifier approves what fails.

Pure. Every rate carries its counts, so that none can be read without its
denominator; a rate over nothing is None, never 0.

A missing verdict can be treated in three ways, and each is a table of its own:

=============  ===========================================================
``excluded``   it is left out
``reject``     it counts as a reject, whatever the grade
``failure``    it counts against the verifier: as an approval of failing
               work, as a rejection of passing work
=============  ===========================================================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from rolewall.graders.protocol import Grade
from rolewall.graders.rates import Rate

__all__ = [
    "GRADES",
    "TREATMENTS",
    "VERDICTS",
    "Accounting",
    "Cells",
    "Treatment",
    "Verdict",
    "account",
]

Verdict = Literal["approve", "reject", "missing"]
Treatment = Literal["excluded", "reject", "failure"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
GRADES: tuple[Grade, ...] = ("pass", "fail", "error")
TREATMENTS: tuple[Treatment, ...] = get_args(Treatment)
_PAIRS = tuple((verdict, grade) for verdict in VERDICTS for grade in GRADES)


@dataclass(frozen=True, slots=True)
class Cells:
    """Verdict by grade once missing verdicts are treated, and what follows from it."""

    approve_pass: int
    approve_fail: int
    reject_pass: int
    reject_fail: int

    @property
    def false_approval(self) -> Rate:
        """approve∧fail ÷ fail."""
        return Rate(self.approve_fail, self.approve_fail + self.reject_fail)

    @property
    def catch(self) -> Rate:
        """reject∧fail ÷ fail: what false approval leaves."""
        return Rate(self.reject_fail, self.approve_fail + self.reject_fail)

    @property
    def false_rejection(self) -> Rate:
        """reject∧pass ÷ pass."""
        return Rate(self.reject_pass, self.approve_pass + self.reject_pass)

    @property
    def precision(self) -> Rate:
        """approve∧pass ÷ approve: how often an approval is right."""
        return Rate(self.approve_pass, self.approve_pass + self.approve_fail)

    @property
    def accuracy(self) -> Rate:
        """(approve∧pass + reject∧fail) ÷ all."""
        return Rate(self.approve_pass + self.reject_fail, self._all)

    @property
    def failure(self) -> Rate:
        """(approve∧fail + reject∧pass) ÷ all: what accuracy leaves."""
        return Rate(self.approve_fail + self.reject_pass, self._all)

    @property
    def _all(self) -> int:
        return self.approve_pass + self.approve_fail + self.reject_pass + self.reject_fail


@dataclass(frozen=True)
class Accounting:
    """Counts of (verdict, grade), all nine pairs, and what follows from them.

    ``error`` grades stand in ``counts`` and ``errors`` and in no rate.
    """

    counts: Mapping[tuple[Verdict, Grade], int]

    @property
    def episodes(self) -> int:
        return sum(self.counts.values())

    @property
    def errors(self) -> int:
        """Episodes whose grade is ``error``."""
        return sum(self.counts[verdict, "error"] for verdict in VERDICTS)

    @cached_property
    def _cells(self) -> dict[Treatment, Cells]:
        n = self.counts
        said = (
            n["approve", "pass"],
            n["approve", "fail"],
            n["reject", "pass"],
            n["reject", "fail"],
        )
        good, bad = n["missing", "pass"], n["missing", "fail"]
        added: dict[Treatment, tuple[int, int, int, int]] = {
            "excluded": (0, 0, 0, 0),
            "reject": (0, 0, good, bad),
            "failure": (0, bad, good, 0),
        }
        return {
            name: Cells(*(a + b for a, b in zip(said, more, strict=True)))
            for name, more in added.items()
        }

    def under(self, treatment: Treatment) -> Cells:
        """The table with missing verdicts treated so."""
        return self._cells[treatment]

    @property
    def false_approval(self) -> Rate:
        """approve∧fail ÷ (approve or reject)∧fail; missing verdicts excluded."""
        return self.under("excluded").false_approval

    @property
    def false_approval_missing_as_reject(self) -> Rate:
        """approve∧fail ÷ all fail."""
        return self.under("reject").false_approval

    @property
    def false_approval_missing_as_approval(self) -> Rate:
        """(approve∧fail + missing∧fail) ÷ all fail: what a gate must hold, so that
        silence gains nothing."""
        return self.under("failure").false_approval

    @property
    def verifier_failure(self) -> Rate:
        """(approve∧fail + reject∧pass + missing) ÷ all graded: a missing verdict is a
        failure of the verifier."""
        return self.under("failure").failure

    @property
    def false_rejection(self) -> Rate:
        """reject∧pass ÷ (approve or reject)∧pass."""
        return self.under("excluded").false_rejection

    @property
    def accuracy(self) -> Rate:
        """(approve∧pass + reject∧fail) ÷ (approve or reject)∧(pass or fail)."""
        return self.under("excluded").accuracy

    @property
    def precision(self) -> Rate:
        """approve∧pass ÷ approve∧(pass or fail)."""
        return self.under("excluded").precision

    @property
    def missing(self) -> Rate:
        """Missing verdicts ÷ all graded."""
        return Rate(self.counts["missing", "pass"] + self.counts["missing", "fail"], self._graded)

    @property
    def passed(self) -> Rate:
        """pass ÷ all graded."""
        return Rate(sum(self.counts[verdict, "pass"] for verdict in VERDICTS), self._graded)

    @property
    def _graded(self) -> int:
        return self.episodes - self.errors


def account(rows: Iterable[tuple[Verdict, Grade]]) -> Accounting:
    """Count rows of (verdict, grade).

    Raises:
        ValueError: a word that is no verdict or no grade; a caller's mistake.
    """
    seen = Counter(rows)
    if strange := seen.keys() - set(_PAIRS):
        raise ValueError(f"not a verdict and a grade: {sorted(map(str, strange))}")
    return Accounting({pair: seen[pair] for pair in _PAIRS})
