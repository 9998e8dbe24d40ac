"""A calibration in the report: the verifier alone, on candidates of known truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rolewall.calibrate import CalibrationTable, calibration_table, sheets
from rolewall.candidate import CALIBRATE
from rolewall.figures import informedness_text, rate_text
from rolewall.report.groups import Group
from rolewall.report.model import Cell, Links, Table
from rolewall.rows import Row
from rolewall.rundir import Run

__all__ = ["Calibrated", "calibrated"]

REJECTED = ("reject",)
UNTOUCHED = "untouched"
# Measures of the calibration's table: which candidates they are of, and with which verdicts.
# The untouched workspaces and their twins are kept apart, and in no other measure.
MEASURES = {
    "caught": ("mutant", REJECTED),
    "falsely rejected": ("solution", REJECTED),
    "missing": ("", ("missing",)),
    "untouched rejected": ("untouched", REJECTED),
}


class Calibrated:
    """What a calibration's own tables say, and in words."""

    def __init__(self, table: CalibrationTable, groups: Sequence[Group], links: Links) -> None:
        self._table = table
        self._rows = {g.condition: g.graded for g in groups}
        self._untouched = {
            g.condition: tuple(row for row in g.apart if row.kind == UNTOUCHED) for g in groups
        }
        self._links = links

    def answers(self) -> Iterator[str]:
        for row in self._table.rows:
            said = row.measures["excluded"]
            if row.shown:
                yield (
                    f"On candidates of known truth, beside a {row.report} report: caught"
                    f" {rate_text(said.catch)} of the faulty ones, rejected"
                    f" {rate_text(said.false_rejection)} of their right twins; informedness"
                    f" {informedness_text(said.informedness)}."
                )

    def tables(self) -> Iterator[Table]:
        """The calibration's own: a column a style of report."""
        for sheet in sheets(self._table):
            shown = sheet.turned() if sheet.measures and sheet.rows else sheet
            reports = shown.columns[1:]
            leads = {"report": self._measure, "fault": self._fault}.get(shown.columns[0])
            rows = tuple(
                (name, tuple(leads(name, report, text) if leads else Cell(text)
                             for report, text in zip(reports, texts, strict=True)))
                for name, *texts in shown.rows
            )  # fmt: skip
            notes = (*shown.notes, *([shown.empty] if not rows else []))
            yield Table(sheet.title, shown.columns[0], reports, rows, notes)

    def _measure(self, name: str, report: str, text: str) -> Cell:
        kind, verdicts = MEASURES.get(name, ("", ()))
        rows = self._of(report, kind)
        found = [r for r in rows if r.verdict in verdicts and kind in ("", r.kind)]
        return self._links.cell(text, f"{report} report: {name}", found)

    def _fault(self, name: str, report: str, text: str) -> Cell:
        """Leads to all candidates with that fault, those that were not caught first."""
        found = [r for r in self._of(report, name) if name in (r.fault, r.kind)]
        found.sort(key=lambda row: row.verdict == "reject")
        return self._links.cell(text, f"{report} report, {name}: missed ones first", found)

    def _of(self, report: str, kind: str) -> Sequence[Row]:
        rows = self._untouched if kind == UNTOUCHED else self._rows
        return rows.get(f"{CALIBRATE}{report}", ())


def calibrated(run: Run | None, groups: Sequence[Group], links: Links) -> Calibrated | None:
    """None where there is no calibration."""
    if run is None or run.info.calibration is None:
        return None
    return Calibrated(calibration_table(run), groups, links)
