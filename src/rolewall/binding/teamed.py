"""A team's executor at the endpoint: a box for each episode, and the way to its model."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rolewall._files import read_beneath
from rolewall.binding.arms import Arm
from rolewall.binding.endpoint import approves, begin_lines, programs_of
from rolewall.binding.executors import APPROVED
from rolewall.binding.losing import Rates
from rolewall.binding.prompting import PROMPT, TARGET, TASK
from rolewall.binding.scoring import Deed, Scored
from rolewall.binding.stage import EXECUTOR_ROLE, Held, Scene, Stage, scene
from rolewall.binding.state import Try
from rolewall.episode import EpisodeModels
from rolewall.episode.models import open_model
from rolewall.errors import InfrastructureError, InputError
from rolewall.roles import (
    GATEWAY,
    HANDOFF_ZONES,
    MAX_HANDOFF,
    ChatAgent,
    Handoff,
    HumanAgent,
    ReplayAgent,
    Team,
    Turn,
    act,
    model_environment,
    read_handoff,
)
from rolewall.runmodels import RunModels
from rolewall.sandbox import check_stop, storage

__all__ = ["Cast", "check_executor"]

REPORT = HANDOFF_ZONES[EXECUTOR_ROLE]
SAID = 2000  # characters kept of what an executor says
PLAIN = "host"


def check_executor(team: Team, *, models: bool) -> None:
    """Hold a team's executor to what can be played here.

    Args:
        models: whether the caller lets it call its model.

    Raises:
        InputError: it cannot be played, or asks for what was not granted.
    """
    agent, place = team.agents[EXECUTOR_ROLE], f"{team.path}: roles.{EXECUTOR_ROLE}.agent"
    if isinstance(agent, HumanAgent | ReplayAgent):
        raise InputError("an agent that does not play by itself", place=place, got=agent.kind)
    if team.image != PLAIN:
        raise InputError("only the image host is played here", place=str(team.path), got=team.image)
    if agent.network:
        asked = ", ".join(map(str, agent.network))
        raise InputError("no network is given here", place=place, got=asked)
    if agent.access and not models:
        endpoint = agent.access.endpoint
        raise InputError(
            "the team sends what its roles see to a model's endpoint",
            place=f"{team.path}: models.{endpoint.name}",
            got=endpoint.url,
            hint="--allow-team-models grants it",
        )


@dataclass(frozen=True)
class Cast:
    """The executor of ``team``, and what it needs. ``transcripts`` is a directory."""

    team: Team
    models: RunModels
    transcripts: Path

    def play(self, one: Try, arm: Arm, stage: Stage, seed: int, rates: Rates) -> Scored:
        """Play one episode. What the infrastructure failed is an error of that episode."""
        made = scene(one, arm, TARGET, seed, rates)
        try:
            deed = self._deed(made, arm, stage, seed, rates)
        except InfrastructureError as error:
            check_stop(0)  # boxes break when the user asks to stop
            deed = Deed("error", "", 0, 0, False, error=str(error))
        return Scored(arm.name, one, made.artifacts(), made.hops[-1].text(), deed)

    def _deed(self, one: Scene, arm: Arm, stage: Stage, seed: int, rates: Rates) -> Deed:
        name = f"{arm.name}-{one.one.key}"
        models = self.models.of(name)
        lines = begin_lines(arm)
        if arm.control != "human-approval":
            held = Held.by_conditions([one], binding=arm.control == "hard-check")
            return self._turn(name, one, lines, held, stage, seed, models)
        first = self._turn(name, one, lines, Held.until_approved([one]), stage, seed, models)
        asked = first.decision == "blocked" or first.tries > 0
        if not (asked and approves(one, seed, rates)):
            return replace(first, asked=asked, approved=False if asked else None)
        held = Held.by_conditions([], binding=True)
        name = f"{name}-approved"
        second = self._turn(name, one, (APPROVED,), held, stage, seed, models)
        tries = first.tries + second.tries
        return replace(
            second, asked=True, approved=True, tries=tries, blocked=first.blocked,
            usage=[*first.usage, *second.usage],
        )  # fmt: skip

    def _turn(
        self,
        name: str,
        one: Scene,
        lines: tuple[tuple[str, str], ...],
        held: Held,
        stage: Stage,
        seed: int,
        models: EpisodeModels | None,
    ) -> Deed:
        """One turn of the executor over zones of its own."""
        agent = self.team.agents[EXECUTOR_ROLE]
        listens = agent.access is not None and not isinstance(agent, ChatAgent)
        files, programs = self._files(one, arm_lines=lines)
        wanted = ("workspace", "brief", REPORT, one.zone)
        with stage.zones(name, wanted) as zones, ExitStack() as beside:
            _write(zones["brief"] / "brief.md", one.hops[-1].text(*lines))
            turn = Turn(
                role=EXECUTOR_ROLE,
                task=TASK,
                prompt=PROMPT,
                nonce=None,
                seconds=self.team.limits.phase_seconds,
                transcript=self.transcripts / name,
                seed=seed,
            )
            with stage.box(
                name,
                zones,
                held,
                read=("brief",),
                files=files,
                programs=programs,
                listen=(GATEWAY,) if listens else (),
                env=_environment(seed, listens=listens),
                limits=self.team.limits,
            ) as box:
                model = open_model(models, agent, box, turn)
                if model:
                    beside.callback(model.close)
                acted = act(agent, box, model.turn if model else turn)
                box.kill_all()
                beside.close()
                if model and model.trouble:
                    raise model.trouble
            usage = [asdict(model.settle(acted))] if model else []
            touched = stage.touched(name, {one.zone: zones[one.zone]})[one.zone]
            left = _left(zones[REPORT])
        blocked = acted.outcome == "done" and left.status == "blocked"
        decision = "blocked" if blocked else acted.outcome
        return Deed(
            decision, left.text[:SAID], touched.tries, touched.blocked, touched.filled, usage=usage
        )

    def _files(
        self, one: Scene, *, arm_lines: tuple[tuple[str, str], ...]
    ) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """Files and programs of a box: the prompt, the team's own, and what the endpoint has."""
        files, programs = programs_of([one], arm_lines)
        files["prompt.md"] = PROMPT.encode()
        for name, data in self.team.files_of(EXECUTOR_ROLE).items():
            kind = programs if name in self.team.executables else files
            kind[f"agents/{name}"] = data
        return files, programs


def _environment(seed: int, *, listens: bool) -> dict[str, str]:
    own: dict[str, Any] = {"ROLE": EXECUTOR_ROLE, "TASK": TASK, "ROUND": 1, "SEED": seed}
    given = {f"ROLEWALL_{name}": str(value) for name, value in own.items()}
    return {**(model_environment() if listens else {}), **given}


def _write(path: Path, text: str) -> None:
    with storage(path):
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)


def _left(report: Path) -> Handoff:
    """What the executor left; an empty handoff for what is none."""
    place = f"{REPORT}/handoff.json"
    try:
        data = read_beneath(report, "handoff.json", MAX_HANDOFF)
    except (InputError, OSError):
        return read_handoff(None, place).handoff
    return read_handoff(data, place).handoff
