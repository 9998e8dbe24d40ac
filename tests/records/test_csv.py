"""CSV tables of another harness: what is read, and what is refused at its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolewall.errors import RecordError, RolewallError
from rolewall.records import RecordMapping, read_dataset
from rolewall.rows import Row, Source

if TYPE_CHECKING:
    from conftest import Put


def test_every_field_is_read(put: Put) -> None:
    path = put(
        "task,verdict,grade,condition,trial,error,team,verifier,model,backend,trust,isolated,"
        "attempts,edits,landed,score,seconds\n"
        "t,reject,fail,no-plan,3,,fixers,v,m,docker,outside,yes,4,2,1,0.25,9.5\n"
    )
    assert read_dataset(path).rows == (
        Row(
            task="t", condition="no-plan", trial=3, verdict="reject", grade="fail",
            source=Source(team="fixers", backend="docker", verifier="v", model="m"),
            trust="outside", isolated=True, attempts=4, edits=2, landed=1, score=0.25,
            seconds=9.5,
        ),
    )  # fmt: skip


def test_what_is_not_there_is_not_known(put: Put) -> None:
    found = read_dataset(put("task,verdict,grade,score,attempts,trust\nt,approve,pass,,,\n"))
    assert found.rows == (
        Row(task="t", condition="unstated", trial=0, verdict="approve", grade="pass"),
    )
    assert found.origin == "table"
    assert any("condition" in note for note in found.notes)
    assert any("trial" in note for note in found.notes)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xef\xbb\xbftask,verdict,grade\nt,reject,fail\n", id="byte order mark"),
        pytest.param(b"task,verdict,grade\r\nt,reject,fail\r\n", id="CRLF"),
        pytest.param(b"task,verdict,grade\rt,reject,fail", id="CR, and no last one"),
        pytest.param(b"task,verdict,grade\n\n\nt,reject,fail\n\n", id="empty lines"),
        pytest.param(b'"task",verdict,"grade"\nt,"reject",fail\n', id="quotes"),
        pytest.param(b"grade,x,task,,verdict\nfail,1,t,2,reject\n", id="order, columns of theirs"),
    ],
)
def test_ways_to_write_the_same_table(put: Put, data: bytes) -> None:
    (row,) = read_dataset(put(data)).rows
    assert (row.task, row.verdict, row.grade) == ("t", "reject", "fail")


def test_tabs_in_a_file_that_says_so(put: Put) -> None:
    (row,) = read_dataset(put("task\tverdict\tgrade\na,b\treject\tfail\n", "r.tsv")).rows
    assert row.task == "a,b"


def test_a_quoted_cell_holds_commas_quotes_and_line_ends(put: Put) -> None:
    path = put('task,verdict,grade,note\n"a, ""b""\nc",reject,fail,"x\ny"\nd,LGTM,fail,\n')
    with pytest.raises(RecordError, match=r"records\.csv:5: not a value of `verdict`"):
        read_dataset(path)
    one, two = read_dataset(path, RecordMapping(values={"verdict": {"LGTM": "approve"}})).rows
    assert (one.task, two.verdict) == ('a, "b"\nc', "approve")


def test_whole_numbers_with_a_gap_are_still_whole(put: Put) -> None:
    rows = read_dataset(put("task,verdict,grade,trial,edits\nt,reject,fail,1.0,\n")).rows
    assert (rows[0].trial, rows[0].edits) == (1, None)


def test_unknown_columns_are_accepted_and_named(put: Put) -> None:
    found = read_dataset(put("task,verdict,grade,verdict of it,cost\nt,reject,fail,approve,3\n"))
    assert found.rows[0].verdict == "reject"
    assert "columns not used: verdict of it, cost" in found.notes


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf", b"task,verdict,grade\n"])
def test_no_record_is_no_error_of_reading(put: Put, data: bytes) -> None:
    found = read_dataset(put(data))
    assert (found.rows, found.conditions) == ((), ())


HEAD = "task,verdict,grade\n"
REFUSED: dict[str, tuple[Any, str]] = {
    "an unknown verdict": (HEAD + "t,LGTM,fail\n", r":2: .*verdict.*'LGTM'.*--value verdict:LGTM"),
    "another spelling": (HEAD + "t,Approve,fail\n", ":2: .*verdict.*'Approve'.*approve, reject"),
    "a space": (HEAD + "t,approve ,fail\n", ":2: .*'approve '"),
    "an unknown grade": (HEAD + "t,reject,0\n", ":2: .*grade.*--value grade:0=WORD"),
    "NaN for a verdict": (HEAD + "t,NaN,fail\n", ":2: not a value of `verdict`; got 'NaN'"),
    "NaN for a score": ("task,verdict,grade,score\nt,reject,fail,nan\n", ":2: .*score.*a number"),
    "infinity": ("task,verdict,grade,seconds\nt,reject,fail,inf\n", ":2: .*seconds.*a number"),
    "1_0": ("task,verdict,grade,score\nt,reject,fail,1_0\n", ":2: .*score"),
    "an overflow": ("task,verdict,grade,score\nt,reject,fail,1e999\n", ":2: .*score"),
    "less than nought": ("task,verdict,grade,seconds\nt,reject,fail,-1\n", ":2: .*0 or more"),
    "half an edit": ("task,verdict,grade,edits\nt,reject,fail,0.5\n", ":2: .*edits.*whole"),
    "a digit of elsewhere": ("task,verdict,grade,trial\nt,reject,fail,٣\n", ":2: .*trial.*whole"),
    "a huge trial": (f"task,verdict,grade,trial\nt,reject,fail,{'9' * 5000}\n", ":2: .*trial"),
    "an empty verdict": (HEAD + "t,,fail\n", ":2: no `verdict`.*--value verdict:=missing"),
    "an empty grade": (HEAD + "t,reject,\n", ":2: no `grade`.*--value grade:=error"),
    "an empty task": (HEAD + ",reject,fail\n", ":2: no `task`"),
    "an empty condition": ("task,verdict,grade,condition\nt,reject,fail,\n", ":2: no `condition`"),
    "an empty trial": ("task,verdict,grade,trial\nt,reject,fail,\n", ":2: no `trial`"),
    "a missing column": ("task,verdict,result\nt,reject,fail\n",
                         ":1: no column `grade`; got 'task, verdict, result'.*--map grade=COLUMN"),
    "no header": ("t,reject,fail\nu,reject,fail\n", ":1: no column `task`"),
    "a short line": (HEAD + "t,reject\n", ":2: another number of cells.*got 2; expected 3"),
    "a long line": (HEAD + "t,reject,fail,\n", ":2: another number of cells.*got 4; expected 3"),
    "spaces alone": (HEAD + "  \n", ":2: another number of cells"),
    "two columns of a name": ("task,verdict,grade,verdict\n", ":1: two columns.*'verdict'"),
    "semicolons": ("task;verdict;grade\nt;reject;fail\n", ":1: one column only.*semicolons"),
    "tabs": ("task\tverdict\tgrade\n", r":1: .*tabs in its name.*\*\.tsv"),
    "an open quote": (HEAD + 't,reject,fail\n"u,reject,fail\n', ":3: not a table: unexpected end"),
    "a quote in a quote": (HEAD + '"a"b,reject,fail\n', ":2: not a table"),
    "a huge cell": (HEAD + "x" * 140_000 + ",reject,fail\n", ":2: not a table: field larger"),
    "a long name": (HEAD + "x" * 1001 + ",reject,fail\n", r":2: .*task.*at most 1000 characters"),
    "Latin-1": (HEAD.encode() + b"t,reject,fail\ncaf\xe9,reject,fail\n", ":3: not text.*0xe9"),
    "UTF-16": ((HEAD + "t,reject,fail\n").encode("utf-16"), ":1: not text"),
    "a task twice": (HEAD + "t,reject,fail\nu,reject,fail\nt,approve,fail\n",
                     ":4: two records of one episode.*line 2.*--map trial=COLUMN.*by-order"),
    "a trial twice": ("task,verdict,grade,trial\nt,reject,fail,1\nt,reject,fail,1.0\n",
                      ":3: two records of one episode; got 'task t, condition unstated, trial 1'"),
    "a verdict of nobody": ("task,verdict,grade,verified\nt,approve,fail,no\n",
                            ":2: a verdict, and no verifier.*--map verified="),
    "a name that shows nothing": (HEAD + "\u200b\u2060,reject,fail\n",
                                  ":2: not a value of `task`.*shown"),
    "spaces for a name": (HEAD + "  ,reject,fail\n", ":2: not a value of `task`.*shown"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_at_its_line(put: Put, name: str) -> None:
    data, words = REFUSED[name]
    with pytest.raises(RecordError, match=f"(?s)records.csv{words}") as refused:
        read_dataset(put(data))
    assert refused.value.exit_code == 2
    assert len(str(refused.value)) < 600


def test_a_line_end_in_a_cell_is_noted(put: Put) -> None:
    head = "task,verdict,grade,why\n"
    lines = 't,reject,fail,ok\nu,reject,fail,"\nv,approve,fail,ok\nw,approve,fail,"\n'
    swallowed = put(head + lines)
    found = read_dataset(swallowed)
    assert len(found.rows) == 2
    assert any("1 record with a line end in a cell, the first in line 3" in n for n in found.notes)
    whole = read_dataset(put(head + 't,reject,fail,"ok, or ""so"""\n\nu,reject,fail,\n'))
    assert not any("line end" in note for note in whole.notes)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.lists(
                st.sampled_from(
                    ["task", "verdict", "grade", "trial", "approve", "fail", "NaN", "", '"', "\r",
                     "1", "t", "\ufeff", "\x00", "{", "0.5"]
                ),
                min_size=2, max_size=4,
            ).map(",".join),
            max_size=5,
        ).map(lambda lines: "task,verdict,grade\n" + "\n".join(lines)),
    )
)  # fmt: skip
def test_any_text_is_read_or_refused(put: Put, text: str) -> None:
    path = put(text.encode("utf-8", "surrogatepass"))
    try:
        rows = read_dataset(path).rows
    except RolewallError as error:
        assert error.exit_code == 2
    else:
        assert all(isinstance(row, Row) for row in rows)
