"""``rolewall audit``: are the ledgers, manifests and seals what the records say?"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from rolewall.cli import settle

__all__ = ["command"]


@click.command("audit")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--expect", metavar="DIGEST", help="SHA-256 of RUN's seal, as `rolewall run` printed it."
)
@click.option(
    "--public-key",
    "public_keys",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A PEM file; its owner must have signed every seal. Repeat for more.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
@click.pass_context
def command(
    context: click.Context,
    *,
    run: Path,
    expect: str | None,
    public_keys: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Verify records, ledgers, manifests, contents, transcripts and seals of RUN.

    Exit code 0: all holds. 1: something was altered. 2: not a run.
    """
    from rolewall.attest import parse_digest, read_public_key
    from rolewall.audit import audit_run
    from rolewall.terminal import say

    keys = [read_public_key(path) for path in public_keys]
    report = audit_run(run, expect=None if expect is None else parse_digest(expect), keys=keys)
    settle(context, report.exit_code)
    if as_json:
        click.echo(json.dumps(report.json(), indent=1))
    say(report.lines(), sys.stderr if as_json else sys.stdout)
    context.exit(report.exit_code)
