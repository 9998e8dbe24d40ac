"""``rolewall report``: one self-contained HTML file."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rolewall.cli import settle
from rolewall.cli._records import records_options
from rolewall.errors import InputError

if TYPE_CHECKING:
    from rolewall.records import Dataset, RecordMapping
    from rolewall.report import Page, Report

__all__ = ["command"]

START = b"<!doctype html>"
SUFFIX = ".report.html"


@click.command("report")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN|RECORDS")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where the report is written.  [default: RUN/report.html, or RECORDS.report.html]",
)
@click.option("--title", metavar="TEXT", help="In place of the team's name.")
@click.option(
    "--max-false-approval",
    type=float,
    metavar="P",
    help="Show the gate's decision at this false-approval rate, such as 0.10.",
)
@records_options
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
@click.pass_context
def command(
    context: click.Context,
    *,
    run: Path,
    out: Path | None,
    title: str | None,
    max_false_approval: float | None,
    mapping: RecordMapping | None,
    as_json: bool,
) -> None:
    """Write what happened in RUN as one HTML file, with plots, below 1 MB.

    RUN is a run directory; RECORDS a file of records, which has numbers but no timelines.
    The file needs nothing else, runs no script, and is the same for the same input.

    Exit code 0: it is written. 2: bad input. 3: it could not be written.
    4: it is written, and says that no episode could be graded.
    """
    from rolewall.records import read_dataset
    from rolewall.report import Episodes, build_report, render
    from rolewall.storage import write_output
    from rolewall.tally import errored
    from rolewall.terminal import counted, say

    found = read_dataset(run, mapping)
    place = out or _default(run, found)
    _hold(place)
    report = build_report(found, title or "", max_false_approval)
    page = render(report, Episodes(found.run))
    write_output(place, page.html)
    graded = sum(not errored(row) for row in found.rows)
    settle(context, 0 if graded else 4)
    if as_json:
        click.echo(json.dumps(_json(place, found, report, page), indent=1))
    full = f"{page.detailed} of them in full" if found.run else "without their timelines"
    lines = [f"{place}: {counted(len(found.rows), 'episode')}, {full},"
             f" {len(page.html) / 1e6:.2f} MB"]  # fmt: skip
    if not graded:
        lines.append("no episode could be graded: this is not a pass")
    say(lines, sys.stderr if as_json else sys.stdout)
    context.exit(0 if graded else 4)


def _default(run: Path, found: Dataset) -> Path:
    return run / "report.html" if found.run else run.with_name(run.name + SUFFIX)


def _hold(place: Path) -> None:
    """Refuse to write over what is no report, or among a run's evidence: a slip of ``-o``
    would cost it, also where the file that it replaces is empty, or is not there."""
    from rolewall.layout import REPORT, run_around

    run = run_around(place)
    if run and Path(os.path.realpath(place.parent), place.name) != run / REPORT:
        raise InputError(
            "in a run directory, whose files are its evidence", place=str(place),
            expected=f"{run / REPORT}, or a place outside of {run}", hint="give another -o",
        )  # fmt: skip
    if os.path.islink(place) or not os.path.lexists(place):
        return  # a link is replaced, never followed
    if not os.path.isfile(place):
        raise InputError("not a file", place=str(place), hint="give another -o")
    with open(place, "rb") as there:
        begins = there.read(len(START))
    if begins.lower() != START and (begins or not run):
        raise InputError("exists and is no report", place=str(place), hint="give another -o")


def _json(place: Path, found: Dataset, report: Report, page: Page) -> dict[str, object]:
    return {
        "report": str(place),
        **found.head(),
        "bytes": len(page.html),
        "title": report.title,
        "episodes": len(found.rows),
        "in_full": page.detailed if found.run else 0,
        "left_out": page.left_out if found.run else len(found.rows),
        "facts": list(report.facts),
        "answers": {section.anchor: list(section.answers) for section in report.sections},
    }
