"""``rolewall binding``: does a condition that binds survive its handoffs?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rolewall.cli import settle

if TYPE_CHECKING:
    from rolewall.binding import Found, Plan

__all__ = ["command"]

KINDS = ("careful", "trusting", "wary", "heedless")
LEVELS = ("light", "normal", "compressed")
TWINS = 5


@click.command("binding")
@click.argument("team", type=click.Path(path_type=Path), required=False)
@click.option(
    "--executor",
    type=click.Choice(KINDS),
    help="A scripted executor, where no TEAM is given.  [default: careful]",
)
@click.option(
    "--arms",
    default="handoff,restoration,control",
    show_default=True,
    metavar="A,A…",
    help="Arms, or kinds of arms.",
)
@click.option(
    "--after",
    type=click.Choice(LEVELS),
    default="normal",
    show_default=True,
    help="The handoff that restoration and controls start from.",
)
@click.option("--domains", metavar="D,D…", help="Some of the six domains.  [default: all]")
@click.option(
    "--episodes",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    metavar="N",
    help="Episodes of each domain and arm, with an open condition.",
)
@click.option(
    "--twins",
    type=click.IntRange(0, 10_000),
    metavar="N",
    help="Of how many of them a twin is played too, whose condition is met.  [default: 5]",
)
@click.option(
    "--rates",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What a handoff keeps of which field, in place of the documented rates.",
)
@click.option(
    "--seed", type=click.IntRange(-(1 << 62), 1 << 62), default=0, show_default=True, metavar="N"
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=2,
    show_default=True,
    metavar="J",
    help="Boxes at the same time.",
)
@click.option(
    "--backend", metavar="auto|docker|bubblewrap", help="In place of the team's.  [default: auto]"
)
@click.option(
    "--allow-team-models",
    is_flag=True,
    help="Let TEAM's executor call its model endpoint, with keys of your environment.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A new directory for a JSON line an episode, the ledgers and the summary.",
)
@click.option("--fields", is_flag=True, help="A table of each field's retention too.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
@click.pass_context
def command(context: click.Context, /, as_json: bool, **given: Any) -> None:
    """Hand a condition that binds from role to role, and see whether it still does.

    Each generated episode is a workflow whose next step is forbidden while a condition is
    open. Arms hand it on whole, compressed or over several hops, put lost fields back, or
    guard the endpoint. A scripted executor plays, or that of TEAM. The artifact score says
    what the handoff still tells, the endpoint score whether the forbidden step was carried
    out, by a system call in a real box.

    Exit code 0: every episode was played. 3: the infrastructure failed.
    """
    import json
    import sys

    from rolewall.binding import sheets
    from rolewall.terminal import draw_all, say

    found = _run(context, given)
    code = 3 if found.errors else 0
    settle(context, code)
    draw_all(sheets(found, full=given["fields"]), sys.stderr if as_json else sys.stdout)
    if found.seal:
        say([f"{found.out}: seal sha256:{found.seal}"], sys.stderr)
    if as_json:
        click.echo(json.dumps(found.json(), indent=1))
    context.exit(code)


def _run(context: click.Context, given: dict[str, Any]) -> Found:
    from rolewall.binding import run_scripted, run_team
    from rolewall.roles import load_team
    from rolewall.sandbox import find_backend

    plan, out = _plan(given), given["out"]
    if given["team"] is None:
        if given["allow_team_models"]:
            raise click.UsageError("--allow-team-models belongs to a TEAM", context)
        backend = find_backend(given["backend"] or "auto")
        return run_scripted(plan, given["executor"] or "careful", backend, out)
    if given["executor"]:
        raise click.UsageError("--executor and a TEAM exclude each other", context)
    team = load_team(given["team"])
    backend = find_backend(given["backend"] or team.backend)
    return run_team(plan, team, backend, out, models=given["allow_team_models"])


def _plan(given: dict[str, Any]) -> Plan:
    from rolewall.binding import Plan, Rates, load_rates, parse_arms

    return Plan(
        arms=parse_arms(given["arms"], given["after"]),
        domains=_domains(given["domains"]),
        episodes=given["episodes"],
        twins=_twins(given["twins"], given["episodes"]),
        seed=given["seed"],
        rates=load_rates(given["rates"]) if given["rates"] else Rates(),
        jobs=given["jobs"],
    )


def _twins(wanted: int | None, episodes: int) -> int:
    from rolewall.errors import InputError

    if wanted is None:
        return min(TWINS, episodes)
    if wanted > episodes:
        expected = f"at most --episodes, {episodes}"
        raise InputError("more twins than episodes", place="--twins", got=wanted, expected=expected)
    return wanted


def _domains(text: str | None) -> tuple[str, ...]:
    from rolewall.binding import DOMAINS
    from rolewall.errors import InputError

    if text is None:
        return tuple(DOMAINS)
    words = {word.strip() for word in text.split(",")}
    if unknown := sorted(words - set(DOMAINS)):
        expected = f"some of {', '.join(DOMAINS)}"
        raise InputError("no such domain", place="--domains", got=unknown[0], expected=expected)
    return tuple(name for name in DOMAINS if name in words)
