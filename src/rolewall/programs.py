"""Whether every role's program is there, before anybody is asked for anything.

An agent's program that is missing would be found when its phase begins, after others were
paid for theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rolewall.errors import TeamError
from rolewall.plan import Episode, Plan
from rolewall.policies import compile_mounts
from rolewall.roles import (
    AGENTS_PATH,
    PRESETS,
    Agent,
    CommandAgent,
    PresetAgent,
    Team,
)
from rolewall.sandbox import Backend, BoxSpec, ZoneMount, looked_in, open_box, program_found
from rolewall.tasks import role_environment

__all__ = ["check_programs"]

LOOK = 'command -v "$1" >/dev/null 2>&1'
LOOK_SECONDS = 30.0


@dataclass(frozen=True)
class _Wanted:
    """A program that a role is played by, and the box where it must be."""

    role: str
    agent: Agent
    name: str
    spec: BoxSpec

    @property
    def known(self) -> tuple[object, ...]:
        """Two that are alike in this need be looked for once."""
        spec = self.spec
        return self.role, self.name, spec.image, spec.env.get("PATH"), spec.workdir


def check_programs(plan: Plan, episodes: Sequence[Episode]) -> None:
    """Hold that the programs of ``episodes`` are in their roles' boxes.

    What lies on this machine is looked for without a box; what only an image can have, in one
    box for each image. What a role may make itself, such as a program in the workspace, is
    not looked for.

    Raises:
        TeamError: one is not there.
        InfrastructureError: the box failed.
    """
    wanted = {one.known: one for episode in episodes for one in _wanted(plan, episode)}
    for one in wanted.values():
        found = _in_team(plan.team, one)
        if found is None:
            found = program_found(one.spec, one.name)
        if found is None and one.spec.image != "host":
            found = _in_box(plan.backend, one)
        if found is False:
            raise _missing(one)


def _wanted(plan: Plan, episode: Episode) -> Iterator[_Wanted]:
    roles = ("verifier",) if episode.work else episode.policy.roles
    for role in roles:
        agent = plan.team.agents[role]
        name = _program(agent, role, episode.task.id)
        if name and "PATH" not in agent.env:
            yield _Wanted(role, agent, name, _spec(plan, episode, role))


def _program(agent: Agent, role: str, task: str) -> str:
    if isinstance(agent, CommandAgent):
        return agent.argv(role=role, task=task)[0]
    if isinstance(agent, PresetAgent):
        return agent.program(role=role, task=task) or PRESETS[agent.preset].program
    return ""


def _spec(plan: Plan, episode: Episode, role: str) -> BoxSpec:
    """The role's box as far as its search path goes; nothing is mounted from it."""
    compiled = compile_mounts(episode.policy, role)
    works = episode.policy.zone("workspace").owner == role
    return BoxSpec(
        label="look",
        mounts=tuple(ZoneMount(m.zone, Path("/"), m.writable) for m in compiled.mounts),
        absent=tuple(hidden.zone for hidden in compiled.hidden),
        private=compiled.private,
        image=episode.image,
        limits=compiled.limits,
        tap=False,
        env=role_environment(episode.task, works=works),
        shown=tuple(map(Path, plan.info.shown)),
    )


def _in_team(team: Team, one: _Wanted) -> bool | None:
    """Whether the team has it among its own files; None where it would be no file of these."""
    if not one.name.startswith(f"{AGENTS_PATH}/"):
        return None
    return one.name.removeprefix(f"{AGENTS_PATH}/") in team.files_of(one.role)


def _in_box(backend: Backend, one: _Wanted) -> bool | None:
    """What a box of the image finds, with nothing in it; a path in a zone is left alone."""
    zones = {mount.zone for mount in one.spec.mounts} | {*one.spec.absent, *one.spec.private}
    if "/" in one.name and (one.name[0] != "/" or one.name.split("/")[1] in zones):
        return None
    spec = BoxSpec(
        label="look",
        mounts=(),
        image=one.spec.image,
        limits=one.spec.limits,
        tap=False,
        env=one.spec.env,
        shown=one.spec.shown,
    )
    with open_box(backend, spec) as box:
        argv = ["/bin/sh", "-c", LOOK, "sh", one.name]
        done = box.run(argv, cwd="/", timeout=LOOK_SECONDS)
    # An image without a shell leaves it to the phase.
    return None if done.absent or done.timed_out else done.returncode == 0


def _missing(one: _Wanted) -> TeamError:
    install = PRESETS[one.agent.preset].install if isinstance(one.agent, PresetAgent) else ""
    shown = "an install outside the image is shown to the box with --show DIR"
    where = looked_in(one.spec)
    if one.name.startswith(f"{AGENTS_PATH}/"):
        shown, where = "the team's own files are those beside the team file", AGENTS_PATH
    elif "/" in one.name:
        where = f"{one.name}, as a box of the image {one.spec.image} has it"
    return TeamError(
        f"the agent's program is not there; looked in {where}",
        place=f"roles.{one.role}.agent.{one.agent.kind}",
        got=one.name,
        expected="a program in the role's box",
        hint="; ".join(filter(None, [install, shown, "docs/agents.md tells more"])),
    )
