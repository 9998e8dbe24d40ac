"""``rolewall exec``: one command as one role over your own directories."""

from __future__ import annotations

import sys
from pathlib import Path

import click

__all__ = ["command"]

OWN_FAILURE = 125
TIMED_OUT = 124


@click.command(
    name="exec",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
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
    help="A directory of yours, mounted at /NAME. Repeat for more.",
)
@click.option("--attempts", type=click.Path(path_type=Path), help="Write the ledger here.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds.")
@click.option("--env", "environment", multiple=True, metavar="KEY=VALUE")
@click.option("--workdir", metavar="DIR", help="Directory in the box to start in.")
@click.option("--network", multiple=True, metavar="HOST:PORT", help="A destination to allow.")
@click.option("--memory-mb", type=click.IntRange(min=16), default=2048, show_default=True)
@click.option("--pids", type=click.IntRange(min=2), default=256, show_default=True)
@click.option("--cpus", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True)
@click.option("--disk-mb", type=click.IntRange(min=1), default=1024, show_default=True)
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND…")
def command(
    role: str,
    backend: str,
    image: str,
    zones: tuple[str, ...],
    attempts: Path | None,
    timeout: float | None,
    environment: tuple[str, ...],
    workdir: str | None,
    network: tuple[str, ...],
    memory_mb: int,
    pids: int,
    cpus: float,
    disk_mb: int,
    argv: tuple[str, ...],
) -> None:
    """Run COMMAND as a role behind its wall, and record what it tried.

    The exit code and the output are the command's; 125 is rolewall's own
    failure, 124 a command that took too long.
    """
    from rolewall.errors import RolewallError
    from rolewall.library import open_sandbox
    from rolewall.policies import Limits
    from rolewall.terminal import escape
    from rolewall.zones import parse_environment, parse_zones, zone_policy

    try:
        asked = parse_zones(zones)
        limits = Limits(memory_mb=memory_mb, pids=pids, cpus=cpus, disk_mb=disk_mb)
        policy = zone_policy(role, asked, network, limits)
        with open_sandbox(
            policy,
            role,
            {zone.name: zone.directory for zone in asked},
            backend=backend,
            image=image,
            attempts=attempts,
            env=parse_environment(environment),
        ) as sandbox:
            done = sandbox.run(
                argv,
                cwd=workdir,
                stdin=sys.stdin.fileno(),
                timeout=timeout,
                stdout=sys.stdout.buffer,
                stderr=sys.stderr.buffer,
            )
            sandbox.finish()
    except RolewallError as error:
        click.echo(f"rolewall: {escape(str(error))}", err=True)
        sys.exit(OWN_FAILURE)
    sys.exit(TIMED_OUT if done.timed_out else done.returncode)
