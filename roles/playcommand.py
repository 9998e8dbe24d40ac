"""The ``command`` agent at work: one program, told once what to do."""

from __future__ import annotations

from rolewall.errors import TeamError
from rolewall.roles.agents import CommandAgent
from rolewall.roles.playing import Acted, Player, Turn, outcome_of
from rolewall.roles.transcript import Transcript
from rolewall.sandbox import Box

__all__ = ["CommandPlayer"]


class CommandPlayer(Player):
    def __init__(self, agent: CommandAgent, box: Box, turn: Turn, log: Transcript) -> None:
        super().__init__(agent, box, turn, log)
        self._agent = agent

    def run(self) -> Acted:
        argv = list(self._agent.argv(role=self.turn.role, task=self.turn.task))
        stdin = b""
        if self._agent.prompt == "argument":
            argv.append(self.turn.prompt)
        elif self._agent.prompt == "stdin":
            stdin = self.turn.prompt.encode()
        done = self.play("command", argv, {"argv": argv}, timeout=self.turn.seconds, stdin=stdin)
        if done.absent:
            raise TeamError(
                f"the agent's program cannot be started: {done.stderr.text().strip()}",
                place=f"roles.{self.turn.role}.agent.command",
                got=argv[0],
                expected="a program in the role's box",
                hint="the team's own files are at {agents}; docs/write-a-team.md tells more",
            )
        self.acted.outcome = outcome_of(done)
        return self.acted
