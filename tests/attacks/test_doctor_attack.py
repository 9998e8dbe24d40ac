"""``rolewall doctor --attack``: the suite on a user's own machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rolewall.attacks import Report
from rolewall.attacks.payload import load

if TYPE_CHECKING:
    from conftest import Cli, User


@pytest.mark.bubblewrap
@pytest.mark.root
def test_on_a_users_own_machine(ordinary: User) -> None:
    done = ordinary.cli("doctor", "--attack", "--backend", "bubblewrap", "--json")
    assert done.code == 0, done.err
    (data,) = json.loads(done.out)["reports"]
    report = Report.from_json(data)
    assert report.holds and (report.backend, report.user) == ("bubblewrap", "ordinary")
    assert {row.id for row in report.rows} == {attempt.id for attempt in load()}
    assert len(report.planted) >= 50 and all(row.live for row in report.planted)
    assert json.loads(json.dumps(report.to_json())) == data
    kept = ordinary.home / "report.json"
    kept.write_text(done.out)
    page = ordinary.python("-m", "rolewall.attacks", kept)
    assert page.code == 0, page.err
    for row in report.rows:
        assert f"| `{row.id}` | " in page.out
    assert "| attempt | what | bubblewrap, ordinary | twin |" in page.out


def test_what_belongs_to_attack_alone(cli: Cli) -> None:
    for words in (["--backend", "docker"], ["--markdown"]):
        done = cli("doctor", *words)
        assert done.code == 2 and "belongs to --attack" in done.err
    done = cli("doctor", "--attack", "--markdown", "--json")
    assert done.code == 2 and "exclude each other" in done.err
    done = cli("doctor", "--attack", "--backend", "podman")
    assert done.code == 2 and "unknown backend" in done.err


def test_no_backend_is_no_success(cli: Cli) -> None:
    nowhere = {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    done = cli("doctor", "--attack", "--backend", "docker", env=nowhere)
    assert done.code == 3 and "Docker engine" in done.err and not done.out


def test_what_is_no_report_makes_no_page(root: User) -> None:
    kept = root.home / "report.json"
    for text in ("", "[]", '{"reports": [{}]}', '{"reports": [{"rows": 1, "planted": []}]}'):
        kept.write_text(text)
        done = root.python("-m", "rolewall.attacks", kept)
        assert done.code == 1 and "no report of attacks" in done.err, done.err
        assert "Traceback" not in done.err and not done.out
    done = root.python("-m", "rolewall.attacks")
    assert done.code == 1 and "usage" in done.err
