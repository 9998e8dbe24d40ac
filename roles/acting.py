"""Agents at work: one role's turn in its box, whatever plays it."""

from __future__ import annotations

import time

from rolewall.errors import StorageError
from rolewall.roles.agents import (
    Agent,
    ChatAgent,
    CommandAgent,
    HumanAgent,
    PresetAgent,
    ReplayAgent,
    ScriptAgent,
)
from rolewall.roles.chat import ChatPlayer
from rolewall.roles.human import HumanPlayer
from rolewall.roles.playcommand import CommandPlayer
from rolewall.roles.playing import Acted, Turn
from rolewall.roles.playscript import ScriptPlayer
from rolewall.roles.presets import PRESETS, PresetPlayer
from rolewall.roles.replay import ReplayPlayer
from rolewall.roles.transcript import Transcript
from rolewall.sandbox import Box

__all__ = ["act"]


def act(agent: Agent, box: Box, turn: Turn) -> Acted:
    """Let ``agent`` have its turn in ``box``.

    Raises:
        TeamError: an agent's program is not there: nobody has played the role.
        BoxError: the box broke. An agent that fails is an outcome, not an error.
    """
    try:
        with Transcript.open(turn.transcript) as log:
            if not isinstance(agent, ReplayAgent):  # that one says whose calls it repeats
                log.agent(agent.kind)
            began = time.monotonic()
            acted = _play(agent, box, turn, log)
            acted.seconds = time.monotonic() - began
            return acted
    except OSError as error:
        raise StorageError(
            f"a transcript cannot be written: {error.strerror}", place=str(turn.transcript)
        ) from error


def _play(agent: Agent, box: Box, turn: Turn, log: Transcript) -> Acted:
    if isinstance(agent, CommandAgent):
        return CommandPlayer(agent, box, turn, log).run()
    if isinstance(agent, ChatAgent):
        return ChatPlayer(agent, box, turn, log).run()
    if isinstance(agent, ScriptAgent):
        return ScriptPlayer(agent, box, turn, log).run()
    if isinstance(agent, PresetAgent):
        return PresetPlayer(agent, PRESETS[agent.preset], box, turn, log).run()
    if isinstance(agent, HumanAgent):
        return HumanPlayer(agent, box, turn, log).run()
    return ReplayPlayer(agent, box, turn, log).run()
