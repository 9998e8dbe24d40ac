"""The page that answers at the third try: what a second role asks of it, with and without
sharing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.broker.conftest import Pages, Tooled, Tools, ask
from tests.conftest import Cli


def until_ok(url: str) -> str:
    """Calls until the page is there, three times at most."""
    call = ask("page", url=url)
    return f"{call} || {call} || {call}"


def measured(cli: Cli, done: Tooled) -> tuple[float, float]:
    """The same as `rolewall measures` has it: redundant calls, and those of them run again."""
    told = cli("measures", done.episode.directory.parents[1], "--json").json
    rows = {one["measure"]: one["rate"] for one in told["measures"] if one["group"] == "broker"}
    return rows["redundant calls"], rows["redundant calls run again"]


@pytest.mark.parametrize("backend", [
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param("docker", marks=pytest.mark.docker),
])  # fmt: skip
def test_what_one_role_got_is_not_fetched_again(
    tmp_path: Path, cli: Cli, pages: Pages, backend: str
) -> None:
    tools = Tools(tmp_path / "tools", cli, backend)
    before = time.time()
    team = tools.team(
        {"page": {"http": {"allow": [pages.place]}, "ttl": 600}},
        {"planner": [until_ok(pages.url("/third"))], "executor": [until_ok(pages.url("/third"))]},
    )
    done = tools.run(team, "--handoff", "prose")
    assert pages.seen == ["/third"] * 3
    assert done.tools("planner") == {
        "calls": 3, "live": 1, "cached": 0, "failed": 2, "refused": 0,
        "runs": 3, "repeated": 0, "rerun": 0, "held": 0,
    }  # fmt: skip
    assert done.tools("executor") == {
        "calls": 1, "live": 0, "cached": 1, "failed": 0, "refused": 0,
        "runs": 0, "repeated": 1, "rerun": 0, "held": 0,
    }  # fmt: skip
    assert (done.rows["all"]["redundant_rate"], done.rows["all"]["rerun"]) == (0.25, 0)
    (told,) = done.answers("executor")
    assert (told["ok"], told["origin"], told["asked_by"]) == (True, "cached", "00-planner")
    assert measured(cli, done) == (0.25, 0)
    assert before < told["time"] < time.time() < told["fresh_until"] == told["time"] + 600
    assert told["result"]["text"] == "page /third\n"


@pytest.mark.bubblewrap
def test_without_sharing_it_is_fetched_anew(tools: Tools, cli: Cli, pages: Pages) -> None:
    team = tools.team(
        {"page": {"http": {"allow": [pages.place]}, "share": False}},
        {"planner": [until_ok(pages.url("/third"))], "executor": [until_ok(pages.url("/third"))]},
    )
    done = tools.run(team, "--handoff", "prose")
    assert pages.seen == ["/third"] * 6
    found = done.tools("executor")
    assert (found["calls"], found["live"], found["failed"], found["runs"]) == (3, 1, 2, 3)
    assert (found["repeated"], found["rerun"]) == (3, 3)
    assert (done.rows["all"]["redundant_rate"], done.rows["all"]["rerun"]) == (0.5, 3)
    assert measured(cli, done) == (0.5, 1)
