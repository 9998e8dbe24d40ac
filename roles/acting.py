"""Agents at work: one role's turn in its box.

Whatever an agent does, it does inside the box, through ``rolewall-init``; the
harness writes nothing into a role's zones for it.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rolewall.errors import StorageError, TeamError
from rolewall.roles.script import ScriptStep
from rolewall.roles.seal import Evidence
from rolewall.roles.team import Agent, CommandAgent, ScriptAgent
from rolewall.roles.transcript import Transcript
from rolewall.sandbox import Box, Completed

__all__ = ["Acted", "Turn", "act"]

Outcome = Literal["done", "failed", "timeout", "violation", "disk", "memory"]
OWN_STEP_SECONDS = 30.0
HANDOFF_ZONES = {"planner": "plan", "executor": "report", "verifier": "feedback"}


@dataclass(frozen=True)
class Turn:
    """What one phase is about.

    Attributes:
        prompt: the generated prompt, as it lies at ``/rolewall/prompt.md``.
        nonce: the verifier's, else None.
        seconds: how long the phase may take.
        transcript: path of the files to write, without a suffix: ``.jsonl`` with a line
            for each command, ``.stdout`` and ``.stderr`` with all that was written.
    """

    role: str
    task: str
    prompt: str
    nonce: str | None
    seconds: float
    transcript: Path


@dataclass
class Acted:
    """How a turn went. ``seconds`` is the time its commands took.

    ``memory`` is the outcome of an agent that the kernel killed at the memory limit,
    and of one whose whole box it ended; a command that an agent saw killed is its own.
    """

    outcome: Outcome = "done"
    returncode: int | None = None
    seconds: float = 0.0
    evidence: list[Evidence] = field(default_factory=list)


def act(agent: Agent, box: Box, turn: Turn) -> Acted:
    """Let ``agent`` have its turn in ``box``.

    Raises:
        TeamError: a command agent's program is not there: nobody has played the role.
        BoxError: the box broke. An agent that fails is an outcome, not an error.
    """
    try:
        with Transcript.open(turn.transcript) as log:
            if isinstance(agent, CommandAgent):
                return _Command(agent, box, turn, log).run()
            return _Script(agent, box, turn, log).run()
    except OSError as error:
        raise StorageError(
            f"a transcript cannot be written: {error.strerror}", place=str(turn.transcript)
        ) from error


class _Player:
    """What both kinds share: running a command, and writing down that it ran."""

    def __init__(self, agent: Agent, box: Box, turn: Turn, log: Transcript) -> None:
        self.box = box
        self.turn = turn
        self.acted = Acted()
        self._environment = agent.environment(role=turn.role, task=turn.task)
        self._log = log
        self._until = time.monotonic() + turn.seconds

    @property
    def left(self) -> float:
        return max(0.0, self._until - time.monotonic())

    def play(
        self,
        tool: str,
        argv: list[str],
        arguments: dict[str, Any],
        *,
        timeout: float,
        stdin: bytes = b"",
    ) -> Completed:
        """Run a command of the agent's, and write down what came of it."""
        begins = self._log.ends()
        done = self.box.run(
            argv,
            env=self._environment,
            stdin=stdin,
            timeout=timeout,
            streams=self._log.streams(),
        )
        self._note(tool, arguments, done, begins)
        return done

    def _note(
        self, tool: str, arguments: dict[str, Any], done: Completed, begins: tuple[int, int]
    ) -> None:
        digest = hashlib.sha256(done.stdout.data + b"\0" + done.stderr.data).hexdigest()
        self.acted.seconds += done.ended - done.started
        self.acted.returncode = done.returncode
        self.acted.evidence.append(
            Evidence(
                id=f"{self.turn.role}-{len(self.acted.evidence) + 1}",
                role=self.turn.role,
                tool=tool,
                arguments=arguments,
                started=done.started,
                ended=done.ended,
                ok=done.returncode == 0,
                result=digest,
            )
        )
        self._log.note(tool, arguments, done, begins)


class _Command(_Player):
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
        self.acted.outcome = _outcome(done)
        return self.acted


class _Script(_Player):
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
                self.acted.outcome = _outcome(done)
                return self.acted
            if done.returncode != 0 and step.stop_on_failure:
                break
        self._hand_over()
        self._judge()
        return self.acted

    def _step(self, step: ScriptStep) -> Completed:
        argv = ["/bin/sh", "-c", step.command]
        if step.check is not None:
            argv = ["rolewall-check", "--", *argv]
        tool = "check" if step.check is not None else "run"
        timeout = min(self.left, step.timeout or self.left)
        done = self.play(tool, argv, {"command": step.command}, timeout=timeout)
        if step.id and done.returncode == 0:
            self._succeeded.add(step.id)
        return done

    def _hand_over(self) -> None:
        handoff = self._agent.script.handoff
        if handoff is None:
            return
        body = {"schema_version": 1} | handoff.model_dump(mode="json")
        self._write(f"/{HANDOFF_ZONES[self.turn.role]}/handoff.json", body)

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
        self._write("/verdict/verdict.json", body)

    def _write(self, path: str, body: dict[str, Any]) -> None:
        """As the role, inside its box: what it may not write, this cannot either."""
        data = json.dumps(body, indent=1).encode()
        command = ["/bin/sh", "-c", f"cat > {shlex.quote(path)}"]
        done = self.box.run(command, stdin=data, timeout=OWN_STEP_SECONDS)
        if done.returncode != 0:
            self.acted.outcome = "memory" if done.out_of_memory else "failed"


def _outcome(done: Completed) -> Outcome:
    if done.violation:
        return "violation"
    if done.disk_full:
        return "disk"
    if done.out_of_memory:
        return "memory"
    if done.timed_out:
        return "timeout"
    return "done" if done.returncode == 0 else "failed"
