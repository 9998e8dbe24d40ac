"""What every kind of agent shares: a turn, how it went, and a command that is written down.

Whatever an agent does, it does inside the box, through ``rolewall-init``; the
harness writes nothing into a role's zones for it.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rolewall.roles.agents import Agent
from rolewall.roles.broker import ToolDoor
from rolewall.roles.door import ModelDoor
from rolewall.roles.evidence import Evidence, Kept, Results
from rolewall.roles.recorded import RecordedTurn
from rolewall.roles.transcript import Transcript
from rolewall.sandbox import Box, Completed, Output, Streams

__all__ = ["Acted", "Outcome", "Player", "Replayed", "Turn", "outcome_of"]

Outcome = Literal["done", "failed", "timeout", "violation", "disk", "memory", "budget"]
OWN_STEP_SECONDS = 30.0


@dataclass(frozen=True)
class Turn:
    """What one phase is about.

    Attributes:
        prompt: the generated prompt, as it lies at ``/rolewall/prompt.md``.
        nonce: the verifier's, else None.
        seconds: how long the phase may take.
        transcript: path of the files to write, without a suffix: ``.jsonl`` with a line
            for each command, ``.stdout`` and ``.stderr`` with all that was written.
        seed: the episode's.
        door: the way to the agent's model; None for an agent that has none.
        recorded: what an agent that does so is to do again.
        results: where what tools gave back is kept; None keeps nothing of it.
        tools: the way to the team's tools; None for a role that has none.
    """

    role: str
    task: str
    prompt: str
    nonce: str | None
    seconds: float
    transcript: Path
    seed: int = 0
    door: ModelDoor | None = None
    recorded: RecordedTurn | None = None
    results: Results | None = None
    tools: ToolDoor | None = None


@dataclass(frozen=True)
class Replayed:
    """How a recorded turn went when it was done again.

    Attributes:
        calls: how many calls were done again.
        drifted: of how many commands the result was another, or was not there then or now.
        left_out: how many recorded calls do nothing in a box, and were not done again.
        outcome: how the turn ended when it was recorded.
    """

    calls: int
    drifted: int
    left_out: int
    outcome: str


@dataclass
class Acted:
    """How a turn went. ``seconds`` is how long it took, and what it waited for its model.

    ``budget`` is the outcome of one that was refused a call of its model because its role's
    budget is spent; ``memory`` that of an agent that the kernel killed at the memory limit,
    and of one whose whole box it ended; a command that an agent saw killed is its own.
    ``own`` is how the agent's own program was started, where what it does is its team's word,
    or a person's.
    """

    outcome: Outcome = "done"
    returncode: int | None = None
    seconds: float = 0.0
    evidence: list[Evidence] = field(default_factory=list)
    replayed: Replayed | None = None
    own: tuple[str, ...] = ()


class Player:
    """Runs an agent's commands in its box, and writes down that they ran."""

    def __init__(self, agent: Agent, box: Box, turn: Turn, log: Transcript) -> None:
        self.box = box
        self.turn = turn
        self.acted = Acted()
        self._environment = agent.environment(role=turn.role, task=turn.task)
        self._log = log
        self._until = time.monotonic() + turn.seconds

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment of the agent's commands."""
        return self.box.environment(self._environment)

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
        stdin: bytes | int = b"",
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        streams: Streams | None = None,
        amend: Callable[[Completed], Completed] = lambda done: done,
    ) -> Completed:
        """Run a command of the agent's, and write down what came of it.

        Args:
            env: of this command besides the agent's, which wins.
            streams: where its output goes in place of the transcript's files.
            amend: makes of the result what is written down and returned.
        """
        begins = self._log.ends()
        done = amend(
            self.box.run(
                argv,
                cwd=cwd,
                env={**(env or {}), **self._environment},
                stdin=stdin,
                timeout=timeout,
                streams=streams or self._log.streams(),
            )
        )
        self._note(tool, arguments, done, begins)
        return done

    def _note(
        self, tool: str, arguments: dict[str, Any], done: Completed, begins: tuple[int, int]
    ) -> None:
        self.acted.returncode = done.returncode
        self.acted.evidence.append(self._evidence(tool, arguments, done))
        self._log.note(tool, arguments, done, begins)

    def _evidence(self, tool: str, arguments: dict[str, Any], done: Completed) -> Evidence:
        out = self._kept(done.stdout)
        err = self._kept(done.stderr) if done.stderr.size else None
        # The phase's name and a number: one of its kind in the whole episode.
        phase, number = self.turn.transcript.name, len(self.acted.evidence) + 1
        return Evidence(
            id=f"{phase}-{number}",
            role=self.turn.role,
            tool=tool,
            arguments=json.loads(json.dumps(arguments, sort_keys=True)),
            started=done.started,
            ended=done.ended,
            ok=done.returncode == 0,
            result=out.sha256,
            stderr=err.sha256 if err else None,
            size=out.size,
            truncated=out.truncated or bool(err and err.truncated),
        )

    def _kept(self, stream: Output) -> Kept:
        if self.turn.results is None:
            digest = hashlib.sha256(stream.data).hexdigest()
            return Kept(digest, stream.size, truncated=stream.size > 0)
        return self.turn.results.keep(stream.data, size=stream.size)

    def called(self, tool: str, arguments: Mapping[str, Any], seconds: float | None = None) -> None:
        """Write down what is about to be done, so that it can be done again. ``seconds`` is
        how long it may take."""
        self._log.call(tool, arguments, seconds=seconds)

    def write(self, path: str, body: Mapping[str, Any]) -> None:
        """As the role, inside its box: what it may not write, this cannot either."""
        self.called("leave", {"path": path, "body": body})
        data = json.dumps(body, indent=1).encode()
        command = ["/bin/sh", "-c", f"cat > {shlex.quote(path)}"]
        done = self.box.run(command, stdin=data, timeout=OWN_STEP_SECONDS)
        if done.returncode != 0:
            self.acted.outcome = "memory" if done.out_of_memory else "failed"


def outcome_of(done: Completed) -> Outcome:
    """How an agent's turn ended whose last command was ``done``."""
    if done.violation:
        return "violation"
    if done.disk_full:
        return "disk"
    if done.out_of_memory:
        return "memory"
    if done.timed_out:
        return "timeout"
    return "done" if done.returncode == 0 else "failed"
