"""``rolewall power``: how many episodes a planned gate or comparison needs."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

import click

from rolewall.cli import settle
from rolewall.errors import InputError

if TYPE_CHECKING:
    from rolewall.power import CompareDesign, GateDesign, Needed

__all__ = ["command"]

BOTH = ("correlation", "trials", "power")
LEAST_FAILING = 1e-6  # fewer and the number of episodes is none that anybody runs
TAKES = {
    "gate": ("max_false_approval", "rate", "failing", *BOTH),
    "compare": ("first", "second", "discordant", "margin", "alpha", "tests", *BOTH),
}
NEEDS = {"gate": ("max_false_approval", "rate"), "compare": ("first", "second")}


@click.command("power")
@click.argument("what", type=click.Choice(sorted(TAKES, reverse=True)))
@click.option("--max-false-approval", type=float, metavar="P", help="gate: its bound.")
@click.option("--rate", type=float, metavar="P", help="gate: the true false-approval rate.")
@click.option(
    "--failing",
    type=float,
    metavar="F",
    help="gate: the share of episodes that end in failing work, to count all of them.",
)
@click.option("--first", type=float, metavar="P", help="compare: the true rate under the first.")
@click.option("--second", type=float, metavar="P", help="compare: the true rate under the second.")
@click.option(
    "--discordant",
    type=float,
    metavar="P",
    help="compare: the share of pairs that differ.  [default: as if independent]",
)
@click.option(
    "--margin",
    type=float,
    metavar="M",
    help="compare: show that they differ by less, in place of finding a difference.",
)
@click.option(
    "--alpha", type=float, default=0.05, show_default=True, metavar="A", help="compare: the level."
)
@click.option(
    "--tests",
    type=int,
    metavar="N",
    help="compare: how many tests share the level.  [default: 3, the primary outcomes; with"
    " --margin 1]",
)
@click.option(
    "--trials", type=int, default=1, show_default=True, metavar="N", help="Trials of a task."
)
@click.option(
    "--correlation",
    type=float,
    default=0.0,
    show_default=True,
    metavar="R",
    help="How alike trials of a task are: 0 independent, 1 all the same.",
)
@click.option(
    "--power",
    type=float,
    default=0.8,
    show_default=True,
    metavar="P",
    help="The chance of success asked for.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
@click.pass_context
def command(context: click.Context, /, what: str, as_json: bool, **given: Any) -> None:
    """Tell how many tasks and episodes a planned gate, or comparison, needs.

    For a gate: to hold, if the verifier falsely approves failing work at --rate. For a
    comparison: to find the difference between two rates, or with --margin to show that
    they differ by less.

    Exit code 0: there is such a number. 2: bad input, or no number would do. 4: more
    than 20,000 tasks would be needed.
    """
    from rolewall.comparing import PRIMARY
    from rolewall.power import needed_for
    from rolewall.terminal import say

    _refuse(context, what, given)
    if given["tests"] is None:
        given["tests"] = len(PRIMARY) if given["margin"] is None else 1
    design = _design(what, given)
    needed = needed_for(design, given["power"])
    code = 4 if needed.tasks is None else 0
    settle(context, code)
    episodes = _episodes(what, needed, given)
    say(_lines(what, needed, given, episodes), sys.stderr if as_json else sys.stdout)
    if as_json:
        click.echo(json.dumps(_json(what, needed, given, episodes), indent=1))
    context.exit(code)


def _refuse(context: click.Context, what: str, given: dict[str, Any]) -> None:
    for name in given:
        said = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if said and name not in TAKES[what]:
            raise InputError(f"power {what} does not take it", place=_option(name))
    for name in NEEDS[what]:
        if given[name] is None:
            raise InputError("missing", place=_option(name), expected="a fraction")
    failing = given["failing"]
    if failing is not None and not LEAST_FAILING <= failing <= 1:
        raise InputError("out of range", place="--failing", got=failing,
                         expected=f"{LEAST_FAILING:g} to 1")  # fmt: skip


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _design(what: str, given: dict[str, Any]) -> GateDesign | CompareDesign:
    from rolewall.power import CompareDesign, GateDesign

    shared = {"correlation": given["correlation"], "trials": given["trials"]}
    if what == "gate":
        return GateDesign(threshold=given["max_false_approval"], rate=given["rate"], **shared)
    names = ("first", "second", "discordant", "margin", "alpha", "tests")
    return CompareDesign(**{name: given[name] for name in names}, **shared)


def _episodes(what: str, needed: Needed, given: dict[str, Any]) -> int | None:
    """All episodes that have to be run; ``None`` where that is not known."""
    if needed.episodes is None or (what == "gate" and given["failing"] is None):
        return None
    return math.ceil(needed.episodes / given["failing"]) if what == "gate" else 2 * needed.episodes


def _lines(what: str, needed: Needed, given: dict[str, Any], episodes: int | None) -> list[str]:
    from rolewall.figures import percent
    from rolewall.terminal import counted

    power = percent(needed.power)
    if needed.tasks is None:
        return [f"more than 20,000 tasks: there the power is {power}"]
    size = f"{counted(needed.tasks, 'task')} × {counted(needed.trials, 'trial')}"
    how = f" (simulated, standard error {percent(needed.error)})" if needed.error else " (exact)"
    if what == "gate":
        bound = f"{given['max_false_approval']:g}"
        lines = [
            f"{size} of failing work: {counted(needed.episodes or 0, 'episode')} graded fail",
            f"then the gate holds {bound} with a chance of {power}{how},"
            f" if failing work is approved at {given['rate']:g}",
        ]
        if episodes is not None:
            lines.append(
                f"where {given['failing']:.0%} of episodes end in failing work: about"
                f" {counted(episodes, 'episode')} in all"
            )
        return lines
    goal = (
        "a difference is found"
        if given["margin"] is None
        else f"they are shown to differ by less than {100 * given['margin']:g} points"
    )
    return [
        f"{size} under each condition: {counted(needed.episodes or 0, 'pair')},"
        f" {counted(episodes or 0, 'episode')}",
        f"then {goal} with a chance of {power}{how},"
        f" if the rates are {given['first']:g} and {given['second']:g}",
        _level(given),
    ]


def _level(given: dict[str, Any]) -> str:
    """What the answer takes for granted of the level."""
    alpha, tests = given["alpha"], given["tests"]
    noun = "primary outcome" if given["margin"] is None else "claim"
    if tests == 1:
        return f"for one {noun} alone, at α = {alpha:g}"
    return f"for one of {tests} {noun}s that share α = {alpha:g} (Holm, at its strictest)"


def _json(what: str, needed: Needed, given: dict[str, Any], episodes: int | None) -> dict[str, Any]:
    return {
        "what": what,
        "asked": {name: given[name] for name in TAKES[what]},
        "tasks": needed.tasks,
        "trials": needed.trials,
        "counted": needed.episodes,
        "episodes": episodes,
        "power": needed.power,
        "standard_error": needed.error,
    }
