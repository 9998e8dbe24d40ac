"""May this grader be trusted? What it says of work whose grade is known."""

from __future__ import annotations

from rolewall.checkgrader.checking import Extent
from rolewall.checkgrader.findings import GraderCheck, Mark
from rolewall.checkgrader.keeping import Keeping
from rolewall.checkgrader.report import LEAST_MARKS, Report
from rolewall.checkgrader.saved import FILE, find_checks, marked, read_checks, save_checks
from rolewall.checkgrader.suite import check_graders, grade_images

__all__ = [
    "FILE",
    "LEAST_MARKS",
    "Extent",
    "GraderCheck",
    "Keeping",
    "Mark",
    "Report",
    "check_graders",
    "find_checks",
    "grade_images",
    "marked",
    "read_checks",
    "save_checks",
]
