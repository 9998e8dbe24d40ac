"""``rolewall calibrate``: the verifier alone, on work of known truth."""

from __future__ import annotations

from typing import Any

import click

from rolewall.cli import settle
from rolewall.cli._options import asked, whole_options

__all__ = ["command"]


@click.command("calibrate")
@whole_options
@click.option(
    "--mutants",
    type=click.IntRange(0, 100),
    default=3,
    show_default=True,
    metavar="N",
    help="Faulty copies of the solution a task.",
)
@click.option(
    "--reports",
    default="plain,boastful,silent",
    show_default=True,
    metavar="R,R…",
    help="What the executor says of the work.",
)
@click.pass_context
def command(
    context: click.Context, /, mutants: int, reports: str, as_json: bool, **given: Any
) -> None:
    """Try the verifier of TEAM alone, on work of known truth.

    Shown are the reference solution, the untouched workspace and mutants of the
    solution that the grader fails, each failing one with the solution as its twin.

    Exit code 0: every episode counts. 3: the infrastructure failed in some.
    4: no task has a candidate to show.
    """
    import json
    import sys

    from rolewall.calibrate import Calibration, calibration_table, parse_reports, planner, sheets
    from rolewall.session import exit_code, run_asked
    from rolewall.terminal import draw_all, say

    wanted = Calibration(mutants, parse_reports(reports), given["trials"], given["seed"])
    plan = planner(wanted, told=lambda line: say([line], sys.stderr))
    run = run_asked(asked(wanted.conditions, given), plan)
    code = exit_code(run.records)
    settle(context, code)
    table = calibration_table(run)
    draw_all(sheets(table), sys.stderr if as_json else sys.stdout)
    if as_json:
        made = {"run": str(run.path), "seal": run.seal, "calibration": table.json()}
        click.echo(json.dumps(made, indent=1))
    context.exit(code)
