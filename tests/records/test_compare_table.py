"""The comparison over another harness's records: what is no evidence for it has its word and
its exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Command, Put

HEADER = "task,condition,verdict,grade"
OTHER = [f"t{n},no-plan,reject,fail" for n in range(12)]
TEAM = [f"t{n},enforced,approve,pass" for n in range(12)]
NEW = [f"u{n},enforced,approve,pass" for n in range(12)]

CASES: dict[str, tuple[list[str], tuple[str, ...], int, str]] = {
    "the same tasks": ([HEADER, *OTHER, *TEAM], (), 0, "12 pairs"),
    "zero records": ([HEADER], (), 4, "no episode was evaluated"),
    "mixed tasks": ([HEADER, *OTHER, *NEW], (), 4, "no episode pairs"),
    "some tasks in common": ([HEADER, *OTHER, *TEAM[:6], *NEW], (), 0,
                             "u0 trial 0: no episode under no-plan"),
    "one condition": ([HEADER, *OTHER], (), 2, "at least two conditions"),
    "one grade alone": ([HEADER, *OTHER, *[line.replace("pass", "fail") for line in TEAM]], (), 0,
                        "12 pairs"),
    "all missing": ([HEADER, *[line.replace("reject", "missing").replace("approve", "missing")
                     for line in (*OTHER, *TEAM)]], (), 0, "12 missing verdicts"),
    "NaN": ([HEADER, *OTHER, *TEAM, "x,no-plan,nan,fail"], (), 2, ":26: not a value of `verdict`"),
    "unknown words": ([HEADER, *OTHER, "t0,enforced,LGTM,pass"], (), 2, "verdict:LGTM=WORD"),
    "words that are said": ([HEADER, *OTHER, "t0,enforced,LGTM,pass"],
                            ("--value", "verdict:LGTM=approve"), 0, "1 pair"),
    "duplicates": ([HEADER, *OTHER, *TEAM, TEAM[0]], (), 2, "two records of one episode"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_sort_has_its_word_and_its_code(put: Put, compare: Command, name: str) -> None:
    lines, options, code, words = CASES[name]
    done = compare(put(lines), "--conditions", "no-plan,enforced", *options)
    if name == "one condition":
        done = compare(put(lines))
    assert (done.code, words in done.text) == (code, True), done.text
