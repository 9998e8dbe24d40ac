"""The command line. One file a command, imported when it is called.

``rolewall --help`` imports click and nothing else of weight.
"""

from __future__ import annotations

import importlib
import os
import sys

import click

from rolewall.errors import RolewallError

__all__ = ["main"]

COMMANDS = {
    "init": "Write a team, two tasks and a CI workflow that run as they are.",
    "doctor": "Tell what this machine can enforce and observe.",
    "run": "Run a team on tasks, each role behind its wall.",
    "compare": "Run the same tasks under several conditions, paired.",
    "gate": "Decide, for CI, whether a verifier may be trusted.",
    "show": "Show a run as a table, or an episode as a timeline.",
    "exec": "Run one command as one role over your own directories.",
    "audit": "Verify ledgers, manifests and seals of a run.",
    "clean": "Remove what a killed run left behind.",
}
USAGE, FAILED, INTERRUPTED = 2, 3, 130


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"rolewall.cli.{cmd_name}")
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
    sys.exit(_run())


def _run() -> int:
    try:
        result = cli.main(standalone_mode=False)
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _say("interrupted", INTERRUPTED)
    except click.ClickException as error:
        error.show()
        return USAGE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _explain(error)
    return result if isinstance(result, int) else 0


def _explain(error: Exception) -> int:
    if isinstance(error, RolewallError):
        return _say(str(error), error.exit_code)
    if isinstance(error, OSError):
        return _say(f"{error.strerror or error}: {error.filename or ''}", FAILED)
    if os.environ.get("ROLEWALL_DEBUG"):
        raise error
    name = type(error).__name__
    return _say(f"a bug in rolewall: {name}: {error} (ROLEWALL_DEBUG=1 shows more)", FAILED)


def _say(message: str, code: int) -> int:
    from rolewall.terminal import escape

    click.echo(f"rolewall: {escape(message)}", err=True)
    return code
