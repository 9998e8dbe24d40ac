"""One population: what is counted of a calibration is the same wherever it is counted."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolewall.errors import InputError
from rolewall.gate import decide
from rolewall.gaterules import Rules
from rolewall.pairing import pair_runs
from rolewall.rows import Row
from tests.fields import unsaid

if TYPE_CHECKING:
    from conftest import Cli, Studio

    from tests.calibrate.conftest import Calibrate, Solved

HALF = Rules(max_false_approval=0.5)
MORE = ("--mutants", "3", "--reports", "plain,silent")
# Wants an attestation, as TeamBench's graders do, and a file whose name is no text.
ATTESTED = r"""import os, sys
sys.path.insert(0, "/workspace")
from sign import sign
right = [sign(x) for x in (-2, -1, 0, 1, 2)] == [-1, -1, 0, 1, 1]
right &= open(b"/workspace/\xff.txt").read() == "count = 1\n"
sys.exit(not (right and os.path.exists("/submission/attestation.json")))
"""


@pytest.mark.bubblewrap
def test_every_command_counts_the_same(
    calibrate: Calibrate, cli: Cli, studio: Studio, solved: Solved, tmp_path: Path
) -> None:
    """Three mutants and their twins of one task; the untouched workspace has a twin too."""
    task = solved()
    made = calibrate(
        studio.team(verifier={"verdict": "reject"}), task, out=tmp_path / "r", more=MORE
    )
    assert made.code == 0, made.err
    assert len(made.episodes()) == 16
    kept = json.loads((made.run / "run.json").read_text())
    assert unsaid([json.loads(made.out), kept], "calibrate") == set()
    row = made.report("plain")
    counts = row["measures"]["excluded"]
    assert (counts["catch"]["total"], counts["false_rejection"]["total"]) == (3, 3)
    assert (made.shift("silent")["pairs"], row["untouched"]["total"]) == (6, 1)
    decided = cli("gate", made.run, "--condition", "calibrate-plain", "--max-false-approval", "0.5",
                  "--json")  # fmt: skip
    assert decided.json["false_approvals"]["excluded"]["total"] == 3
    assert decided.json["false_rejections"]["total"] == 3
    assert "1 candidate left out: the solution beside an untouched workspace" in decided.err
    shown = cli("show", made.run, "--json").json["table"]
    assert [line["episodes"] for line in shown["conditions"]] == [6, 6]
    assert shown["planned"] == 12
    assert "not in this table: 2 candidates: the solution beside an" in cli("show", made.run).out
    pairs = cli("compare", made.run, "--json").json["comparison"]["contrasts"][0]
    assert (pairs["pairs"], len(pairs["left_out"])) == (6, 2)
    again = calibrate(studio.team(verifier={"verdict": "approve"}), task, out=tmp_path / "s",
                      more=("--mutants", "2", "--reports", "plain"))  # fmt: skip
    assert again.code == 0, again.err
    both = cli("compare", made.run, again.run, "--condition", "calibrate-plain", "--json")
    found = both.json["comparison"]["contrasts"][0]
    assert (found["pairs"], found["frozen"]) == (4, True), (
        "two mutants and their twins, whatever trial"
    )
    _hold_file(cli, tmp_path, made.episodes())


def _hold_file(cli: Cli, tmp_path: Path, records: list[dict[str, object]]) -> None:
    """Records in a file, which no seal holds together."""
    path = tmp_path / "records.jsonl"
    asked = ("gate", path, "--condition", "calibrate-plain", "--max-false-approval", "0.5")
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert "absent" not in cli(*asked).err
    mutant = next(r for r in records if r["candidate"]["kind"] == "mutant")  # type: ignore[index]
    path.write_text("".join(json.dumps(r) + "\n" for r in records if r is not mutant))
    short = cli(*asked)
    assert short.code == 4 and "the run is incomplete: 1 planned episode" in short.out
    mutant["candidate"]["kind"] = "untouched"  # type: ignore[index]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    refused = cli(*asked)
    assert refused.code == 2 and "its kind is untouched, the failing work" in refused.err


@pytest.mark.bubblewrap
def test_silence_is_missing_where_the_grader_wants_an_attestation(
    calibrate: Calibrate, cli: Cli, studio: Studio, solved: Solved, tmp_path: Path
) -> None:
    task = solved(check=ATTESTED)
    odd = os.path.join(os.fsencode(task), b"solution", b"\xff.txt")
    with open(odd, "w") as file:
        file.write("count = 1\n")
    team = studio.team(verifier={"command": ["true"]})
    more = ("--mutants", "6", "--reports", "plain")
    made = calibrate(team, task, out=tmp_path / "run", more=more)
    assert made.code == 0, made.err
    row = made.report("plain")
    assert (row["missing"], row["changed"]) == (12, 0)
    for record in made.episodes():
        assert record["grade"] == ("pass" if record["candidate"]["kind"] == "solution" else "fail")
    names = {record["candidate"]["what"].partition(":")[0] for record in made.episodes()}
    assert "\\xff.txt" in names, "a name that is no text is escaped"
    again = calibrate(team, task, out=tmp_path / "run", more=more)
    assert again.code == 0 and "14 of 14 were already there" in again.err, again.err
    assert cli("audit", made.run).code == 0 and cli("show", made.run).code == 0


def pairs(number: int, bad: str = "mutant", first: int = 0) -> list[Row]:
    """So many failing candidates of one task, each with its twin, all judged right."""
    return [
        Row("t", "calibrate-plain", 2 * pair + half, verdict, grade, candidate=content,
            kind=kind, pair=pair, bad=bad)
        for pair in range(first, first + number)
        for half, (kind, verdict, grade, content) in enumerate(
            ((bad, "reject", "fail", f"{bad}{pair}"), ("solution", "approve", "pass", "right"))
        )
    ]  # fmt: skip


def test_untouched_work_and_its_twins_weigh_nothing() -> None:
    alone = decide(pairs(40), HALF)
    beside = decide([*pairs(40), *pairs(9, "untouched", first=40)], HALF)
    assert (alone.numbers, alone.false_rejections) == (beside.numbers, beside.false_rejections)
    assert beside.notes == (
        "9 candidates left out: the untouched workspace, which an empty diff gives away",
        "9 candidates left out: the solution beside an untouched workspace",
        *alone.notes,
    )


def test_untouched_work_that_passes_is_no_evidence() -> None:
    *sound, bare, twin = pairs(40) + pairs(1, "untouched", first=40)
    passed = decide([*sound, replace(bare, grade="pass"), twin], HALF)
    assert passed.exit_code == 4 and "untouched workspace of t passed" in passed.reasons[0]
    assert decide([*sound, bare, twin], HALF).status != "refused"


def test_twins_that_are_not_there_are_absent() -> None:
    rows = pairs(40)
    short = decide(rows[:-3], HALF)
    assert (short.exit_code, short.absent) == (4, 1), "one alone; one pair is gone altogether"
    assert decide(rows[:-2], HALF).absent == 0


@pytest.mark.parametrize("change", [{"bad": "untouched"}, {"kind": "mutant"}, {"pair": 1}])
def test_what_is_no_pair_is_refused(change: dict[str, object]) -> None:
    bad, twin, *others = pairs(4)
    with pytest.raises(InputError, match="not a failing candidate and its twin"):
        decide([bad, replace(twin, **change), *others], HALF)  # type: ignore[arg-type]


def test_candidates_are_paired_by_what_they_are() -> None:
    """Trials are drawn by lot in every calibration."""
    here = [*pairs(3), *pairs(1, "untouched", first=3)]
    there = [replace(row, trial=7 - row.trial) for row in here]
    found, left = pair_runs(here, there, ("a", "b"))
    assert [(a.candidate, b.candidate) for a, b in found] == [
        (a.candidate, a.candidate) for a, _ in found
    ]
    assert len(found) == 6
    assert sorted(out.reason for out in left) == [
        "the solution beside an untouched workspace",
        "the untouched workspace, which an empty diff gives away",
    ]
