"""The ``script`` agent at work: its steps, its handoff, its verdict."""

from __future__ import annotations

from typing import Literal

from rolewall.roles.agents import ScriptAgent
from rolewall.roles.handoff import HANDOFF_ZONES
from rolewall.roles.playing import Acted, Player, Turn, outcome_of
from rolewall.roles.script import ScriptStep
from rolewall.roles.transcript import Transcript
from rolewall.sandbox import Box, Completed

__all__ = ["ScriptPlayer", "play_step"]

StepTool = Literal["run", "check"]


class ScriptPlayer(Player):
    def __init__(self, agent: ScriptAgent, box: Box, turn: Turn, log: Transcript) -> None:
        super().__init__(agent, box, turn, log)
        self._agent = agent
        self._succeeded: set[str] = set()

    def run(self) -> Acted:
        for step in self._agent.script.steps:
            done = self._step(step)
            if done.timed_out and self.left <= 0:
                self.acted.outcome = "timeout"
                return self.acted
            if done.violation or done.disk_full or self.box.starved:
                self.acted.outcome = outcome_of(done)
                return self.acted
            if done.returncode != 0 and step.stop_on_failure:
                break
        self._hand_over()
        self._judge()
        return self.acted

    def _step(self, step: ScriptStep) -> Completed:
        tool: StepTool = "check" if step.check is not None else "run"
        done = play_step(self, tool, step.command, min(self.left, step.timeout or self.left))
        if step.id and done.returncode == 0:
            self._succeeded.add(step.id)
        return done

    def _hand_over(self) -> None:
        handoff = self._agent.script.handoff
        if handoff is None:
            return
        body = {"schema_version": 1} | handoff.model_dump(mode="json")
        self.write(f"/{HANDOFF_ZONES[self.turn.role]}/handoff.json", body)

    def _judge(self) -> None:
        word = self._agent.script.decide(frozenset(self._succeeded))
        if word is None:
            return
        checks = [
            {"name": step.id, "ok": step.id in self._succeeded, "evidence": step.command[:2000]}
            for step in self._agent.script.steps
            if step.id
        ]
        body = {
            "schema_version": 1,
            "nonce": self.turn.nonce,
            "verdict": word,
            "summary": self._agent.script.summary,
            "checks": checks,
            "commands": [s.command[:2000] for s in self._agent.script.steps if s.check],
        }
        self.write("/verdict/verdict.json", body)


def play_step(player: Player, tool: StepTool, command: str, timeout: float) -> Completed:
    """Run a shell command in the role's box, or in the check box."""
    argv = ["/bin/sh", "-c", command]
    if tool == "check":
        argv = ["rolewall-check", "--", *argv]
    arguments = {"command": command}
    player.called(tool, arguments, timeout)
    return player.play(tool, argv, arguments, timeout=timeout)
