"""The gate over another harness's records: each sort of bad evidence has its word and its
exit code, and its allowed twin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Cli, Command, Put

HEADER = "task,verdict,grade"
CAUGHT = [f"t{n},reject,fail" for n in range(35)]
FINE = [f"p{n},approve,pass" for n in range(20)]
MIXED = [f"{line},{'no-plan' if n % 2 else 'enforced'}" for n, line in enumerate(CAUGHT)]

CASES: dict[str, tuple[list[str], tuple[str, ...], int, str]] = {
    "enough, all caught": ([HEADER, *CAUGHT, *FINE], (), 0, "holds"),
    "all approved": ([HEADER, *[f"t{n},approve,fail" for n in range(9)]], (), 1, "failed"),
    "zero records": ([HEADER], (), 4, "no episode was evaluated"),
    "an empty file": ([], (), 4, "no episode was evaluated"),
    "passing work alone": ([HEADER, *FINE], (), 4, "0 episodes of failing work"),
    "failing work alone": ([HEADER, *CAUGHT], (), 0, "holds"),
    "all missing": ([HEADER, *[f"t{n},missing,fail" for n in range(60)]], (), 4,
                    "not enough to decide"),
    "some missing": ([HEADER, *CAUGHT, *[f"m{n},missing,fail" for n in range(9)]], (), 4,
                     "silence may hide a false approval"),
    "errors": ([f"{HEADER},error", *[f"{line}," for line in CAUGHT], "x,,,gone"], (), 3,
               "1 episode ended in error"),
    "errors that may be": ([f"{HEADER},error", *[f"{line}," for line in CAUGHT], "x,,,gone"],
                           ("--max-errors", "1"), 0, "holds"),
    "grades in error": ([HEADER, *CAUGHT, "x,reject,error"], (), 3, "ended in error"),
    "NaN": ([HEADER, *CAUGHT, "x,nan,fail"], (), 2, "records.csv:37"),
    "NaN that is said": ([HEADER, *CAUGHT, "x,nan,pass"], ("--value", "verdict:nan=missing"), 0,
                         "holds"),
    "unknown words": ([HEADER, *CAUGHT, "x,LGTM,fail"], (), 2, "--value verdict:LGTM=WORD"),
    "words that are said": ([HEADER, *CAUGHT, "x,LGTM,pass"],
                            ("--value", "verdict:LGTM=approve"), 0, "holds"),
    "duplicates": ([HEADER, *CAUGHT, "t0,reject,fail"], (), 2, "two records of one episode"),
    "duplicates that are trials": ([HEADER, *CAUGHT, *CAUGHT], ("--trials-by-order",), 0,
                                   "0/70"),
    "mixed conditions": ([f"{HEADER},condition", *MIXED], (), 2, "one condition at a time"),
    "one of them": ([f"{HEADER},condition", *MIXED], ("--condition", "no-plan"), 4,
                    "17 episodes of failing work"),
    "no such condition": ([HEADER, *CAUGHT], ("--condition", "solo"), 2, "no such condition"),
    "mixed models": ([f"{HEADER},model", *[f"{line},m{n % 2}" for n, line in enumerate(CAUGHT)]],
                     (), 2, "come from several models"),
    "mixed verifiers": ([f"{HEADER},verifier", *[f"{line},v{n % 2}"
                         for n, line in enumerate(CAUGHT)]], (), 2, "come from several verifiers"),
    "one model": ([f"{HEADER},model", *[f"{line},m" for line in CAUGHT], "t0,approve,fail,n"],
                  ("--only", "model=m"), 0, "35 of 36 records taken"),
    "untrusted grades": ([f"{HEADER},trust", *[f"{line},untrusted" for line in CAUGHT]], (), 4,
                         "untrusted"),
    "isolation unknown": ([HEADER, *CAUGHT], ("--require-isolated",), 4, "isolated"),
    "isolation known": ([f"{HEADER},isolated", *[f"{line},yes" for line in CAUGHT]],
                        ("--require-isolated",), 0, "holds"),
    "no verifier": (["task,grade", *[f"t{n},fail" for n in range(35)]],
                    ("--const", "verified=no"), 2, "no verifier"),
    "a field misspelt": ([HEADER, *CAUGHT], ("--map", "verdct=a"), 2, "no such field"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_sort_has_its_word_and_its_code(put: Put, gate: Command, name: str) -> None:
    lines, options, code, words = CASES[name]
    done = gate(put(lines), *options)
    assert (done.code, words in done.text) == (code, True), done.text


def test_notes_on_the_reading_stand_in_the_decision(put: Put, gate: Command) -> None:
    done = gate(put([f"{HEADER},cost", *[f"{line},1" for line in CAUGHT]]))
    assert "columns not used: cost" in done.text


def test_a_baseline_is_read_by_the_same_mapping(put: Put, gate: Command) -> None:
    lines = ["task,says,grade", *CAUGHT]
    before = put(lines, "before.csv")
    options = ("--map", "verdict=says", "--baseline", str(before), "--margin", "0.2")
    assert gate(put(lines), *options).code == 0
    other = put([HEADER, *CAUGHT], "other.csv")
    assert gate(other, "--baseline", str(before), "--margin", "0.2").code == 2


def test_a_mapping_of_our_own_run_is_refused(tmp_path: Path, gate: Command) -> None:
    done = gate(tmp_path, "--map", "verdict=x")
    assert done.code == 2
    assert "run.json" in done.text


def test_in_a_process_of_its_own(cli: Cli, tmp_path: Path) -> None:
    table = tmp_path / "r.csv"
    table.write_text("\n".join(["id,says,ok", *[f"t{n},no,0" for n in range(35)]]))
    mapping = tmp_path / "m.yaml"
    mapping.write_text(
        "map: {task: id, verdict: says, grade: ok}\nvalues: {verdict: {'no': reject}}"
    )
    arguments = ("gate", table, "--max-false-approval", "0.10", "--mapping", mapping)
    refused = cli(*arguments, "--json")
    assert (refused.code, refused.out) == (2, "")
    assert "--value grade:0=WORD" in refused.err
    held = cli(*arguments, "--value", "grade:0=fail", "--json")
    assert held.code == 0
    assert json.loads(held.out)["episodes"] == 35


def test_a_name_of_theirs_is_shown_escaped(cli: Cli, tmp_path: Path) -> None:
    table = tmp_path / "r.csv"
    table.write_text(f"{HEADER}\n\x1b[31mt,\x1b]0;x\x07,fail\n")
    done = cli("gate", table, "--max-false-approval", "0.10")
    assert done.code == 2
    assert "\x1b" not in done.err
    assert "\\x1b" in done.err
