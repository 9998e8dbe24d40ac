"""The ``command`` agent at work: one program, told once what to do."""

from __future__ import annotations

from rolewall.roles.absent import program_absent
from rolewall.roles.agents import CommandAgent
from rolewall.roles.playing import Acted, Player, Turn, outcome_of
from rolewall.roles.transcript import Transcript
from rolewall.sandbox import Box, Completed

__all__ = ["CommandPlayer", "play_command"]


class CommandPlayer(Player):
    def __init__(self, agent: CommandAgent, box: Box, turn: Turn, log: Transcript) -> None:
        super().__init__(agent, box, turn, log)
        self._agent = agent

    def run(self) -> Acted:
        argv = list(self._agent.argv(role=self.turn.role, task=self.turn.task))
        self.acted.own = tuple(argv)
        stdin = b""
        if self._agent.prompt == "argument":
            argv.append(self.turn.prompt)
        elif self._agent.prompt == "stdin":
            stdin = self.turn.prompt.encode()
        done = play_command(self, argv, stdin, self.turn.seconds)
        self.acted.outcome = outcome_of(done)
        return self.acted


def play_command(player: Player, argv: list[str], stdin: bytes, timeout: float) -> Completed:
    """Run a program, which may be given its prompt on standard input.

    Raises:
        TeamError: it is not there.
    """
    player.called("command", {"argv": argv, "prompt": bool(stdin)}, timeout)
    done = player.play("command", argv, {"argv": argv}, timeout=timeout, stdin=stdin)
    if done.absent:
        raise program_absent(
            player.turn.role,
            "command",
            argv[0],
            f"the agent's program cannot be started: {done.stderr.text().strip()}",
            where=player.environment["PATH"].replace(":", ", "),
        )
    return done
