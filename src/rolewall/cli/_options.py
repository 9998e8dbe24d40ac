"""Options that ``run`` and ``compare`` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rolewall.session import Asked

__all__ = ["asked", "episode_options", "optional_tasks", "running_options", "whole_options"]

GRANTS = ("team_image", "team_network", "task_image", "task_network", "team_models",
          "team_tools")  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])


def _tasks(*, required: bool) -> Callable[[F], F]:
    return click.option(
        "--tasks",
        multiple=True,
        required=required,
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="A task, or a directory of tasks. Repeat for more.",
    )


SHARD = click.option(
    "--shard", default="1/1", metavar="I/N", help="Every N-th episode from the I-th."
)
OPTIONS = (
    click.option(
        "--trials", type=click.IntRange(1, 100_000), default=1, show_default=True, metavar="N"
    ),
    click.option(
        "--jobs",
        type=click.IntRange(1, 256),
        default=1,
        show_default=True,
        metavar="J",
        help="Episodes at the same time.",
    ),
    SHARD,
    click.option(
        "--seed",
        type=click.IntRange(-(1 << 62), 1 << 62),
        default=0,
        show_default=True,
        metavar="N",
    ),
    click.option(
        "-o",
        "--out",
        type=click.Path(path_type=Path),
        metavar="RUN",
        help="Where the run is kept; resumes when it exists.  [default: runs/TEAM-TIME]",
    ),
    click.option("--backend", metavar="auto|docker|bubblewrap", help="In place of the team's."),
    click.option(
        "--sign",
        type=click.Path(path_type=Path),
        metavar="KEY",
        help="Sign every seal with this private key, a PEM file.",
    ),
    click.option("--allow-team-image", is_flag=True, help="Let the team choose its image."),
    click.option("--allow-team-network", is_flag=True, help="Let the team ask for destinations."),
    click.option("--allow-task-image", is_flag=True, help="Let tasks choose their image."),
    click.option("--allow-task-network", is_flag=True, help="Let tasks ask for destinations."),
    click.option(
        "--allow-team-models",
        is_flag=True,
        help="Let the team call its model endpoints, with keys of your environment.",
    ),
    click.option(
        "--allow-team-tools",
        is_flag=True,
        help="Let the team's tools run outside its roles, with the networks they ask for.",
    ),
    click.option(
        "--grader-checks",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Marks of `check-grader`.  [default: grader-checks.json beside each task]",
    ),
    click.option(
        "--show",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="A directory of programs that roles may read, at its own path. Repeat for more.",
    ),
    click.option("--json", "as_json", is_flag=True, help="JSON on standard output."),
)


REPLAY = click.option(
    "--replay",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Answer for the models as they did in RUN: no model, key or network is needed.",
)
HANDOFF = click.option(
    "--handoff",
    default="full",
    show_default=True,
    metavar="prose|compressed|typed|full",
    help="What the next role is shown of a handoff.",
)


def episode_options(function: F) -> F:
    """Add the shared arguments and options to a command."""
    team = click.argument("team", type=click.Path(path_type=Path))
    return team(_tasks(required=True)(running_options(function)))


def running_options(function: F) -> F:
    """The same without ``team`` and ``tasks``, for a command that may run nothing."""
    return _added(function, (*OPTIONS, REPLAY, HANDOFF))


def whole_options(function: F) -> F:
    """As ``episode_options``, for a command whose plan is not shared out over machines."""
    team = click.argument("team", type=click.Path(path_type=Path))
    rest = [option for option in OPTIONS if option is not SHARD]
    return team(_tasks(required=True)(_added(function, rest)))


def _added(function: F, options: Sequence[Callable[[Any], Any]]) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def optional_tasks(function: F) -> F:
    """``--tasks``, which then says that there is something to run."""
    return _tasks(required=False)(function)


def asked(conditions: tuple[str, ...], given: dict[str, Any]) -> Asked:
    """What the shared options amount to."""
    from rolewall.grants import Grants
    from rolewall.plan import parse_shard
    from rolewall.roles import arm_named
    from rolewall.session import Asked

    return Asked(
        team=given["team"],
        tasks=given["tasks"],
        conditions=conditions,
        trials=given["trials"],
        jobs=given["jobs"],
        shard=parse_shard(given.get("shard", "1/1")),
        seed=given["seed"],
        out=given["out"],
        backend=given["backend"],
        sign=given["sign"],
        grader_checks=given["grader_checks"],
        replay=given.get("replay"),
        handoff=arm_named(given.get("handoff", "full")),
        shown=given["show"],
        grants=Grants(**{name: given[f"allow_{name}"] for name in GRANTS}),
    )
