"""A verifier's one turn on a staged change, in a box of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rolewall.code import code_version
from rolewall.episode import EpisodeModels, Setting
from rolewall.episode.handover import verdict_of
from rolewall.episode.held import Held
from rolewall.episode.phase import play
from rolewall.episode.played import Place, Played
from rolewall.episode.room import check_room
from rolewall.episode.shown import shown as show
from rolewall.episode.zones import Zones
from rolewall.errors import BoxError, InputError
from rolewall.graders import CommandSpec
from rolewall.grants import Grants
from rolewall.policies import LedgerTail, Policy, condition
from rolewall.record import VerdictRecord
from rolewall.reviewing.sent import unsent_lines
from rolewall.reviewing.staging import Change
from rolewall.roles import Team
from rolewall.sandbox import Backend, BlobStore, Supervisor, storage
from rolewall.tasks import Task

__all__ = ["Judged", "judge", "reviewer_policy", "room"]

NAME = "review"
# A review asks what the reviewer says, and never what is true: nothing is graded.
UNGRADED = CommandSpec(run=("false",))


@dataclass(frozen=True, slots=True)
class Judged:
    """The reviewer's phase, and its verdict. ``unsent`` counts lines of the change that its
    model was not sent; 0 for a reviewer that has none."""

    played: Played
    verdict: VerdictRecord
    unsent: int


def reviewer_policy(team: Team, task: Task, grants: Grants) -> Policy:
    """The enforced policy of the team less its planner: a change brings no plan.

    Raises:
        InputError: the team asks for a network that was not granted.
    """
    roles = tuple(role for role in team.roles if role != "planner")
    network = grants.network(team, task)
    return condition("enforced")(
        roles,
        limits=team.limits,
        network={role: to for role, to in network.items() if role in roles},
    )


def change_task(team: Team, seconds: float | None) -> Task:
    """A task in name only: what a phase has to know of one."""
    return Task(
        id=NAME,
        directory=team.directory,
        origin="native",
        spec="",
        brief="",
        workspace=None,
        grader=UNGRADED,
        grader_files=(),
        seconds=seconds or team.limits.phase_seconds,
        network=(),
        image=None,
        solution=None,
        digest="",
    )


def room(
    team: Team,
    backend: Backend,
    scratch: Path,
    directory: Path,
    *,
    grants: Grants,
    seconds: float | None,
    supervise: Callable[[], Supervisor],
    models: EpisodeModels | None,
    shown: tuple[Path, ...],
) -> Setting:
    """Where a review takes place. ``scratch`` and ``directory`` are new.

    Raises:
        InputError: the team asks for what was not granted.
        StorageError: a directory cannot be made.
    """
    task = change_task(team, seconds)
    policy = reviewer_policy(team, task, grants)
    for path in (scratch, directory, directory / "transcripts"):
        with storage(path):
            path.mkdir(mode=0o700, exist_ok=True)
    return Setting(
        key=NAME,
        task=task,
        team=team,
        policy=policy,
        condition=policy.name,
        trial=0,
        seed=0,
        image=grants.image(team, task),
        backend=backend,
        supervise=supervise,
        store=BlobStore(scratch / "blobs.git"),
        directory=directory,
        scratch=scratch / "zones",
        digests={"team": team.digest, "code": code_version()},
        seals=None,
        stopping=threading.Event(),
        shown=shown,
        models=models,
    )


def judge(setting: Setting, zones: Zones, change: Change) -> Judged:
    """Let the verifier judge what is staged. When this returns, nothing of it is alive.

    Raises:
        ProbeFailed: the wall does not stand; the reviewer has not run.
        InfrastructureError: the box, the tap or the disk failed, or the work was changed.
    """
    workspace, store = zones.path("workspace"), setting.store
    with show(workspace, change.start, store, lambda: change.work, setting.scratch / "aside"):
        before = zones.take()
        check_room(setting.scratch)
        place = Place("verifier", 1, 1, 0)
        played = play(
            setting, zones, place, before, LedgerTail(setting.ledger), Held(setting.policy)
        )
        check_room(setting.scratch)
        if played.changes.counts.cross_role:
            crossed = (found for found in played.changes.listed if found.cross_role)
            named = ", ".join(f"{found.zone}/{found.path}" for found in islice(crossed, 5))
            raise BoxError("what the reviewer judged was changed meanwhile", got=named)
        agent = setting.team.agents["verifier"]
        verdict = verdict_of(played, zones, setting)
    exchanges = setting.directory / "transcripts" / f"{place.name}.exchanges.jsonl"
    return Judged(played, verdict, unsent_lines(exchanges, change.diff) if agent.access else 0)


def check_evidence(path: Path) -> None:
    """Evidence of one review is that review's alone. Raises InputError."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(
            "there is something already", place=f"evidence: {path}", expected="a new directory"
        )
