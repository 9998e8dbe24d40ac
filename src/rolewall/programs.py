"""Whether every role's program is there, before anybody is asked for anything.

An agent's program that is missing would be found when its phase begins, after others were
paid for theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
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
    program_absent,
)
from rolewall.sandbox import (
    Box,
    BoxSpec,
    Program,
    ZoneMount,
    looked_in,
    open_box,
    programs_found,
)
from rolewall.tasks import role_environment
from rolewall.toolprograms import check_tool_programs

__all__ = ["check_programs"]

# Each program that the box would try for a name, and its first line as far as the kernel reads it
# (a program may have no second one): no builtin of the shell.
LOOK = """
line='
'
case $1 in
/*) set -- "$1" ;;
*)  name=$1; set -f; IFS=:; set --
    for place in $PATH; do case $place in /*) set -- "$@" "$place/$name" ;; esac; done ;;
esac
for path do
    if [ -f "$path" ] && [ -x "$path" ]; then
        if command -v head > /dev/null; then head=$(head -c 256 < "$path")
        elif command -v dd > /dev/null; then head=$(dd bs=256 count=1 < "$path")
        else head=; IFS= read -r head < "$path"
        fi
        head=${head%%"$line"*}
        case $head in '#!'*) ;; *) head= ;; esac
        printf '%s\\n%s\\n' "$path" "$head"
    fi
done
"""
LOOK_SECONDS = 30.0
DEEPEST = 5  # scripts that run one another, as far as the kernel follows them
ABSENT = "the agent's program is not there"


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

    A program is a file, no builtin of a shell, and a script needs its interpreter too. What
    lies on this machine is looked for without a box; what only the box can have, in one with
    nothing in it. What a role may make itself, such as a program in the workspace, is not
    looked for.

    Raises:
        TeamError: one is not there.
        InfrastructureError: the box failed.
    """
    wanted = {one.known: one for episode in episodes for one in _wanted(plan, episode)}
    for one in wanted.values():
        with ExitStack() as stack:
            if why := _Search(plan, one, stack).lacking(one.name):
                raise _refusal(one, why)
    check_tool_programs(plan, episodes)


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
        env=role_environment(episode.task, works=works, zones=plan.team.zones),
        shown=tuple(map(Path, plan.info.shown)),
    )


class _Search:
    """A look for one role's programs; its box, if one is needed, stays open on ``stack``."""

    def __init__(self, plan: Plan, one: _Wanted, stack: ExitStack) -> None:
        self._plan = plan
        self._role = one.role
        self._spec = one.spec
        self._stack = stack

    def lacking(self, name: str, depth: int = 0) -> str:
        """Why the program ``name`` cannot run in the role's box; empty where it can, and
        where only the phase will tell."""
        if depth >= DEEPEST:
            return ""
        why = self._reason(self._found(name), depth)
        if why not in ("", ABSENT) and self._spec.image != "host" and "/" not in name:
            # What is shown comes first on the search path; the image may have another.
            why = self._reason(self._in_box(name), depth)
        return why

    def _reason(self, found: tuple[Program, ...] | None, depth: int) -> str:
        if found is None:
            return ""
        reasons = [self._interpreter_lacking(program, depth) for program in found]
        return "" if "" in reasons else next(iter(reasons), ABSENT)

    def _interpreter_lacking(self, program: Program, depth: int) -> str:
        for need in program.needs:
            why = self.lacking(need, depth + 1)
            if why:
                gone = f"{program.path} is there, its interpreter {need} is not"
                return gone if why == ABSENT else why
        return ""

    def _found(self, name: str) -> tuple[Program, ...] | None:
        if name.startswith(f"{AGENTS_PATH}/"):
            files = self._plan.team.files_of(self._role)
            data = files.get(name.removeprefix(f"{AGENTS_PATH}/"))
            return () if data is None else (Program(name, data),)
        found = programs_found(self._spec, name)
        return self._in_box(name) if found is None else found

    def _in_box(self, name: str) -> tuple[Program, ...] | None:
        """What a box of the image finds, with nothing in it; None for what a zone may hold,
        and where the box cannot look."""
        if "/" in name and (name[0] != "/" or _in_zone(self._spec, name)):
            return None
        argv = ["/bin/sh", "-c", LOOK, "sh", name]
        done = self._box.run(argv, cwd="/", timeout=LOOK_SECONDS)
        if done.returncode != 0:  # an image without a shell leaves it to the phase
            return None
        lines = done.stdout.data.split(b"\n")
        pairs = zip(lines[::2], lines[1::2], strict=False)
        found = tuple(Program(path.decode("utf-8", "replace"), head) for path, head in pairs)
        places = self._spec.env.get("PATH", "").split(":") if "/" not in name else []
        by_zone = any(_in_zone(self._spec, place) for place in places)
        return None if by_zone and not found else found

    @cached_property
    def _box(self) -> Box:
        whole = self._spec
        spec = BoxSpec(
            label="look",
            mounts=(),
            image=whole.image,
            limits=whole.limits,
            tap=False,
            env=whole.env,
            shown=whole.shown,
        )
        return self._stack.enter_context(open_box(self._plan.backend, spec))


def _in_zone(spec: BoxSpec, path: str) -> bool:
    zones = {*(mount.zone for mount in spec.mounts), *spec.absent, *spec.private}
    return path[:1] == "/" and path.split("/")[1] in zones


def _refusal(one: _Wanted, why: str) -> TeamError:
    whole = why == ABSENT
    where = looked_in(one.spec)
    if whole and one.name.startswith(f"{AGENTS_PATH}/"):
        where = AGENTS_PATH
    elif whole and "/" in one.name:
        where = f"{one.name}, as a box of the image {one.spec.image} has it"
    preset = PRESETS[one.agent.preset] if isinstance(one.agent, PresetAgent) else None
    install = preset.install if preset and whole else ""
    return program_absent(one.role, one.agent.kind, one.name, why, where=where, install=install)
