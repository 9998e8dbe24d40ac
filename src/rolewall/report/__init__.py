"""The report: one HTML file on a run or on records.

``build`` makes what it says (``trust``, ``staying``, ``effect``, ``telling``, ``spent``: one
module a question), ``episode`` reads one episode in full, ``page`` makes the HTML.
"""

from __future__ import annotations

from rolewall.report.build import build_report
from rolewall.report.episode import Episodes
from rolewall.report.model import Report
from rolewall.report.page import LIMIT, Page, render

__all__ = ["LIMIT", "Episodes", "Page", "Report", "build_report", "render"]
