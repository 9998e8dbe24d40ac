"""What goes wrong around an episode: its error, or a warning, and never the run's end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.errors import BackendUnavailable, BoxError, RolewallError
from rolewall.plan import Plan, make_plan
from rolewall.roles import load_team
from rolewall.run import run_plan
from rolewall.sandbox import Backend, BoxSpec, Finding, Launched, find_backend
from rolewall.tasks import load_tasks

if TYPE_CHECKING:
    from conftest import Studio

pytestmark = pytest.mark.bubblewrap


class Stuck:
    """A backend that cannot remove what a dead harness left."""

    def __init__(self, real: Backend, why: RolewallError) -> None:
        self.name = real.name
        self._real, self._why = real, why

    def launch(self, spec: BoxSpec) -> Launched:
        return self._real.launch(spec)

    def diagnose(self) -> list[Finding]:
        return self._real.diagnose()

    def clean(self) -> list[str]:
        raise self._why


def planned(studio: Studio, backend: Backend, *, trials: int = 1) -> Plan:
    team = load_team(studio.team(verifier={"verdict": "approve"}))
    return make_plan(team, load_tasks([studio.task()]), ["enforced"], backend, trials=trials)


def test_an_episode_without_a_place_is_an_error_and_the_next_one_runs(
    studio: Studio, tmp_path: Path
) -> None:
    plan, out = planned(studio, find_backend("bubblewrap"), trials=2), tmp_path / "run"

    def take_place(_: int) -> None:
        (out / "scratch" / plan.episodes[0].key / "zones").mkdir(parents=True)

    run = run_plan(plan, out, accepted=take_place)
    assert {r.trial: r.status for r in run.records} == {0: "error", 1: "complete"}
    (failed,) = (r.error for r in run.records if r.error)
    assert failed.kind == "StorageError" and "file exists" in failed.message
    again = run_plan(plan, out)
    assert [r.status for r in again.records] == ["complete", "complete"]


def test_what_cannot_be_cleaned_stands_in_nobodys_way(studio: Studio, tmp_path: Path) -> None:
    backend = Stuck(find_backend("bubblewrap"), BoxError("a box could not be removed", got="x"))
    told: list[str] = []
    run = run_plan(planned(studio, backend), tmp_path / "run", warn=told.append)
    assert [r.status for r in run.records] == ["complete"]
    (line,) = told
    assert line.startswith("not all that dead harnesses left is removed: a box could not be")


def test_an_engine_that_does_not_answer_is_the_runs_end(studio: Studio, tmp_path: Path) -> None:
    backend = Stuck(find_backend("bubblewrap"), BackendUnavailable("no answer"))
    with pytest.raises(BackendUnavailable):
        run_plan(planned(studio, backend), tmp_path / "run")
