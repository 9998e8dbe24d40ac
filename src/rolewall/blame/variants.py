"""The counterfactuals: one episode's team and task with one thing changed.

========== ==========================================================================
``same``      nothing: the control
``full``      the whole upstream state: the arm ``full``, lost fields of conditions put back
``spec``      that, and the executor reads the specification
``plan``      the reference plan in place of the planner's
``reference`` the reference solution in place of the executor's work, with nothing held
``untouched`` an executor that does nothing
========== ==========================================================================
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from rolewall._beneath import Root
from rolewall.blame.facts import Facts
from rolewall.blame.planner import Again, ask_again, planner_again
from rolewall.blame.upstream import ALTERED, stale
from rolewall.errors import TaskError
from rolewall.mutants import read_solution
from rolewall.roles import (
    MAX_HANDOFF,
    Agent,
    Arm,
    CommandAgent,
    Script,
    ScriptAgent,
    SealedHandoff,
    Team,
    parse_handoff,
)
from rolewall.tasks import Task

__all__ = ["REFERENCE_PLAN", "Variant", "variants_of"]

REFERENCE_PLAN = "reference/plan.json"
"""A plan that a task brings, as a planner would leave it. No role sees it."""

FOLDER = "executor/rolewall-reference"  # of the team's files, for the executor alone


@dataclass(frozen=True)
class Variant:
    """``why`` says why it cannot be played; else it is empty."""

    change: str
    team: Team
    task: Task
    arm: Arm
    reads_spec: bool = False
    why: str = ""


def variants_of(facts: Facts, team: Team, task: Task) -> tuple[Variant, ...]:
    """Those of the episode's failure, the smallest change first. Raises TaskError."""
    made = _Making(facts, team, task)
    if why := made.unplayable:
        return (made.unplayed("same", why),)
    if facts.failure == "verdict":
        return made.same(), made.untouched(), made.reference()
    upstream = (made.full(), made.spec(), made.plan()) if facts.planned else (made.feedback(),)
    return made.same(), *upstream, made.reference(), made.untouched()


class _Making:
    def __init__(self, facts: Facts, team: Team, task: Task) -> None:
        self._facts = facts
        self._team = team
        self._task = task
        self._arm: Arm = facts.record.handoff
        plans = facts.files.of("planner")
        self._plan: SealedHandoff | None = plans[-1].whole if plans else None

    @property
    def unplayable(self) -> str:
        """Why no change can be played; empty where any can."""
        return self._again.why if self._again else ""

    @cached_property
    def _again(self) -> Again | None:
        """Of a planner that may do something else the next time; None of any other."""
        agent = self._team.agents.get("planner")
        plain = isinstance(agent, CommandAgent) and agent.access is None
        if agent is None or self._plan is None or plain or isinstance(agent, ScriptAgent):
            return None
        return planner_again(self._facts, self._team)

    def same(self) -> Variant:
        return self._with("same", self._as_it_was())

    def full(self) -> Variant:
        lost = any(hop.lost for hop in self._facts.hops if hop.kind == "written")
        if self._arm == "full" and not lost and not any(stale(self._facts)):
            return self.unplayed("full", "the executor was shown all that there was")
        if self._plan is None:
            return self.unplayed("full", "there is no sealed plan")
        anew = list(ask_again(self._facts.files, [one for _, one in stale(self._facts)]))
        return self._with("full", {"planner": self._planner(self._whole(), anew)}, arm="full")

    def feedback(self) -> Variant:
        """``full`` of a team without a planner: nothing is cut of what the verifier hands back."""
        if self._arm == "full" or not self._facts.arriving:
            return self.unplayed("full", "the executor was shown all that there was")
        return self._with("full", {}, arm="full")

    def spec(self) -> Variant:
        if not self._facts.files.spec:
            return self.unplayed("spec", "no role of the run saw the specification")
        if self._plan is None:
            return self.unplayed("spec", "there is no sealed plan")
        made = self._with("spec", {"planner": self._planner(self._whole())}, arm="full")
        return replace(made, reads_spec=True)

    def plan(self) -> Variant:
        with Root(self._task.directory, TaskError) as root:
            if root.kind("reference") != "directory" or root.kind(REFERENCE_PLAN) != "file":
                return self.unplayed("plan", f"the task has no {REFERENCE_PLAN}")
            data = root.read(REFERENCE_PLAN, MAX_HANDOFF)
            place = root.place(REFERENCE_PLAN)
        body = parse_handoff(data, place).model_dump(mode="json", exclude={"schema_version"})
        digest = hashlib.sha256(data).hexdigest()
        return self._with("plan", {"planner": self._planner(body)}, arm="full", of=digest)

    def reference(self) -> Variant:
        solution = read_solution(self._task)
        if solution is None:
            return self.unplayed("reference", "the task has no reference solution")
        files = {f"{FOLDER}/{path}": one.data for path, one in solution.files.items()}
        executable = {f"{FOLDER}/{path}" for path, one in solution.files.items() if one.executable}
        steps = [f"rm -rf -- {shlex.quote(path)}" for path in solution.deleted]
        if files:
            steps.append(f"cp -R /rolewall/agents/{FOLDER}/. . && chmod -R u+w .")
        agents: dict[str, Agent] = {
            "executor": _script(self._team, "executor", steps, {"text": "It is done."})
        }
        if self._plan is not None:
            free = _body(self._plan) | {"conditions": []}
            agents["planner"] = self._planner(free)
        made = self._with("reference", agents, of=_digest(files))
        team = replace(
            made.team,
            contents=MappingProxyType({**made.team.contents, **files}),
            executables=made.team.executables | executable,
        )
        return replace(made, team=team, task=replace(self._task, conditions=()))

    def untouched(self) -> Variant:
        agent = _script(self._team, "executor", [], {"text": "It is done."})
        return self._with("untouched", {**self._as_it_was(), "executor": agent})

    def _as_it_was(self) -> dict[str, Agent]:
        """The planner, where it is not asked again."""
        if self._again is None or self._plan is None:
            return {}
        return {"planner": self._planner(_body(self._plan))}

    def _whole(self) -> dict[str, Any]:
        """The plan with every field that the task's conditions have."""
        assert self._plan is not None
        body = _body(self._plan)
        there = {one["id"]: one for one in body["conditions"]}
        for condition in self._facts.files.conditions:
            given = condition.model_dump(mode="json")
            had = there.setdefault(condition.id, given)
            for name, value in given.items():
                if value and (not had[name] or name in ALTERED):
                    had[name] = value
        return body | {"conditions": list(there.values())}

    def _planner(self, body: Mapping[str, Any], anew: Sequence[str] = ()) -> Agent:
        """The planner as it was, leaving ``body``: its own steps, or what the harness saw of it
        where it may do others the next time; then ``anew``."""
        agent = self._team.agents["planner"]
        if isinstance(agent, ScriptAgent):
            script = agent.script.model_dump(mode="json", exclude_none=True)
            script["steps"] += [{"run": step} for step in anew]
            return replace(agent, script=Script.model_validate(script | {"handoff": dict(body)}))
        if self._again:
            steps = self._again.steps()
        else:
            assert isinstance(agent, CommandAgent)
            steps = [_command(agent, self._task.id)]
        return _script(self._team, "planner", [*steps, *anew], body)

    def _with(
        self, change: str, agents: Mapping[str, Agent], *, arm: Arm | None = None, of: str = ""
    ) -> Variant:
        there = {role: agents.get(role, agent) for role, agent in self._team.agents.items()}
        files, executables = self._team.contents, self._team.executables
        if "planner" in agents and self._again:
            files = MappingProxyType({**files, **self._again.files})
            executables |= self._again.executables
        made = hashlib.sha256(
            f"{self._team.digest} {self._facts.record.key} {change} {of}".encode()
        )
        team = replace(
            self._team,
            agents=MappingProxyType(there),
            contents=files,
            executables=executables,
            digest=made.hexdigest(),
        )
        return Variant(change, team, self._task, arm or self._arm)

    def unplayed(self, change: str, why: str) -> Variant:
        return Variant(change, self._team, self._task, self._arm, why=why)


def _body(plan: SealedHandoff) -> dict[str, Any]:
    kept = {"status", "text", "steps", "conditions", "artifacts", "questions"}
    body = plan.model_dump(mode="json", include=kept)
    body["conditions"] = [
        one | {"forbids": one["forbids"] if isinstance(one["forbids"], list) else []}
        for one in body["conditions"]
    ]
    for artifact in body["artifacts"]:
        artifact["sha256"] = None  # the harness measures it anew
    return body


def _script(team: Team, role: str, steps: Iterable[str], handoff: Mapping[str, Any]) -> ScriptAgent:
    agent: Agent = team.agents[role]
    script = {"steps": [{"run": step} for step in steps], "handoff": dict(handoff)}
    return ScriptAgent(
        env=agent.env,
        network=agent.network,
        path=f"{role}/rolewall-blame.yaml",
        script=Script.model_validate(script),
    )


def _command(agent: CommandAgent, task: str) -> str:
    words = shlex.join(agent.argv(role="planner", task=task))
    if agent.prompt == "argument":
        return f'{words} "$(cat /rolewall/prompt.md)"'
    return f"{words} </rolewall/prompt.md" if agent.prompt == "stdin" else words


def _digest(files: Mapping[str, bytes]) -> str:
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(f"{len(files[path])} {path}\n".encode() + files[path])
    return total.hexdigest()
