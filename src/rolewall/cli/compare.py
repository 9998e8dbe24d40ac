"""``rolewall compare``: the same tasks under several conditions, or in two runs, paired."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rolewall.cli._compared import Found, show
from rolewall.cli._comparing import Ask, compare_one, compare_two, compared
from rolewall.cli._options import GRANTS, asked, optional_tasks, running_options
from rolewall.cli._records import records_options
from rolewall.errors import InputError, Interrupted

if TYPE_CHECKING:
    from rolewall.records import RecordMapping

__all__ = ["command"]

CONDITIONS = "prompt-only,enforced"
RUNNING = ("trials", "jobs", "shard", "seed", "out", "backend", "sign", "show",
           "replay", "handoff", "handoffs", *(f"allow_{name}" for name in GRANTS))  # fmt: skip


@click.command("compare")
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    metavar="TEAM|RUN|RECORDS [RUN2]",
)
@optional_tasks
@running_options
@records_options
@click.option(
    "--conditions",
    metavar="C,C…",
    help="The first is what the others are compared with."
    f"  [default: {CONDITIONS}; of a RUN or RECORDS, all that it has]",
)
@click.option(
    "--condition",
    metavar="C",
    help="Which one, where one of two RUNs holds several; with --handoffs the one to run.",
)
@click.option(
    "--handoffs",
    metavar="A,A",
    help="Two arms of --handoff: run TEAM in each under one condition, and compare the two runs.",
)
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What was fixed before the data: conditions, tests, margins, size.",
)
@click.option(
    "--equivalence",
    multiple=True,
    metavar="OUTCOME=MARGIN",
    help="Test that the difference is smaller, such as pass=0.05. Repeat.",
)
@click.option(
    "--not-worse",
    multiple=True,
    metavar="OUTCOME=MARGIN",
    help="Test that the second is not worse by the margin. Repeat.",
)
@click.option(
    "--max-errors",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="How many episodes may have ended in error.",
)
@click.pass_context
def command(
    context: click.Context,
    /,
    paths: tuple[Path, ...],
    mapping: RecordMapping | None,
    as_json: bool,
    plan_file: Path | None,
    **given: Any,
) -> None:
    """Compare the same tasks under several conditions, paired episode by episode.

    With --tasks, TEAM is run on them under each condition first, or with --handoffs in each
    of two arms. Without, RUN is a run
    directory or RECORDS a file of records, and nothing is run. Two of these are compared
    with each other: the same tasks by two teams, or two versions of one.

    Exit code 0: compared. 2: bad input. 3: more than --max-errors episodes ended in
    error; what can be compared is shown all the same. 4: no pair to compare.
    """
    from rolewall.comparing import margins_of, read_plan

    plan = read_plan(plan_file) if plan_file else None
    near = margins_of(given["equivalence"], "--equivalence")
    ask = Ask(plan, near, margins_of(given["not_worse"], "--not-worse"), given, mapping)
    _refuse(context, paths, ask)
    if given["handoffs"] is not None:
        found = _run_arms(paths[0], ask)
    elif given["tasks"]:
        found = _run(context, paths[0], ask)
    elif len(paths) == 2:
        found = compare_two(paths[0], paths[1], ask)
    else:
        found = compare_one(paths[0], ask)
    show(context, found, as_json)


def _refuse(context: click.Context, paths: tuple[Path, ...], ask: Ask) -> None:
    """Refuse what does not go together, before anything is done."""
    given = ask.given
    if ask.plan and (given["equivalence"] or given["not_worse"]):
        raise InputError("the plan fixes the margins", place="--plan",
                         hint="give no --equivalence and no --not-worse")  # fmt: skip
    if len(paths) > (1 if given["tasks"] else 2):
        raise InputError("too many to compare", got=", ".join(map(str, paths)),
                         expected="TEAM with --tasks, or one or two RUN or RECORDS")  # fmt: skip
    if given["tasks"]:
        strange = ["--map and the like"] if ask.mapping else []
        where = "with --tasks a team is run"
    else:
        strange = [f"--{name.replace('_', '-')}" for name in RUNNING if _said(context, name)]
        where = "without --tasks nothing is run"
    if given["handoffs"] is not None and given["tasks"]:
        strange += ["--handoff"] if _said(context, "handoff") else []
        strange += ["--conditions"] if given["conditions"] is not None else []
        strange += ["--plan"] if ask.plan else []
        where = "two arms are compared under one condition"
    elif len(paths) == 2:
        strange += ["--conditions"] if given["conditions"] is not None else []
        strange += ["--plan"] if ask.plan else []
        where = "two runs are compared with each other"
    elif given["condition"] is not None:
        strange.append("--condition")
    if strange:
        raise InputError(f"{where}: this says nothing", place=", ".join(strange))


def _said(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _run_arms(team: Path, ask: Ask) -> Found:
    """Run the team in each of two arms, in a run directory for each, and compare the runs."""
    from rolewall.roles import arm_named
    from rolewall.session import run_asked

    given = ask.given
    arms = [arm_named(name.strip(), "--handoffs") for name in given["handoffs"].split(",")]
    if len(arms) != 2 or len(set(arms)) != 2:
        raise InputError("not two arms", place="--handoffs", got=given["handoffs"],
                         expected="two different ones, such as prose,full")  # fmt: skip
    if given["out"] is None:
        raise InputError("each arm is a run directory below -o", place="--handoffs",
                         expected="-o DIR")  # fmt: skip
    runs = []
    for arm in arms:
        said = {**given, "team": team, "handoff": arm, "out": given["out"] / arm}
        try:
            runs.append(run_asked(asked((given["condition"] or "enforced",), said)).path)
        except Interrupted as stopped:
            stopped.hint = f"the same command with -o {given['out']} goes on from there"
            raise
    return compare_two(runs[0], runs[1], ask, names=(arms[0], arms[1]))


def _run(context: click.Context, team: Path, ask: Ask) -> Found:
    """Run the team first. What a plan fixes need not be said; what is said all the same
    is done, and is a deviation."""
    from rolewall.compare import parse_conditions
    from rolewall.records import dataset_of
    from rolewall.rundir import read_info
    from rolewall.session import run_asked

    given, out = dict(ask.given), ask.given["out"]
    if out and os.path.isfile(out / "run.json"):
        ask = ask.of_run(out, read_info(out))
    words = CONDITIONS
    if ask.plan:
        planned = ask.plan.content
        words = ",".join(planned.conditions)
        for name in ("trials", "seed"):
            if not _said(context, name):
                given[name] = getattr(planned, name)
    names = parse_conditions(words if given["conditions"] is None else given["conditions"])
    wanted = replace(asked(names, {**given, "team": team}), plan=ask.plan.ref if ask.plan else None)
    return compared(dataset_of(run_asked(wanted)), names, ask)
