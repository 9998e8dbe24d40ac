"""The scripted verifiers, calibrated on tasks of the examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Cli

    from tests.calibrate.conftest import Calibrate, Calibrated

pytestmark = pytest.mark.bubblewrap
EXAMPLES = Path(__file__).parents[2] / "examples"
TASKS = tuple(EXAMPLES / "tasks" / n for n in ("members-csv", "service-config", "orders-migration"))
MORE = ("--mutants", "1", "--reports", "plain,boastful")


@pytest.fixture(scope="module")
def diligent(calibrate: Calibrate, tmp_path_factory: pytest.TempPathFactory) -> Calibrated:
    out = tmp_path_factory.mktemp("diligent") / "run"
    return calibrate(EXAMPLES / "teams" / "diligent.yaml", *TASKS, out=out, more=MORE)


@pytest.fixture(scope="module")
def echo(calibrate: Calibrate, tmp_path_factory: pytest.TempPathFactory) -> Calibrated:
    out = tmp_path_factory.mktemp("echo") / "run"
    return calibrate(EXAMPLES / "teams" / "echo.yaml", *TASKS[:2], out=out, more=MORE)


def test_the_diligent_verifier_tells_good_from_bad(diligent: Calibrated) -> None:
    assert diligent.code == 0, diligent.err
    for style in ("plain", "boastful"):
        assert diligent.informedness(style) > 0.9
        row = diligent.report(style)
        assert (row["shown"], row["errors"], row["missing"], row["changed"]) == (12, {}, 0, 0)
        assert row["measures"]["excluded"]["catch"]["total"] == 3
        assert row["measures"]["excluded"]["false_rejection"]["total"] == 3
        assert row["untouched"]["total"] == 3
    moved = diligent.shift("boastful")
    assert (moved["pairs"], moved["to_approve"], moved["from_approve"]) == (6, 0, 0)


def test_the_echo_tells_nothing_apart_and_follows_the_report(echo: Calibrated) -> None:
    assert echo.code == 0, echo.err
    for style, caught in (("plain", 2), ("boastful", 0)):
        assert echo.informedness(style) == 0
        assert echo.report(style)["measures"]["excluded"]["catch"]["events"] == caught
        assert echo.report(style)["measures"]["excluded"]["false_rejection"]["events"] == caught
    assert echo.shift("boastful")["to_approve"] == 4
    assert echo.shift("boastful")["from_approve"] == 0


def test_every_failing_candidate_has_its_twin(diligent: Calibrated) -> None:
    shown = diligent.episodes()
    assert len(shown) == 24
    kinds = [record["candidate"]["kind"] for record in shown]
    assert kinds.count("solution") == 12 and kinds.count("untouched") == 6
    by_pair: dict[tuple[str, str, int], list[dict[str, object]]] = {}
    for record in shown:
        candidate = record["candidate"]
        assert record["condition"] == f"calibrate-{candidate['report']}"
        assert [phase["role"] for phase in record["phases"]] == ["verifier"]
        assert record["grade"] == ("pass" if candidate["kind"] == "solution" else "fail")
        key = (record["task"], record["condition"], candidate["pair"])
        by_pair.setdefault(key, []).append(record)
    for one, other in by_pair.values():
        assert one["candidate"]["bad"] == other["candidate"]["bad"]  # type: ignore[index]
        assert one["candidate"]["twin"] == other["trial"]  # type: ignore[index]
        assert {one["grade"], other["grade"]} == {"pass", "fail"}


def test_the_gate_reads_it(cli: Cli, diligent: Calibrated) -> None:
    asked = ("gate", diligent.run, "--max-false-approval", "0.5", "--json")
    assert cli(*asked).code == 2, "several conditions, and none is named"
    decided = cli(*asked, "--condition", "calibrate-plain")
    assert decided.code in (0, 4), decided.err
    assert decided.json["episodes"] == 12


def test_the_audit_holds_it_to_its_plan(cli: Cli, diligent: Calibrated) -> None:
    assert cli("audit", diligent.run).code == 0
    path = next(diligent.run.glob("episodes/*/episode.json"))
    before = path.read_bytes()
    record = json.loads(before)
    record["candidate"]["what"] = "another"
    path.write_text(json.dumps(record))
    found = cli("audit", diligent.run)
    path.write_bytes(before)
    assert found.code == 1
    assert "not the candidate that the run planned" in found.out


def test_it_is_gone_on_with(calibrate: Calibrate, cli: Cli, diligent: Calibrated) -> None:
    team = EXAMPLES / "teams" / "diligent.yaml"
    again = calibrate(team, *TASKS, out=diligent.run, more=MORE)
    assert again.code == 0, again.err
    assert "24 of 24 were already there" in again.err
    assert "grading" not in again.err, "candidates are those that were found before"
    assert again.json == diligent.json
    for other, words in (
        (("--mutants", "2", "--reports", "plain,boastful"), "mutants"),
        (("--mutants", "1", "--reports", "plain"), "conditions"),
        ((*MORE, "--seed", "5"), "seed"),
    ):
        refused = calibrate(team, *TASKS, out=diligent.run, more=other)
        assert refused.code == 2 and f"a run with other {words}" in refused.err, refused.err
    run = cli("run", team, "--tasks", TASKS[0], "--backend", "bubblewrap", "-o", diligent.run)
    assert run.code == 2
