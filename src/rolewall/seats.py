"""Whether what a team's agents need of their caller is there, before anything starts."""

from __future__ import annotations

from rolewall.errors import InputError
from rolewall.roles import HumanAgent, ReplayAgent, Team, require_terminal

__all__ = ["check_seats", "has_person"]


def has_person(team: Team) -> bool:
    """Whether somebody at the terminal plays a role."""
    return any(isinstance(agent, HumanAgent) for agent in team.agents.values())


def check_seats(team: Team, jobs: int, *, replay: bool) -> None:
    """Hold a team to what the caller gives it.

    Args:
        jobs: episodes at the same time.
        replay: whether there is a recording.

    Raises:
        InputError: a person is to play and there is no terminal, or several episodes would
            share it; a recorded role is to be played again and there is no recording.
    """
    for role, agent in team.agents.items():
        place = f"{team.path}: roles.{role}.agent"
        if isinstance(agent, HumanAgent):
            require_terminal(f"{place}.human")
            if jobs > 1:
                raise InputError(
                    "a person plays one episode at a time",
                    place="--jobs", got=jobs, expected="1, for a team with a human agent",
                )  # fmt: skip
        if isinstance(agent, ReplayAgent) and not replay:
            raise InputError(
                "the agent does again what a run has recorded, and no run is given",
                place=f"{place}.replay",
                hint="--replay RUN names it",
            )
