"""``rolewall doctor``: what works here, and for what does not, the blocker and the way out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolewall.sandbox import Backend

if TYPE_CHECKING:
    from conftest import Cli

NOWHERE = {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}


def finding(report: Any, where: str, subject: str) -> Any:
    (found,) = [f for f in report["findings"][where] if f["subject"] == subject]
    return found


def test_a_backend_of_this_machine_is_usable_with_a_wall_that_held(
    cli: Cli, backend: Backend
) -> None:
    done = cli("doctor", "--json")
    assert done.code == 0, done.err
    report = done.json
    assert backend.name in report["usable"] and report["auto"] in report["usable"]
    wall = finding(report, backend.name, "wall and tap")
    assert wall["ok"] and "an edit was blocked and recorded" in wall["detail"]
    assert finding(report, "machine", "seccomp notification")["ok"]


def test_the_table_says_the_same(cli: Cli, backend: Backend) -> None:
    done = cli("doctor")
    assert done.code == 0 and "Traceback" not in done.err
    lines = [line for line in done.out.splitlines() if line.startswith(backend.name)]
    assert any("wall and tap" in line and " yes " in line for line in lines)
    assert done.out.splitlines()[-1].startswith("backend: auto means ")


@pytest.mark.pain(13)
@pytest.mark.bubblewrap
def test_a_dead_engine_is_named_with_the_way_out(cli: Cli) -> None:
    done = cli("doctor", "--json", env=NOWHERE)
    assert done.code == 0, "bubblewrap is left"
    report = done.json
    assert report["usable"] == ["bubblewrap"] and report["auto"] == "bubblewrap"
    blocked = [f for f in report["findings"]["docker"] if not f["ok"]]
    assert blocked and "Docker engine" in blocked[0]["detail"] and blocked[0]["way_out"]


@pytest.mark.pain(13)
def test_without_any_backend_it_is_three(cli: Cli, tmp_path: Path) -> None:
    """No engine, and a bubblewrap that can make nothing."""
    broken = tmp_path / "bin" / "bwrap"
    broken.parent.mkdir()
    broken.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo bubblewrap 0.11.0; exit; }\n'
        "echo 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    )
    broken.chmod(0o755)
    path = f"{broken.parent}{os.pathsep}{os.environ['PATH']}"
    done = cli("doctor", "--json", env={**NOWHERE, "PATH": path})
    assert done.code == 3, done.out
    assert done.json["usable"] == []
    assert all(any(not f["ok"] for f in done.json["findings"][n]) for n in ("docker", "bubblewrap"))
