"""``rolewall gate``: the CI decision."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rolewall.cli import settle
from rolewall.cli._records import records_options, without_collector
from rolewall.errors import RolewallError, StorageError

if TYPE_CHECKING:
    from rolewall.decision import Decision, Rules
    from rolewall.gating.outputs import Outputs
    from rolewall.records import RecordMapping

__all__ = ["command"]

A_FILE = click.Path(path_type=Path)


@click.command("gate")
@click.argument("run", type=A_FILE, metavar="RUN|RECORDS")
@click.option(
    "--max-false-approval",
    type=float,
    metavar="P",
    help="The highest false-approval rate to accept, such as 0.10. Needed without --baseline.",
)
@click.option(
    "--baseline",
    type=A_FILE,
    metavar="RUN|RECORDS",
    help="Hold the false-approval rate to that of this run too.",
)
@click.option(
    "--margin",
    type=float,
    metavar="M",
    help="How much it may lie above the baseline's, such as 0.05.",
)
@click.option(
    "--max-false-rejection", type=float, metavar="P", help="Bound the false-rejection rate too."
)
@click.option(
    "--min-informedness",
    type=float,
    metavar="J",
    help="Bound the catch rate less the false-rejection rate too.",
)
@click.option(
    "--max-missing", type=float, metavar="P", help="Bound the share of missing verdicts too."
)
@click.option("--max-errors", type=int, default=0, show_default=True, metavar="N")
@click.option("--condition", metavar="C", help="Needed when RUN holds several.")
@click.option("--require-isolated", is_flag=True, help="Refuse verdicts made beside the work.")
@click.option(
    "--allow-partial",
    is_flag=True,
    help="Decide although planned episodes, or tasks of the baseline, are absent.",
)
@click.option("--junit", type=A_FILE, metavar="FILE", help="Write JUnit XML.")
@click.option(
    "--summary",
    type=A_FILE,
    metavar="FILE|auto",
    help="Write Markdown; auto adds it to the summary of the GitHub step.",
)
@click.option("--badge", type=A_FILE, metavar="FILE", help="Write JSON for shields.io.")
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
@records_options
@click.pass_context
def command(
    context: click.Context,
    /,
    run: Path,
    baseline: Path | None,
    condition: str | None,
    junit: Path | None,
    summary: Path | None,
    badge: Path | None,
    as_json: bool,
    mapping: RecordMapping | None,
    **limits: Any,
) -> None:
    """Decide whether the verifier of RUN approves broken work too often.

    RUN is a run directory; RECORDS a file: episode records, one a line, or those of another
    harness as CSV, JSON lines, TeamBench's results or a log of Inspect.

    Exit code 0: every bound holds. 1: a rate is beyond its bound. 2: bad input.
    3: too many episodes ended in error. 4: not enough evidence to decide.
    """
    from rolewall.decision import Rules
    from rolewall.gating.outputs import Outputs

    outputs = Outputs(junit, summary, badge)
    outputs.check(os.environ)
    rules = Rules(**limits)

    def said(path: Path) -> RecordMapping | None:
        foreign = [given for given in (run, baseline) if given and not os.path.isdir(given)]
        return mapping if path in foreign or not foreign else None

    def decide() -> Decision:
        from rolewall.gate import decide_dataset
        from rolewall.records import read_dataset

        held_to = read_dataset(baseline, said(baseline)) if baseline is not None else None
        found = read_dataset(run, said(run))
        return decide_dataset(found, rules, condition, baseline=held_to)

    decision = _decided(decide, rules, outputs, str(run))
    settle(context, decision.exit_code)
    try:
        _print(decision, as_json)
    finally:
        _write(decision, outputs)
    context.exit(decision.exit_code)


def _decided(
    decide: Callable[[], Decision], rules: Rules, outputs: Outputs, place: str
) -> Decision:
    """The decision. Where there can be none the files say that, so that none is left from
    a decision before."""
    from rolewall.gate import not_decided

    try:
        with without_collector():
            return decide()
    except RolewallError as error:
        _write(not_decided(error, rules, place), outputs)
        raise


def _print(decision: Decision, as_json: bool) -> None:
    from rolewall.terminal import say

    if as_json:
        click.echo(json.dumps(decision.json(), indent=1))
    say(decision.lines(), sys.stderr if as_json else sys.stdout)


def _write(decision: Decision, outputs: Outputs) -> None:
    """A file that cannot be written makes 0 a failure and leaves any other code as it is."""
    from rolewall.terminal import escape

    try:
        outputs.write(decision, os.environ)
    except StorageError as error:
        if decision.exit_code == 0:
            raise
        click.echo(f"rolewall: {escape(error)}", err=True)
