"""``rolewall exec``: one command as one role over your own directories."""

from __future__ import annotations

import math
import os
import stat
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rolewall.cli import explain
from rolewall.cli._descriptors import Passage, Undelivered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rolewall.policies import Limits, Observe
    from rolewall.sandbox import Completed, WatchSummary

__all__ = ["command"]

ENDED = 124  # by rolewall: time, disk, or the budget of attempts
OWN_FAILURE = 125
UNREAD = 141  # as a command that SIGPIPE ended
MOST_MB = 1 << 20
NAMED = 3  # peeks in the line that sums them up


class _Misuse(click.UsageError):
    exit_code = OWN_FAILURE


class _Exec(click.Command):
    """Whatever of rolewall fails ends in a code that is not taken for the command's."""

    def make_context(self, *args: Any, **given: Any) -> click.Context:
        try:
            return super().make_context(*args, **given)
        except click.UsageError as error:
            raise _Misuse(error.format_message(), error.ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except Undelivered as error:
            if error.unread:
                return UNREAD
            return _fail(error)
        except Exception as error:
            return _fail(error)


class _Finite(click.FloatRange):
    """Without nan, which is neither below nor above any bound."""

    def convert(self, *given: Any) -> Any:
        number = super().convert(*given)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.")
        return number


def _fail(error: Exception) -> int:
    _say(explain(error)[1])
    return OWN_FAILURE


def _say(message: str) -> None:
    from rolewall.terminal import escape

    with suppress(OSError):
        click.echo(f"rolewall: {escape(message)}", err=True)


@click.command(
    name="exec",
    cls=_Exec,
    context_settings={"allow_interspersed_args": False},
)
@click.option("--role", required=True, metavar="NAME", help="The role that the command plays.")
@click.option("--backend", default="auto", show_default=True, metavar="auto|docker|bubblewrap")
@click.option("--image", default="host", show_default=True, help="A local image (docker only).")
@click.option(
    "--zone",
    "zones",
    multiple=True,
    required=True,
    metavar="NAME=DIR:read|write",
    help="A directory of yours, mounted at /NAME; NAME=hidden for none. Repeat for more.",
)
@click.option("--attempts", type=click.Path(path_type=Path), help="A new file for the ledger.")
@click.option(
    "--observe",
    type=click.Choice(["changes", "reads"]),
    default="changes",
    show_default=True,
    help="reads: also record opens for reading of what is hidden.",
)
@click.option("--timeout", type=_Finite(min=0, min_open=True), help="Seconds.")
@click.option("--env", "environment", multiple=True, metavar="KEY=VALUE")
@click.option(
    "--show",
    "shown",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A directory of programs that the box may read. Repeat for more.",
)
@click.option("--workdir", metavar="DIR", help="Directory in the box to start in.")
@click.option("--network", multiple=True, metavar="HOST:PORT", help="A destination to allow.")
@click.option("--memory-mb", type=click.IntRange(32, MOST_MB), default=2048, show_default=True)
@click.option("--pids", type=click.IntRange(8, 1 << 15), default=256, show_default=True)
@click.option("--cpus", type=_Finite(0, 1024, min_open=True), default=1.0, show_default=True)
@click.option("--disk-mb", type=click.IntRange(1, MOST_MB), default=1024, show_default=True)
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND…")
def command(
    role: str,
    backend: str,
    image: str,
    zones: tuple[str, ...],
    attempts: Path | None,
    observe: Observe,
    timeout: float | None,
    environment: tuple[str, ...],
    shown: tuple[Path, ...],
    workdir: str | None,
    network: tuple[str, ...],
    memory_mb: int,
    pids: int,
    cpus: float,
    disk_mb: int,
    argv: tuple[str, ...],
) -> int:
    """Run COMMAND as a role behind its wall, and record what it tried.

    The exit code and the output are the command's; 125 is rolewall's own
    failure, 124 a command that rolewall ended, 141 output that nobody reads.
    """
    from rolewall.library import open_sandbox
    from rolewall.policies import Limits
    from rolewall.zones import hidden_zones, parse_environment, parse_zones, zone_policy

    asked = parse_zones(zones)
    if observe == "reads":
        asked += hidden_zones(role, asked)
    _check_new(attempts)
    _check_workdir(workdir)
    limits = Limits(memory_mb=memory_mb, pids=pids, cpus=cpus, disk_mb=disk_mb)
    with open_sandbox(
        zone_policy(role, asked, network, limits),
        role,
        {zone.name: zone.directory for zone in asked if zone.directory},
        backend=backend,
        image=image,
        attempts=attempts,
        env=parse_environment(environment),
        observe=observe,
        shown=shown,
    ) as sandbox:
        done = sandbox.run(
            argv,
            cwd=workdir,
            stdin=0,
            timeout=timeout,
            stdout=Passage(1, "standard output"),
            stderr=Passage(2, "standard error"),
        )
        seen = sandbox.finish()
    # The command may have ended before the news of it came.
    done = replace(done, violation=done.violation or seen.violated)
    if observe == "reads":
        _say(_reads(seen))
    if why := _ended(done, timeout, limits):
        _say(why)
    for met in _met(done, sandbox.facts, limits):
        _say(met)
    return ENDED if _by_rolewall(done) else done.returncode


def _check_new(attempts: Path | None) -> None:
    """A ledger of one command is that command's alone."""
    from rolewall.errors import InputError

    if attempts and os.path.lexists(attempts) and not _empty(attempts):
        raise InputError(
            "there is something already", place=f"--attempts {attempts}", expected="a new file"
        )


def _check_workdir(workdir: str | None) -> None:
    from rolewall.errors import InputError

    if workdir and not workdir.startswith("/"):
        raise InputError(
            "not an absolute path", place="--workdir", got=workdir, expected="such as /workspace"
        )


def _empty(path: Path) -> bool:
    found = os.lstat(path)
    return stat.S_ISREG(found.st_mode) and found.st_size == 0


def _reads(seen: WatchSummary) -> str:
    """One line on what a command read."""
    from rolewall.terminal import counted

    named = [f"{target} by {program}" for program, target in seen.peeks[:NAMED]]
    more = seen.distinct_peeks - len(named)
    text = f"{counted(seen.count('peek'), 'peek')} at what is hidden"
    if named:
        text += f" ({', '.join([*named, f'{more} more'] if more > 0 else named)})"
    reads = counted(seen.reads, "other read")
    return f"{text}; {reads} in zones, {seen.reads_outside} elsewhere"


def _by_rolewall(done: Completed) -> bool:
    return done.timed_out or done.violation or done.disk_full


def _ended(done: Completed, timeout: float | None, limits: Limits) -> str:
    """What ended a command, where it was not the command itself."""
    if done.violation:
        return "the command was ended: it tried to cross the wall more often than is recorded"
    if done.disk_full:
        most = f"{limits.disk_mb} MiB (--disk-mb)"
        return f"the command was ended: its zones grew by more than {most}"
    if done.out_of_memory:
        most = f"{limits.memory_mb} MiB of memory (--memory-mb)"
        return f"the kernel killed the command beyond {most}; {done.returncode} is its own code"
    if done.timed_out:
        return f"the command was ended after {timeout:g} s (--timeout)"
    return ""


def _met(done: Completed, facts: Mapping[str, object], limits: Limits) -> Iterator[str]:
    """What a command met of its limits and outlived: it may not have noticed."""
    hit = facts.get("limits_hit")
    counts = hit if isinstance(hit, dict) else {}
    if (kills := counts.get("memory_mb", 0)) and not done.out_of_memory:
        processes = "a process" if kills == 1 else f"{kills} processes"
        yield f"the kernel killed {processes} beyond {limits.memory_mb} MiB of memory (--memory-mb)"
    if refused := counts.get("pids", 0):
        times = "once" if refused == 1 else f"{refused} times"
        yield f"a process beyond {limits.pids} was refused {times} (--pids)"
