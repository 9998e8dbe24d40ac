"""What a caller lets team and task files choose: an image, and network destinations.

Either file may come from a stranger. Neither may pick what its boxes are made of, or whom
they talk to, unless whoever runs it says so.
"""

from __future__ import annotations

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

    def image(self, team: Team, task: Task) -> str:
        """The image of a task's boxes: its own, else the team's.

        Raises:
            InputError: it is neither ``host`` nor granted.
        """
        if team.image != PLAIN and not self.team_image:
            raise _refused("the team", "an image", str(team.path), team.image, "team-image")
        if task.image in (None, team.image):
            return team.image
        if not self.task_image:
            place = str(task.directory / "task.yaml")
            raise _refused("the task", "an image of its own", place, task.image, "task-image")
        return task.image

    def network(self, team: Team, task: Task) -> dict[str, tuple[HostPort, ...]]:
        """Destinations by role: what the team gives that role, and what the task gives to all.

        Raises:
            InputError: there are some that were not granted.
        """
        asked = [place for places in team.network.values() for place in places]
        if asked and not self.team_network:
            words = ", ".join(map(str, asked))
            raise _refused("the team", "a network", str(team.path), words, "team-network")
        if task.network and not self.task_network:
            words, place = ", ".join(map(str, task.network)), str(task.directory / "task.yaml")
            raise _refused("the task", "a network", place, words, "task-network")
        return {role: (*team.network.get(role, ()), *task.network) for role in team.roles}


def _refused(who: str, what: str, place: str, got: str | None, flag: str) -> InputError:
    return InputError(
        f"{who} asks for {what}", place=place, got=got, hint=f"--allow-{flag} grants it"
    )
