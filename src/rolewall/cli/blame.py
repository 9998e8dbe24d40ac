"""``rolewall blame``: which stage an episode failed at, and by what evidence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rolewall.cli._options import GRANTS, OPTIONS

if TYPE_CHECKING:
    from rolewall.blame import Replays
    from rolewall.rundir import Run

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])
# Of the options of a run those that a replay needs as well.
SHARED = (*(f"allow_{name}" for name in GRANTS), "shown", "show", "as_json")


def _shared(function: F) -> F:
    for option in reversed(OPTIONS):
        probe: Any = option(lambda: None)
        if probe.__click_params__[0].name in SHARED:
            function = option(function)
    return function


@click.command("blame")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("episode", required=False)
@click.option("--replays", is_flag=True, help="Play failed episodes again, with one change each.")
@click.option(
    "--team", type=click.Path(path_type=Path), metavar="TEAM", help="The team, for replays."
)
@click.option(
    "--tasks",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The tasks, for replays. Repeat for more.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="How often each change is played.",
)
@_shared
def command(
    run: Path, episode: str | None, replays: bool, team: Path | None, as_json: bool, **given: Any
) -> None:
    """Tell at which stage each failed episode of RUN failed, or one EPISODE.

    Without --replays by its record alone. With them it is played again: as it was, with all
    that there was upstream, with the specification, with the reference plan, with the
    reference executor. The smallest change that turns fail into pass names the stage. What
    two stages can explain is undecided.
    """
    import json
    import sys

    from rolewall.blame import blame_episode, blame_json, blame_lines, blame_run, blame_sheets
    from rolewall.rundir import open_run
    from rolewall.terminal import draw_all, say
    from rolewall.timeline import find_episode

    opened = open_run(run)
    playing = _replays(opened, team, given) if replays else None
    text = sys.stderr if as_json else sys.stdout
    if episode is None:
        found = blame_run(opened, playing)
        draw_all(blame_sheets(found), text)
    else:
        record = find_episode(opened.records, episode)
        found = (blame_episode(opened, record, playing),)
        say(blame_lines(found[0]), text)
    if as_json:
        click.echo(json.dumps({"run": str(opened.path), **blame_json(found)}, indent=1))


def _replays(run: Run, team: Path | None, given: dict[str, Any]) -> Replays:
    import sys

    from rolewall.blame import Replays
    from rolewall.errors import InputError
    from rolewall.grants import Grants
    from rolewall.roles import load_team
    from rolewall.sandbox import check_shown, find_backend
    from rolewall.tasks import load_tasks
    from rolewall.terminal import say

    if team is None or not given["tasks"]:
        raise InputError("replays need what was played", place="--replays",
                         expected="--team TEAM and --tasks PATH")  # fmt: skip
    loaded, tasks = load_team(team), load_tasks(given["tasks"])
    apart = {"the team": loaded.directory, "the run": run.path}
    apart |= {f"the task {task.id}": task.directory for task in tasks}
    return Replays(
        run=run,
        team=loaded,
        tasks=tasks,
        backend=find_backend(run.info.backend),
        grants=Grants(**{name: given[f"allow_{name}"] for name in GRANTS}),
        repeat=given["repeat"],
        shown=tuple(map(str, check_shown(given["show"], apart))),
        told=lambda line: say([line], sys.stderr),
    )
