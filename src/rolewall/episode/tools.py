"""The way of one phase's role to its team's tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rolewall.episode.held import Held
from rolewall.episode.setting import Setting
from rolewall.errors import InfrastructureError, TeamError
from rolewall.record import PhaseTools
from rolewall.roles import (
    TOOL_SOCKET,
    TOOLS,
    Account,
    Acted,
    Admission,
    Holds,
    Runner,
    ToolBoxes,
    ToolDoor,
    ToolService,
    Turn,
)
from rolewall.sandbox import Box

__all__ = ["PhaseWithTools", "open_tools"]


class PhaseWithTools:
    """The broker's door of a phase that is under way.

    Attributes:
        turn: the phase's, which knows the way.
    """

    def __init__(self, door: ToolDoor, service: ToolService, turn: Turn) -> None:
        self.turn = replace(turn, tools=door)
        self._door = door
        self._service = service

    @property
    def trouble(self) -> InfrastructureError | TeamError | None:
        """What makes the phase say nothing about its agent; looked at after ``close``."""
        return self._door.trouble

    def close(self) -> None:
        """Raises BoxError, StorageError."""
        self._service.close()
        self._door.close()
        self._service.join()

    def settle(self, acted: Acted) -> PhaseTools:
        """What was asked of tools; every call is evidence."""
        acted.evidence = sorted([*acted.evidence, *self._door.evidence], key=lambda e: e.started)
        return PhaseTools(**vars(self._door.use))


def open_tools(setting: Setting, box: Box, turn: Turn, held: Held) -> PhaseWithTools | None:
    """The way to tools for one phase; None for a role that has none.

    Raises:
        StorageError: calls cannot be recorded.
    """
    if TOOL_SOCKET not in box.listeners:
        return None
    tools = setting.team.tools
    mine = {name: tool for name, tool in tools.items() if turn.role in tool.roles}
    others = frozenset(tools) - frozenset(mine)
    phase, record = turn.transcript.name, turn.transcript.with_suffix(f".{TOOLS}")
    door = ToolDoor(
        phase,
        Admission(mine, others, Holds(held.tools, held.binding)),
        setting.shelf,
        Runner(_boxes(setting), turn.seconds),
        Account(turn.role, phase, record, turn.results),
    )
    return PhaseWithTools(door, ToolService(box.listeners.pop(TOOL_SOCKET), door), turn)


def _boxes(setting: Setting) -> ToolBoxes:
    kinds: Mapping[bool, dict[str, bytes]] = {True: {}, False: {}}
    for name, data in setting.team.files_of("").items():  # nobody's: no role's own are there
        kinds[name in setting.team.executables][f"agents/{name}"] = data
    return ToolBoxes(
        backend=setting.backend,
        image=setting.image,
        limits=setting.team.limits,
        files=kinds[False],
        programs=kinds[True],
        absent=tuple(zone.name for zone in setting.policy.zones if not zone.private),
        shown=setting.shown,
        task=setting.task.id,
    )
