"""The ``human`` agent at work: a person, in a shell inside the role's box.

The shell has a terminal that is opened in the box. What passes between it and the person's own
are bytes through pipes: no descriptor of the harness's terminal is in the role's hands.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import IO, cast

from rolewall.errors import TeamError
from rolewall.roles.agents import PROMPT_PATH, HumanAgent
from rolewall.roles.humanterminal import Keys, Screen, require_terminal
from rolewall.roles.humantyped import Typed
from rolewall.roles.playing import Acted, Player, Turn, outcome_of
from rolewall.roles.recorded import ShellCall
from rolewall.roles.shellsession import play_shell
from rolewall.roles.transcript import FILE_LIMIT, Transcript
from rolewall.sandbox import Box, BoxSpec, Completed, Streams

__all__ = ["HumanPlayer"]

TERMINAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}\Z")
OVER = b"\nrolewall: the time of this phase is over\n"
EVERYTHING = 1 << 62


class HumanPlayer(Player):
    def __init__(self, agent: HumanAgent, box: Box, turn: Turn, log: Transcript) -> None:
        super().__init__(agent, box, turn, log)
        self._agent = agent
        self._place = f"roles.{turn.role}.agent.human"

    def run(self) -> Acted:
        """Let the person have the turn.

        Raises:
            InputError: there is no terminal.
            TeamError: the shell is not there.
        """
        require_terminal(self._place)
        with Screen(self._log.out, FILE_LIMIT - self._log.out.tell()) as screen:
            typed = Typed(self.called, lambda: screen.size)
            screen.show(_told(self.turn, self.box.spec, self._agent.shell))
            done = self._session(screen, typed)
            if done.timed_out:
                screen.show(OVER)
        typed.end()
        if typed.failure:
            raise TeamError(
                "the shell cannot be started",
                place=f"{self._place}.shell",
                got=typed.failure,
                expected="a program in the role's box",
            )
        # How the last command of a shell went is the shell's exit code, and nobody's word.
        outcome = outcome_of(done)
        self.acted.outcome = "done" if outcome == "failed" else outcome
        return self.acted

    def _session(self, screen: Screen, typed: Typed) -> Completed:
        with Keys(typed.keys, typed.resized) as keys:
            call = ShellCall(shell=self._agent.shell, rows=keys.size[0], columns=keys.size[1],
                             term=_term())  # fmt: skip
            streams = Streams(cast(IO[bytes], screen), cast(IO[bytes], typed), EVERYTHING)
            return play_shell(self, call, keys.reader, streams, lambda done: _shown(done, screen))


def _shown(done: Completed, screen: Screen) -> Completed:
    return replace(done, stdout=replace(done.stdout, sink_truncated=screen.cut))


def _term() -> str:
    """What the person's terminal is, for the programs in the box that draw on it."""
    found = os.environ.get("TERM", "")
    return found if TERMINAL.match(found) else "dumb"


def _told(turn: Turn, spec: BoxSpec, shell: str) -> bytes:
    """What the person is told before the shell: where the prompt is, and the access."""
    rows = [(f"/{mount.zone}", "write" if mount.writable else "read") for mount in spec.mounts]
    rows += [(f"/{name}", "write; yours alone, and gone at the end") for name in spec.private]
    rows += [(f"/{name}", "hidden") for name in spec.absent]
    wide = max(len(name) for name, _ in rows)
    lines = [
        "",
        f"You are the {turn.role} of task {turn.task}: {shell} in the role's box.",
        f"What to do is in {PROMPT_PATH}. You have {turn.seconds:g} seconds; exit, or Ctrl-D,"
        " ends your turn.",
        "What is typed is recorded, but for lines that the terminal does not show as they are"
        " typed.",
        "",
        *(f"  {name.ljust(wide)}  {access}" for name, access in rows),
        "",
    ]
    plain = ("".join(c if c.isprintable() else "?" for c in line) for line in lines)
    return "".join(f"{line}\n" for line in plain).encode()
