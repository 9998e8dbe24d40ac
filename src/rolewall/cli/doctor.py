"""``rolewall doctor``: what this machine can enforce and observe."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command(name="doctor")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Try each backend and say what works; for each no, the blocker and the way out.

    Exits 0 when at least one backend can run a team, 3 otherwise.
    """
    import dataclasses
    import json

    from rolewall.doctor import examine
    from rolewall.terminal import Sheet, draw

    report = examine()
    if as_json:
        found = {name: [dataclasses.asdict(f) for f in fs] for name, fs in report.findings.items()}
        click.echo(json.dumps({"usable": report.usable, "auto": report.auto, "findings": found}))
    else:
        rows = tuple(
            (name, finding.subject, "yes" if finding.ok else "no", finding.detail, finding.way_out)
            for name, findings in report.findings.items()
            for finding in findings
        )
        columns = ("where", "what", "works", "detail", "way out")
        notes = (f"backend: auto means {report.auto or 'none'}",)
        draw(Sheet("what this machine can enforce and observe", columns, rows, notes))
    context.exit(0 if report.usable else 3)
