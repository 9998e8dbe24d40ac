"""``rolewall doctor``: what this machine can enforce and observe."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command(name="doctor")
@click.option("--attack", is_flag=True, help="Play the attack suite on each backend that works.")
@click.option("--backend", metavar="docker|bubblewrap", help="With --attack: this one alone.")
@click.option("--markdown", is_flag=True, help="With --attack: every attempt, as Markdown.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
@click.pass_context
def command(
    context: click.Context, attack: bool, backend: str | None, markdown: bool, as_json: bool
) -> None:
    """Try each backend and say what works; for each no, the blocker and the way out.

    Exits 0 when at least one backend can run a team, 3 otherwise.

    With --attack a hostile team plays instead: every attempt behind the wall and, as
    its twin, where it must succeed. Exits 1 when anything landed, went unseen without
    a known reason, or was not shown to work where it may; takes minutes a backend.
    """
    if not attack:
        if backend or markdown:
            given = "--backend" if backend else "--markdown"
            raise click.UsageError(f"{given} belongs to --attack", context)
        _examine(context, as_json)
        return
    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other", context)
    _attack(context, backend, markdown, as_json)


def _examine(context: click.Context, as_json: bool) -> None:
    import dataclasses
    import json
    import sys

    from rolewall.doctor import examine
    from rolewall.terminal import Sheet, draw

    report = examine()
    if as_json:
        found = {name: [dataclasses.asdict(f) for f in fs] for name, fs in report.findings.items()}
        click.echo(json.dumps({"usable": report.usable, "auto": report.auto, "findings": found}))
    rows = tuple(
        (name, finding.subject, "yes" if finding.ok else "no", finding.detail, finding.way_out)
        for name, findings in report.findings.items()
        for finding in findings
    )
    columns = ("where", "what", "works", "detail", "way out")
    notes = (f"backend: auto means {report.auto or 'none'}",)
    sheet = Sheet("what this machine can enforce and observe", columns, rows, notes)
    draw(sheet, sys.stderr if as_json else sys.stdout)
    context.exit(0 if report.usable else 3)


def _attack(context: click.Context, backend: str | None, markdown: bool, as_json: bool) -> None:
    import json
    import sys

    from rolewall.attacks import as_markdown, as_sheets, play_attacks
    from rolewall.cli import settle
    from rolewall.doctor import examine
    from rolewall.sandbox import find_backend
    from rolewall.terminal import draw, say

    chosen = [find_backend(name) for name in ([backend] if backend else examine().usable)]
    reports = []
    for one in chosen:
        say([f"attacks on {one.name}: takes minutes"], sys.stderr)
        reports.append(play_attacks(one))
        # As soon as it is known: another backend may fail yet.
        for sheet in as_sheets(reports[-1]) if not markdown else ():
            draw(sheet, sys.stderr if as_json else sys.stdout)
    code = 3 if not reports else 0 if all(report.holds for report in reports) else 1
    settle(context, code)
    if as_json:
        click.echo(json.dumps({"reports": [report.to_json() for report in reports]}))
    elif markdown:
        click.echo(as_markdown(reports), nl=False)
    if not reports:
        say(["no backend works here; rolewall doctor says why"], sys.stderr)
    context.exit(code)
