"""The ``replay`` agent at work: what a recorded role did, again, without a model or its program.

Every call is carried out in the box, as the role. The wall decides anew what it may do.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, cast, get_args

from rolewall.errors import InputError
from rolewall.roles.agents import ReplayAgent
from rolewall.roles.chat.hands import Hands
from rolewall.roles.playcommand import play_command
from rolewall.roles.playing import Acted, Outcome, Player, Replayed, Turn, outcome_of
from rolewall.roles.playscript import play_step
from rolewall.roles.recorded import (
    Call,
    ChatCall,
    CommandCall,
    Leave,
    PatchAct,
    RecordedTurn,
    ReplaceAct,
    RunAct,
    Session,
    StepCall,
)
from rolewall.roles.recordedreading import result_digest
from rolewall.roles.replayacts import Done, do_patch, do_replace, do_run, drifted
from rolewall.roles.replaysession import do_session
from rolewall.roles.transcript import Transcript, line_of
from rolewall.sandbox import Box, Completed

__all__ = ["ReplayPlayer"]

SHOWN = 20_000  # characters; nothing here is shown to a model
# How a phase can have ended that none of its commands tells.
UNSEEN = ("failed", "timeout", "budget")


class ReplayPlayer(Player):
    def __init__(self, agent: ReplayAgent, box: Box, turn: Turn, log: Transcript) -> None:
        super().__init__(agent, box, turn, log)
        if turn.recorded is None:
            raise InputError("nothing recorded was given to be done again", got=turn.role)
        self._recorded: RecordedTurn = turn.recorded
        self._hands = Hands(self, output_chars=SHOWN, command_seconds=turn.seconds)
        self._results: list[str] = []
        self._done: list[Completed] = []
        self._drifted = 0

    def run(self) -> Acted:
        self._log.agent(self._recorded.agent)
        ended, number = None, 0
        while ended is None and number < len(self._recorded.calls):
            self._again(self._recorded.calls[number])
            ended, number = self._ended(), number + 1
        self.acted.outcome = ended or self._outcome()
        self.acted.replayed = Replayed(
            calls=number,
            drifted=self._count_drifted(number),
            left_out=sum(self._recorded.left_out.values()),
            outcome=self._recorded.outcome,
        )
        return self.acted

    def _again(self, call: Call) -> None:
        self._done = []
        failed = self._do(call, min(self.left, call.seconds or self.left))
        if call.expected is not None:
            done = Done(tuple(self._done), failed=failed)
            self._drifted += drifted(call.did, call.expected, done)

    def _do(self, call: Call, seconds: float) -> bool:
        """Whether it failed."""
        match call.did:
            case StepCall(tool=tool, command=command):
                play_step(self, tool, command, seconds)
            case CommandCall(argv=argv, prompt=prompt):
                stdin = self.turn.prompt.encode() if prompt else b""
                self.acted.own = argv
                play_command(self, list(argv), stdin, seconds)
            case Leave(path=path, body=body):
                self.write(path, self._with_nonce(body))
            case Session() as session:
                do_session(self, session, self._log.streams())
            case ChatCall(tool=chosen):
                self._hands.seconds = seconds
                return self._hands.do(chosen).failed
            case RunAct() as act:
                do_run(self, act, seconds)
            case ReplaceAct() as act:
                return do_replace(self, act, seconds)
            case PatchAct() as act:
                return do_patch(self, act, seconds)
        return any(done.returncode != 0 for done in self._done)

    def _with_nonce(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A verdict counts with the nonce of its own phase."""
        return {**body, "nonce": self.turn.nonce} if "nonce" in body else dict(body)

    def _note(
        self, tool: str, arguments: dict[str, Any], done: Completed, begins: tuple[int, int]
    ) -> None:
        super()._note(tool, arguments, done, begins)
        self._done.append(done)
        self._results.append(result_digest(line_of(tool, arguments, done, begins)))

    def _ended(self) -> Outcome | None:
        """How the turn has ended with the last call, if it has."""
        last = self._done[-1] if self._done else None
        if self.box.starved:
            return "memory"
        if last is not None and (last.violation or last.disk_full):
            return outcome_of(last)
        return "timeout" if self.left <= 0 else None

    def _outcome(self) -> Outcome:
        """Of a turn whose calls were all done. What a command agent's one command does is its
        outcome; how the others ended that the calls do not tell is what was recorded."""
        if self._recorded.agent == "command" and self._done:
            return outcome_of(self._done[-1])
        if self.acted.outcome != "done":
            return self.acted.outcome
        told = self._recorded.outcome if self._recorded.agent in ("chat", "acts") else "done"
        return cast(Outcome, told) if told in UNSEEN and told in get_args(Outcome) else "done"

    def _count_drifted(self, done: int) -> int:
        """What was recorded and was not done again has drifted as well."""
        if any(call.expected for call in self._recorded.calls):
            return self._drifted + len(self._recorded.calls) - done
        pairs = zip_longest(self._recorded.results, self._results)
        return sum(then != now for then, now in pairs)
