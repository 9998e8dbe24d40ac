"""Calibration: the verifier alone, on candidates of known truth, each with its twin."""

from __future__ import annotations

from rolewall.calibrate.planning import Calibration, parse_reports, planner
from rolewall.calibrate.results import CalibrationTable, calibration_table
from rolewall.calibrate.sheets import sheets

__all__ = [
    "Calibration",
    "CalibrationTable",
    "calibration_table",
    "parse_reports",
    "planner",
    "sheets",
]
