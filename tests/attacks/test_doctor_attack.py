"""``rolewall doctor --attack``: the suite on a user's own machine."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.attacks import Report, as_sheets
from tests.fields import unsaid

if TYPE_CHECKING:
    from attacks.conftest import Acted, Shown
    from conftest import Cli, User


@pytest.mark.bubblewrap
@pytest.mark.root
def test_on_a_users_own_machine(ordinary: User, shown: Shown, acted: Acted) -> None:
    done = ordinary.cli("doctor", "--attack", "--backend", "bubblewrap", "--json")
    assert done.code == 0, done.err
    (data,) = json.loads(done.out)["reports"]
    report = Report.from_json(data)
    assert (report.backend, report.user) == ("bubblewrap", "ordinary")
    shown(report)
    acted(report.planted)
    assert report.holds and data["holds"] is True
    _what_is_not_shown_does_not_hold(report)
    assert json.loads(json.dumps(report.to_json())) == data
    assert unsaid(data) == set()
    kept = ordinary.home / "report.json"
    kept.write_text(done.out)
    page = ordinary.python("-m", "rolewall.attacks", kept)
    assert page.code == 0, page.err
    for row in report.rows:
        assert f"| `{row.id}` | " in page.out
    assert "| attempt | what | bubblewrap, ordinary | twin |" in page.out


def _what_is_not_shown_does_not_hold(report: Report) -> None:
    """The same report, without what makes it one: each is named, and none of them holds."""
    skipped = tuple(replace(row, end="skipped") for row in report.rows)
    dead = replace(report.planted[0], live=False)
    cases = {
        "no attempt was refused": replace(report, rows=skipped),
        "nothing was planted": replace(report, planted=()),
        "was seen to act nowhere": replace(report, planted=(dead, *report.planted[1:])),
        "acted where it must not": replace(report, planted=(replace(dead, host=True),)),
    }
    for words, one in cases.items():
        assert not one.holds, words
        said = [text for sheet in as_sheets(one) for text in (*sheet.notes, *sum(sheet.rows, ()))]
        assert [text for text in said if words in text], (words, said)


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


PLAY = """
from rolewall.attacks.planted import play_planted
from rolewall.sandbox import find_backend

play_planted(find_backend("bubblewrap"))
"""


@pytest.mark.bubblewrap
@pytest.mark.root
def test_what_killed_plants_leave_is_found_by_clean(root: User, tmp_path: Path) -> None:
    """The directory that every user may write too: it is never left open."""
    tmp = tmp_path / "tmp"
    tmp.mkdir()
    root.env["TMPDIR"] = str(tmp)
    with root.process(("-c", PLAY)) as process:
        try:
            until = time.monotonic() + 60
            while not list(tmp.glob("*/victim")):
                assert process.poll() is None and time.monotonic() < until
                time.sleep(0.02)
        finally:
            process.kill()
    assert len(list(tmp.iterdir())) >= 2
    done = root.cli("clean")
    assert done.code == 0, done.err
    assert list(tmp.iterdir()) == []
