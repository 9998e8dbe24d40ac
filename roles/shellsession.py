"""A shell on a terminal in a box, whoever types there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rolewall.roles.playing import Player
from rolewall.roles.recorded import ShellCall
from rolewall.sandbox import Completed, Output, Streams

__all__ = ["SHELL", "play_shell"]

INIT = "/rolewall/init"
SHELL = "shell"  # the call of a session, and its line in the transcript


def play_shell(
    player: Player,
    call: ShellCall,
    frames: int,
    streams: Streams,
    amend: Callable[[Completed], Completed],
) -> Completed:
    """Run a shell until it ends, and write down that it ran.

    Args:
        frames: a descriptor that what is typed comes from; ``sandbox/init/README.md`` tells
            how, and what ``streams.stderr`` is given. None of that is the shell's, and it is
            not part of the transcript.
        amend: see ``Player.play``.
    """
    player.acted.own = (call.shell,)
    player.called(SHELL, call.model_dump(), player.left)
    return player.play(
        SHELL,
        [INIT, "pty", str(call.rows), str(call.columns), call.shell],
        {"shell": call.shell},
        timeout=player.left,
        stdin=frames,
        env={"TERM": call.term},
        streams=streams,
        amend=lambda done: amend(replace(done, stderr=Output(b"", 0, truncated=False))),
    )
