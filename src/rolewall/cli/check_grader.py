"""``rolewall check-grader``: may this grader be trusted?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rolewall.cli import settle

if TYPE_CHECKING:
    from rolewall.checkgrader import GraderCheck

__all__ = ["command"]


@click.command("check-grader")
@click.argument("tasks", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="TASK…")
@click.option(
    "--repeats",
    type=click.IntRange(2, 1000),
    default=3,
    show_default=True,
    metavar="N",
    help="Gradings of the same work, which must agree.",
)
@click.option(
    "--mutants",
    type=click.IntRange(0, 10_000),
    default=20,
    show_default=True,
    metavar="N",
    help="Mutants of each solution, at most.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 1 << 62),
    default=0,
    show_default=True,
    metavar="N",
    help="Chooses the mutants, and the start of a task that is generated.",
)
@click.option(
    "--min",
    "least",
    type=click.Choice(["A", "B", "C"]),
    default="B",
    show_default=True,
    help="The mark that every grader must have.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    metavar="J",
    help="Gradings at the same time.",
)
@click.option("--backend", default="auto", show_default=True, metavar="auto|docker|bubblewrap")
@click.option("--allow-task-image", is_flag=True, help="Let tasks choose their image.")
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where runs find the marks.  [default: grader-checks.json beside each task]",
)
@click.option("--no-save", is_flag=True, help="Keep the marks nowhere.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
@click.pass_context
def command(
    context: click.Context,
    *,
    tasks: tuple[Path, ...],
    repeats: int,
    mutants: int,
    seed: int,
    least: str,
    jobs: int,
    backend: str,
    allow_task_image: bool,
    save: Path | None,
    no_save: bool,
    as_json: bool,
) -> None:
    """Tell whether the grader of each TASK, or directory of tasks, may be trusted.

    Untouched work must fail, the reference solution must pass, each time;
    known shortcuts must not pass; small faults put into the solution must fail.

    Exit code 0: every grader has the mark asked for. 1: one has not. 3: one could
    not be run. 4: one could not be judged, for want of a solution
    or of a mutant of it.
    """
    import json

    from rolewall.checkgrader import (
        LEAST_MARKS,
        Extent,
        Keeping,
        Report,
        check_graders,
        grade_images,
    )
    from rolewall.sandbox import find_backend
    from rolewall.tasks import generated_tasks, image_starts, load_tasks
    from rolewall.terminal import counted, draw, listed, say

    if save is not None and no_save:
        raise click.UsageError("--save and --no-save exclude each other")
    left_out: list[str] = []
    named = load_tasks(tasks, left_out)
    images = grade_images(named, granted=allow_task_image)
    keeping = None if no_save else Keeping(named, save)
    ready = find_backend(backend)
    if left_out:
        say([f"left out, without a grader: {listed(left_out, 5)}"], sys.stderr)
    extent = Extent(repeats, mutants, seed)
    with image_starts(named, ready, granted=allow_task_image) as started:
        instances = generated_tasks(
            started, [seed], ready, image=lambda task: images[task.id], jobs=jobs
        )
        loaded = [instances(task, seed) for task in started]
        say([f"{counted(len(loaded), 'grader')} on {ready.name}"], sys.stderr)
        checks = check_graders(loaded, ready, extent, jobs=jobs, images=images, done=_tell)
    report = Report(tuple(checks), next(mark for mark in LEAST_MARKS if mark == least))
    if keeping:
        say(keeping.keep(checks, images, ready.name), sys.stderr)
    settle(context, report.exit_code)
    stream = sys.stderr if as_json else sys.stdout
    for number, sheet in enumerate(report.sheets()):
        stream.write("\n" if number else "")
        draw(sheet, stream)
    if as_json:
        click.echo(json.dumps(report.json(), indent=1))
    context.exit(report.exit_code)


def _tell(check: GraderCheck) -> None:
    from rolewall.terminal import say

    say([f"{check.task}: {check.mark}"], sys.stderr)
