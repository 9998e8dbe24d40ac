"""What names tell: two spellings of one thing, columns that are nearly a field, and conditions
whose name says that nobody judged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rolewall.errors import RecordError
from rolewall.records import RecordMapping, read_dataset
from rolewall.rows import Row, repeats

if TYPE_CHECKING:
    from conftest import Put

SPELLINGS = {
    "a space behind": "t0 ", "a space before": " t0", "case": "T0", "a tab": "t0\t",
    "a zero-width space": "t\u200b0", "a soft hyphen": "t0\u00ad", "a byte order mark": "t0\ufeff",
    "NUL": "t0\x00", "an escape": "t0\x1b", "full width": "\uff54\uff10", "no break": "\u00a0t0",
    "a variation selector": "t0\ufe0f", "a filler": "t0\u3164",
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("field", ["task", "condition", "model"])
def test_two_spellings_of_one_name_are_refused(put: Put, name: str, field: str) -> None:
    lines = ["task,verdict,grade,condition,trial,model"]
    for number, spelt in enumerate(("t0", SPELLINGS[name])):
        names = {"task": "a", "condition": "b", "model": "c"} | {field: spelt}
        lines.append(f"{names['task']},reject,fail,{names['condition']},{number},{names['model']}")
    with pytest.raises(RecordError, match=f":3: two spellings of one `{field}`"):
        read_dataset(put(lines))
    given = RecordMapping(values={field: {SPELLINGS[name]: "t1"}})
    assert len(read_dataset(put(lines), given).rows) == 2


def test_one_letter_encoded_in_two_ways_is_shown_so(put: Put) -> None:
    path = put(["task,verdict,grade", "caf\u00e9,reject,fail", "cafe\u0301,reject,fail"])
    with pytest.raises(RecordError, match=r"'caf\\xe9' and 'cafe\\u0301'"):
        read_dataset(path)


def test_names_that_differ_are_several(put: Put) -> None:
    names = ["t0", "t 0", "t-0", "t0.", "\u0442\u0030", "t\u00b70"]
    path = put(["task,verdict,grade", *[f"{name},reject,fail" for name in names]])
    assert [row.task for row in read_dataset(path).rows] == names


def test_spellings_over_several_files_are_found_among_their_rows() -> None:
    one = Row(task="t0", condition="a", trial=0, verdict="reject", grade="fail")
    for other, found in (("T0", True), ("t1", False)):
        assert any(repeats([one, replace(one, task=other, trial=1)])) is found


NEARLY = {name: (name.title(), f" {name}", f"{name} ", name.upper(), f"{name}\u200b")
          for name in ("error", "trust", "team", "condition", "verified", "trial")}  # fmt: skip


@pytest.mark.parametrize("field", NEARLY)
def test_a_column_that_is_nearly_a_field_is_refused_until_it_is_named(put: Put, field: str) -> None:
    word = {"error": "", "trust": "untrusted", "verified": "yes", "trial": "1"}.get(field, "x")
    for column in NEARLY[field]:
        path = put([f"task,verdict,grade,{column}", f"t,reject,fail,{word}"])
        with pytest.raises(RecordError, match=f":1: a column that is nearly `{field}`"):
            read_dataset(path)
        assert read_dataset(path, RecordMapping(columns={field: column})).rows
        left_out = RecordMapping(columns={field: ""})
        if field in ("error", "trust"):
            with pytest.raises(RecordError, match=f"a column of `{field}` that is left out"):
                read_dataset(path, left_out)
        else:
            assert read_dataset(path, left_out).rows


NOBODY = ["solo", "restricted", "no-verify", "Solo", "no_verify"]


@pytest.mark.parametrize("condition", NOBODY)
def test_a_verdict_under_a_condition_without_a_verifier_is_refused(
    put: Put, condition: str
) -> None:
    head = "task,verdict,grade,condition"
    with pytest.raises(RecordError, match=":2: a verdict, and no verifier"):
        read_dataset(put([head, f"t,reject,fail,{condition}"]))
    with pytest.raises(RecordError, match=":2: a verifier by `verified`, and none by `condition`"):
        read_dataset(put([f"{head},verified", f"t,reject,fail,{condition},yes"]))
    for verdict in ("", "missing"):
        (row,) = read_dataset(put([head, f"t,{verdict},fail,{condition}"])).rows
        assert (row.verdict, row.verified) == ("missing", False)
    other = RecordMapping(values={"condition": {condition: "one reviewer"}})
    (row,) = read_dataset(put([head, f"t,reject,fail,{condition}"]), other).rows
    assert (row.verdict, row.verified) == ("reject", True)
