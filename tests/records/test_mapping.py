"""What a caller says of a table, by options and by a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rolewall.errors import InputError, RecordError
from rolewall.records import RecordMapping, read_dataset, read_mapping

if TYPE_CHECKING:
    from conftest import Put

THEIRS = "id,decision,tests_ok,arm,n\na,LGTM,1,x,1\na,nope,0,x,2\nb,,0,y,1\n"
FILE = """\
map: {task: id, verdict: decision, grade: tests_ok, condition: arm, trial: n}
values:
  verdict: {LGTM: approve, nope: reject, "": missing}
  grade: {"1": pass, "0": fail}
  condition: {x: solo, y: no-plan}
"""
READ = [("a", "solo", 1, "approve", "pass"), ("a", "solo", 2, "reject", "fail"),
        ("b", "no-plan", 1, "missing", "fail")]  # fmt: skip


def rows(path: Any, mapping: RecordMapping) -> list[tuple[object, ...]]:
    found = read_dataset(path, mapping).rows
    return [(r.task, r.condition, r.trial, r.verdict, r.grade) for r in found]


def test_a_file_says_all_of_it(put: Put) -> None:
    assert rows(put(THEIRS), read_mapping(put(FILE, "m.yaml"))) == READ


def test_options_say_the_same(put: Put) -> None:
    mapping = read_mapping(
        columns=["task=id", "verdict=decision", "grade=tests_ok", "condition=arm", "trial=n"],
        values=["verdict:LGTM=approve", "verdict:nope=reject", "verdict:=missing", "grade:1=pass",
                "grade:0=fail", "condition:x=solo", "condition:y=no-plan"],
    )  # fmt: skip
    assert rows(put(THEIRS), mapping) == READ


def test_an_option_stands_above_the_file(put: Put) -> None:
    mapping = read_mapping(
        put(FILE, "m.yaml"),
        values=["verdict:=reject"],
        constants=["condition=restricted"],
        trials_by_order=True,
    )
    assert rows(put(THEIRS), mapping) == [
        ("a", "restricted", 0, "approve", "pass"),
        ("a", "restricted", 1, "reject", "fail"),
        ("b", "restricted", 0, "reject", "fail"),
    ]


def test_a_word_of_theirs_may_hold_an_equals_sign_or_a_colon(put: Put) -> None:
    path = put("task,verdict,grade\na,x=y:z,fail\n")
    assert rows(path, read_mapping(values=["verdict:x=y:z=approve"]))[0][3] == "approve"


def test_only_takes_one_of_several(put: Put) -> None:
    path = put("task,verdict,grade,model\na,approve,fail,m1\na,reject,fail,m2\n")
    found = read_dataset(path, read_mapping(only=["model=m2"]))
    assert [row.verdict for row in found.rows] == ["reject"]
    assert "1 of 2 records taken: model m2" in found.notes
    with pytest.raises(RecordError, match=r"no record has this `model`; got 'm3'.*m1, m2"):
        read_dataset(path, read_mapping(only=["model=m3"]))


def test_an_empty_column_leaves_a_field_out(put: Put) -> None:
    path = put("task,verdict,grade,score\na,approve,fail,high\n")
    with pytest.raises(RecordError, match="not a value of `score`"):
        read_dataset(path)
    assert read_dataset(path, read_mapping(columns=["score="])).rows[0].score is None


def test_a_constant_stands_for_a_column(put: Put) -> None:
    path = put("task,grade,condition\na,fail,theirs\n")
    (row,) = read_dataset(path, read_mapping(constants=["verified=no", "condition=solo"])).rows
    assert (row.verdict, row.verified, row.condition) == ("missing", False, "solo")


def test_trials_by_their_order_count_for_each_condition_and_source(put: Put) -> None:
    path = put(
        "task,verdict,grade,condition,model\n"
        "a,reject,fail,solo,m\na,reject,fail,solo,m\na,reject,fail,no-plan,m\na,reject,fail,solo,n\n"
    )
    found = read_dataset(path, RecordMapping(trials_by_order=True)).rows
    assert [row.trial for row in found] == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"columns": ["verdict"]}, "--map: no `=`"),
        ({"columns": ["verdct=a"]}, "mapping: map: no such field; got 'verdct'"),
        ({"columns": ["task=a", "task=b"]}, "--map task=b: said twice"),
        ({"values": ["verdict=approve"]}, "--value: not of this form.*FIELD:THEIRS=OURS"),
        ({"values": ["verdict:a=approve", "verdict:a=reject"]}, "--value.*said twice"),
        ({"values": ["verdict:a=aprove"]}, "values: not a value of `verdict`; got 'aprove'"),
        ({"values": ["grade:a=approve"]}, "values: not a value of `grade`"),
        ({"constants": ["trial=x"]}, "const: not a value of `trial`"),
        ({"only": ["isolated=maybe"]}, "only: not a value of `isolated`"),
        ({"columns": ["task=a"], "constants": ["task=b"]}, "both a column and a constant"),
        ({"columns": ["trial=a"], "trials_by_order": True}, "trials come both"),
    ],
)
def test_options_that_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        read_mapping(**given)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a", "m.yaml: not a mapping"),
        ("maps: {}", "m.yaml: unknown key; got 'maps'"),
        ("map: [a]", "m.yaml: map: not a mapping"),
        ("map: {task: [a]}", "m.yaml: map.task: neither text"),
        ("map: {taks: a}", "no such field; got 'taks'"),
        ("values: {verdict: approve}", "m.yaml: values.verdict: not a mapping"),
        ("values: {verdict: {a: yes}}", "values.verdict.a: neither text.*quote"),
        ("values: {verdict: {a: approve, a: reject}}", "duplicate key 'a'"),
        ("trials_by_order: 1", "trials_by_order: not a truth value"),
        ("map: {task: a", "m.yaml:1: not acceptable YAML"),
    ],
)
def test_files_that_are_refused(put: Put, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        read_mapping(put(text, "m.yaml"))
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"columns": {"verdict": "nowhere"}}, ":1: no column for `verdict`.*'nowhere'"),
        ({"values": {"trust": {"a": "outside"}}}, ":1: something is said of `trust`"),
        ({"only": {"model": "m"}}, ":1: something is said of `model`"),
    ],
)
def test_what_is_said_of_no_column_is_refused(put: Put, given: Any, words: str) -> None:
    path = put("task,verdict,grade\na,approve,fail\n")
    with pytest.raises(RecordError, match=words):
        read_dataset(path, RecordMapping(**given))
