"""What is true of the work: graders, the grade box, and verdict × grade accounting."""

from __future__ import annotations

if __name__ != "rolewall.graders":
    raise ImportError(f"import this as rolewall.graders, not as {__name__}")

from rolewall.graders.accounting import (
    GRADES,
    TREATMENTS,
    VERDICTS,
    Accounting,
    Cells,
    Treatment,
    Verdict,
    account,
)
from rolewall.graders.attestation import write_attestation
from rolewall.graders.grading import grade
from rolewall.graders.protocol import Finding, Grade, GradeTask, Grading, Submitted
from rolewall.graders.rates import Rate, newcombe, wilson
from rolewall.graders.spec import (
    CommandSpec,
    GraderSpec,
    HarborSpec,
    PytestSpec,
    ScriptSpec,
    parse_grader,
)

__all__ = [
    "GRADES",
    "TREATMENTS",
    "VERDICTS",
    "Accounting",
    "Cells",
    "CommandSpec",
    "Finding",
    "Grade",
    "GradeTask",
    "GraderSpec",
    "Grading",
    "HarborSpec",
    "PytestSpec",
    "Rate",
    "ScriptSpec",
    "Submitted",
    "Treatment",
    "Verdict",
    "account",
    "grade",
    "newcombe",
    "parse_grader",
    "wilson",
    "write_attestation",
]
