"""The command line. One file a command, imported when it is called.

``rolewall --help`` imports click and nothing else of weight.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from contextlib import suppress

import click

from rolewall.cli._descriptors import claim_descriptors, flush_output
from rolewall.cli._signals import interruptible
from rolewall.errors import RolewallError

__all__ = ["explain", "main", "settle", "settled"]

COMMANDS = {
    "init": "Write a team, two tasks and a CI workflow that run as they are.",
    "doctor": "Tell what this machine can enforce and observe.",
    "run": "Run a team on tasks, each role behind its wall.",
    "compare": "Compare the same tasks under several conditions, paired.",
    "power": "Tell how many episodes a planned gate or comparison needs.",
    "calibrate": "Try the verifier alone on work of known truth.",
    "binding": "See whether a condition that binds survives its handoffs.",
    "gate": "Decide, for CI, whether a verifier may be trusted.",
    "report": "Write what happened as one HTML file, with plots.",
    "measures": "Tell what handoffs kept, what planning took, who repaired and who harmed.",
    "blame": "Tell which stage an episode failed at, and by what evidence.",
    "show": "Show a run as a table, or an episode as a timeline.",
    "export": "Write what the agents said and did, for the tools of others.",
    "exec": "Run one command as one role over your own directories.",
    "audit": "Verify ledgers, manifests and seals of a run.",
    "attest": "Sign the seals of a run.",
    "check-grader": "Tell whether a grader may be trusted.",
    "clean": "Remove what a killed run left behind.",
}
USAGE, FAILED, INTERRUPTED = 2, 3, 130
NAME, COMPLETION = "rolewall", "_ROLEWALL_COMPLETE"
SETTLED = "rolewall.settled"


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"rolewall.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rolewall")
def cli() -> None:
    """Run planner / executor / verifier teams behind real walls.

    Every attempt to cross a wall is recorded, and the work is graded, so that
    you know how often the verifier approves broken work.

    Exit codes: 0 holds, 1 gate failed, 2 usage or bad input, 3 the
    infrastructure failed, 4 not enough evidence to decide, 130 interrupted.
    """


def main() -> None:
    """The console script: every error is one message and one exit code."""
    claim_descriptors()
    code, message = _run()
    if (failed := flush_output()) is not None:
        code, message = code or FAILED, f"standard output: {failed.strerror}"
    if message:
        with suppress(OSError):
            click.echo(f"rolewall: {_escaped(message)}", err=True)
    flush_output()
    if code == INTERRUPTED and _threads_left():
        os._exit(code)  # who broke off an orderly end does not wait for workers either
    sys.exit(code)


def _threads_left() -> bool:
    return any(not t.daemon for t in threading.enumerate() if t is not threading.main_thread())


def _run() -> tuple[int, str]:
    try:
        with interruptible():
            result = _invoke()
    except click.exceptions.Exit as error:
        return error.exit_code, ""
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED, "interrupted"
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        return max(USAGE, error.exit_code), ""
    except _Settled as error:
        return error.code, str(error)
    except Exception as error:
        return explain(error)
    return (result if isinstance(result, int) else 0), ""


def settle(context: click.Context, code: int) -> None:
    """Decide the exit code before anything is printed.

    Output that cannot be delivered makes 0 a failure and leaves any other code as it is.
    """
    context.find_root().meta[SETTLED] = code


def settled(context: click.Context) -> bool:
    """Whether the exit code is decided."""
    return SETTLED in context.find_root().meta


def _invoke() -> object:
    """Without click's own ``main``, which takes every EPIPE, of a socket too, for exit code 1."""
    if COMPLETION in os.environ:
        return cli.main(prog_name=NAME)
    with cli.make_context(NAME, sys.argv[1:]) as context:
        try:
            return cli.invoke(context)
        except OSError as error:
            code = context.meta.get(SETTLED)
            if not code:
                raise
            raise _Settled(code, explain(error)[1]) from error


class _Settled(Exception):
    """A decision other than 0 that could not be printed."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def explain(error: Exception) -> tuple[int, str]:
    """The exit code and the one message of an error."""
    if isinstance(error, RolewallError):
        return error.exit_code, str(error)
    if isinstance(error, OSError):
        place = f": {error.filename}" if error.filename else ""
        return FAILED, f"{error.strerror or error}{place}"
    if os.environ.get("ROLEWALL_DEBUG"):
        raise error
    name = type(error).__name__
    return FAILED, f"a bug in rolewall: {name}: {error} (ROLEWALL_DEBUG=1 shows more)"


def _escaped(message: str) -> str:
    from rolewall.terminal import escape

    return escape(message)
