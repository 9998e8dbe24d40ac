"""A wall that does not stand stops the episode before the agent starts."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.plan import make_plan
from rolewall.roles import load_team
from rolewall.run import run_plan
from rolewall.sandbox import Backend, BoxSpec, Finding, Launched
from rolewall.session import exit_code
from rolewall.tasks import load_tasks

if TYPE_CHECKING:
    from conftest import Cli, Studio

Change = Callable[[BoxSpec], BoxSpec]


class UnsafeBackend:
    """A backend that puts up another wall than it was asked for."""

    def __init__(self, real: Backend, change: Change) -> None:
        self.name = real.name
        self._real = real
        self._change = change

    def launch(self, spec: BoxSpec) -> Launched:
        return self._real.launch(self._change(spec) if spec.label == "verifier" else spec)

    def diagnose(self) -> list[Finding]:
        return self._real.diagnose()

    def clean(self) -> list[str]:
        return self._real.clean()


def writable(spec: BoxSpec) -> BoxSpec:
    mounts = tuple(dataclasses.replace(m, writable=True) for m in spec.mounts)
    return dataclasses.replace(spec, mounts=mounts)


def read_only(spec: BoxSpec) -> BoxSpec:
    mounts = tuple(dataclasses.replace(m, writable=False) for m in spec.mounts)
    return dataclasses.replace(spec, mounts=mounts)


def missing(spec: BoxSpec) -> BoxSpec:
    return dataclasses.replace(spec, mounts=spec.mounts[1:])


def leaking(spec: BoxSpec) -> BoxSpec:
    """The grader's directory made visible, by a private zone of that name."""
    return dataclasses.replace(spec, private=(*spec.private, "grader"))


WRONG: dict[str, tuple[Change, str]] = {
    "read-only": (read_only, "should be writable"),
    "missing": (missing, "is not mounted"),
    "leaking": (leaking, "/grader should not exist"),
}
# Root attaches zones itself, from what was asked, so only a user's backend can get these wrong.
if os.geteuid() != 0:
    WRONG["writable"] = (writable, "should be read-only")


def run(studio: Studio, backend: Backend, out: Path) -> dict[str, object]:
    team = load_team(
        studio.team(verifier={"steps": [{"run": "echo ran > /feedback/ran"}], "verdict": "approve"})
    )
    plan = make_plan(team, load_tasks([studio.task()]), ["enforced"], backend)
    found = run_plan(plan, out)
    assert exit_code(found.records) == 3
    (path,) = (out / "episodes").glob("*/episode.json")
    record: dict[str, object] = json.loads(path.read_text())
    return record


@pytest.mark.pain(11)
@pytest.mark.parametrize("wrong", ["leaking"] if os.geteuid() == 0 else list(WRONG))
def test_a_box_that_is_not_as_asked_stops_the_episode(
    studio: Studio, backend: Backend, tmp_path: Path, wrong: str
) -> None:
    change, says = WRONG[wrong]
    record = run(studio, UnsafeBackend(backend, change), tmp_path / "out")
    error = record["error"]
    assert isinstance(error, dict)
    assert error["kind"] == "ProbeFailed" and says in str(error["message"])
    assert record["status"] == "error" and record["grade"] == "error"
    phases = record["phases"]
    assert isinstance(phases, list) and [p["role"] for p in phases] == ["executor"]
    assert not list((tmp_path / "out").glob("episodes/*/transcripts/*verifier*"))


@pytest.mark.pain(11)
@pytest.mark.pain(14)
@pytest.mark.root
def test_a_zone_that_stays_writable_is_found_by_the_probe(
    studio: Studio, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root the harness attaches the zones: break that."""
    from rolewall.sandbox import box

    attach = box.attach_zones
    monkeypatch.setattr(
        box,
        "attach_zones",
        lambda pid, identity, mounts, further: attach(
            pid, identity, [dataclasses.replace(m, writable=True) for m in mounts], further
        ),
    )
    record = run(studio, backend, tmp_path / "out")
    error = record["error"]
    assert isinstance(error, dict) and error["kind"] == "ProbeFailed"
    assert "should be read-only" in str(error["message"])
    assert record["phases"] == []


@pytest.mark.pain(11)
def test_the_probe_says_of_a_standing_wall_what_it_found(
    cli: Cli, studio: Studio, backend: Backend, tmp_path: Path
) -> None:
    """The twin: the same team with nothing broken."""
    done = cli("run", studio.team(verifier={"verdict": "reject"}), "--tasks", studio.task(),
               "--backend", backend.name, "-o", tmp_path / "out")  # fmt: skip
    assert done.code == 0, done.err
    (path,) = (tmp_path / "out" / "episodes").glob("*/episode.json")
    zones = json.loads(path.read_text())["phases"][1]["box"]["probe"]["zones"]
    assert zones["workspace"]["create"] == "EROFS" and zones["verdict"]["create"] == "ok"
