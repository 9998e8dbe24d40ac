"""``rolewall gate``: the CI decision."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rolewall.cli import settle, settled
from rolewall.cli._records import records_options, without_collector
from rolewall.errors import (
    InfrastructureError,
    InputError,
    Interrupted,
    RolewallError,
    StorageError,
)

if TYPE_CHECKING:
    from rolewall.decision import Decision
    from rolewall.gating.outputs import Outputs
    from rolewall.records import RecordMapping

__all__ = ["command"]

A_FILE = click.Path(path_type=Path)


class _Gate(click.Command):
    """Where there is no decision its files say that, so that none is left from one before."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            given = self._understood(ctx, words)
            outputs = _outputs(given).of_their_kind()
            _say_none(InputError(error.format_message()), given, outputs)
            raise

    def _understood(self, ctx: click.Context, args: list[str]) -> dict[str, Any]:
        """What can be made out of words of which one is wrong."""
        flags = {name for p in self.params if getattr(p, "is_flag", False) for name in p.opts}
        lenient = click.Context(
            self,
            info_name=ctx.info_name,
            parent=ctx.parent,
            resilient_parsing=True,
            ignore_unknown_options=True,
            allow_extra_args=True,
        )
        words = [name if (name := word.partition("=")[0]) in flags else word for word in args]
        super().parse_args(lenient, words)
        return lenient.params

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BaseException as error:
            if not settled(ctx):
                _say_none(error, ctx.params, _outputs(ctx.params))
            raise


@click.command("gate", cls=_Gate)
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
@click.option(
    "--require-isolated", is_flag=True, help="Refuse verdicts made beside the work, or without it."
)
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
    from rolewall.gaterules import Rules
    from rolewall.gating.outputs import Outputs

    outputs = Outputs(junit, summary, badge)
    outputs.check(os.environ)
    rules = Rules(**limits)

    def said(path: Path) -> RecordMapping | None:
        foreign = [given for given in (run, baseline) if given and not os.path.isdir(given)]
        return mapping if path in foreign or not foreign else None

    with without_collector():
        from rolewall.gate import decide_dataset
        from rolewall.records import read_dataset

        held_to = read_dataset(baseline, said(baseline)) if baseline is not None else None
        found = read_dataset(run, said(run))
        decision = decide_dataset(found, rules, condition, baseline=held_to)
    settle(context, decision.exit_code)
    try:
        _print(decision, as_json)
    finally:
        _write(decision, outputs)
    context.exit(decision.exit_code)


def _outputs(given: dict[str, Any]) -> Outputs:
    """Those that were asked for, and in whose place a file can be put."""
    from rolewall.gating.outputs import Outputs

    asked = Outputs(given.get("junit"), given.get("summary"), given.get("badge"))
    return asked.sound(os.environ)


def _say_none(error: BaseException, given: dict[str, Any], outputs: Outputs) -> None:
    """Write that there is no decision, and why."""
    from rolewall.gate import not_decided

    _write(not_decided(_named(error), place=str(given.get("run") or "")), outputs)


def _named(error: BaseException) -> RolewallError:
    if isinstance(error, RolewallError):
        return error
    if isinstance(error, KeyboardInterrupt):
        return Interrupted("the gate was interrupted")
    return InfrastructureError(f"the gate was ended by {type(error).__name__}")


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
