"""What a caller lets team and task files choose: an image, network destinations, models.

Either file may come from a stranger. Neither may pick what its boxes are made of, or whom
they talk to, nor which of the caller's keys is sent where, unless whoever runs it says so.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from rolewall.errors import InputError
from rolewall.policies import HostPort
from rolewall.roles import Team
from rolewall.tasks import Task

__all__ = ["Grants"]

PLAIN = "host"


@dataclass(frozen=True, slots=True)
class Grants:
    """One flag of the command line each; without it what a file asks for is refused."""

    team_image: bool = False
    team_network: bool = False
    task_image: bool = False
    task_network: bool = False
    team_models: bool = False
    team_tools: bool = False

    def image(self, team: Team, task: Task) -> str:
        """The image of a task's boxes: its own, else the team's.

        Raises:
            InputError: it is neither ``host`` nor granted.
        """
        if team.image != PLAIN and not self.team_image:
            raise _refused("the team asks for an image", str(team.path), team.image, "team-image")
        if task.image in (None, team.image):
            return team.image
        if not self.task_image:
            place = str(task.directory / task.file)
            raise _refused("the task asks for an image of its own", place, task.image, "task-image")
        return task.image

    def network(self, team: Team, task: Task) -> dict[str, tuple[HostPort, ...]]:
        """Destinations by role: what the team gives that role, and what the task gives to all.
        Endpoints of models and what tools reach are none of them, but are held to their
        grants here as well.

        Raises:
            InputError: there are some that were not granted.
        """
        self.models(team)
        if not self.team_tools:
            _refuse_tools(team)
        asked = [place for places in team.network.values() for place in places]
        if asked and not self.team_network:
            words = ", ".join(map(str, asked))
            raise _refused("the team asks for a network", str(team.path), words, "team-network")
        if task.network and not self.task_network:
            words, place = ", ".join(map(str, task.network)), str(task.directory / task.file)
            raise _refused("the task asks for a network", place, words, "task-network")
        return {role: (*team.network.get(role, ()), *task.network) for role in team.roles}

    def models(self, team: Team) -> None:
        """Raises InputError where the team's models were not granted."""
        for endpoint in () if self.team_models else team.endpoints.values():
            sent = f", and the value of {endpoint.key}" if endpoint.key else ""
            raise _refused(
                f"the team sends what its roles see{sent} to a model's endpoint",
                f"{team.path}: models.{endpoint.name}",
                endpoint.url,
                "team-models",
            )


def _refuse_tools(team: Team) -> None:
    for tool in team.tools.values():
        reaches = ", ".join(map(str, tool.network))
        what = f"runs {shlex.join(tool.argv)}" if tool.argv else "fetches what roles ask for"
        raise _refused(
            f"the team has a tool that {what}",
            f"{team.path}: tools.{tool.name}",
            f"a network of {reaches}" if reaches else "no network",
            "team-tools",
        )


def _refused(what: str, place: str, got: str | None, flag: str) -> InputError:
    return InputError(what, place=place, got=got, hint=f"--allow-{flag} grants it")
