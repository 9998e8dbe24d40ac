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
  condition: {x: enforced, y: no-plan}
"""
READ = [("a", "enforced", 1, "approve", "pass"), ("a", "enforced", 2, "reject", "fail"),
        ("b", "no-plan", 1, "missing", "fail")]  # fmt: skip

OUTCOMES = {"verdict": "reject", "grade": "fail", "error": "", "score": "1", "edits": "0",
            "landed": "0", "attempts": "0"}  # fmt: skip


def rows(path: Any, mapping: RecordMapping) -> list[tuple[object, ...]]:
    found = read_dataset(path, mapping).rows
    return [(r.task, r.condition, r.trial, r.verdict, r.grade) for r in found]


def test_a_file_says_all_of_it(put: Put) -> None:
    assert rows(put(THEIRS), read_mapping(put(FILE, "m.yaml"))) == READ


def test_options_say_the_same(put: Put) -> None:
    mapping = read_mapping(
        columns=["task=id", "verdict=decision", "grade=tests_ok", "condition=arm", "trial=n"],
        values=["verdict:LGTM=approve", "verdict:nope=reject", "verdict:=missing", "grade:1=pass",
                "grade:0=fail", "condition:x=enforced", "condition:y=no-plan"],
    )  # fmt: skip
    assert rows(put(THEIRS), mapping) == READ


def test_an_option_stands_above_the_file(put: Put) -> None:
    mapping = read_mapping(
        put(FILE, "m.yaml"),
        values=["verdict:=reject"],
        constants=["condition=prompt-only"],
        trials_by_order=True,
    )
    assert rows(put(THEIRS), mapping) == [
        ("a", "prompt-only", 0, "approve", "pass"),
        ("a", "prompt-only", 1, "reject", "fail"),
        ("b", "prompt-only", 0, "reject", "fail"),
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
        "a,reject,fail,x,m\na,reject,fail,x,m\na,reject,fail,no-plan,m\na,reject,fail,x,n\n"
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
        *[
            ({"only": [f"{name}={value}"]}, f"not chosen by what came of them; got '{name}'")
            for name, value in OUTCOMES.items()
        ],
        ({"values": ["trust:untrusted=outside"]}, "a word of `trust`.*'untrusted=outside'"),
        ({"values": ["trust:untrusted="]}, "a word of `trust` that is to mean another"),
        ({"values": ["verdict:missing=reject"]}, "a word of `verdict` that is to mean another"),
        ({"values": ["grade:error=pass"]}, "a word of `grade` that is to mean another"),
        ({"values": ["verified:no=yes"]}, "a word of `verified` that is to mean another"),
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
        ("maps: {}", "m.yaml: maps: unknown key; got 'maps'; expected one of map, values"),
        ("map: [a]", "m.yaml: map: not acceptable.*expected a mapping"),
        ("map: {task: [a]}", "m.yaml: map.task: neither text"),
        ("map: {taks: a}", "m.yaml: map: no such field; got 'taks'"),
        ("only: null", "m.yaml: only: not acceptable.*expected a mapping"),
        ("values: {verdict: approve}", "m.yaml: values.verdict: not acceptable.*a mapping"),
        ("values: {grade: {a: approve}}", "m.yaml: values: not a value of `grade`"),
        ("{map: {task: a}, const: {task: b}}", "m.yaml: `task` has both a column"),
        ("{map: {task: [a]}, only: {model: 1.5}}", "map.task: neither.*also wrong: only.model"),
        ("values: {verdict: {a: yes}}", "values.verdict.a: neither text.*quote"),
        ("values: {verdict: {a: approve, a: reject}}", "duplicate key 'a'"),
        ("trials_by_order: 1", "m.yaml: trials_by_order: not acceptable; got 1"),
        ("map: {task: a", "m.yaml:1: not acceptable YAML"),
        ("only: {verdict: reject}", "m.yaml: only: records are not chosen by what came of them"),
        ("values: {grade: {error: fail}}", "m.yaml: values: a word of `grade`"),
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


@pytest.mark.parametrize("field", ["error", "trust"])
@pytest.mark.parametrize(
    "given", [{"columns": {}}, {"constants": {}}, {"columns": {"model": ""}}, {"file": "map"},
              {"file": "const"}],
)  # fmt: skip
def test_a_column_of_errors_or_of_trust_is_never_left_out(
    put: Put, field: str, given: dict[str, Any]
) -> None:
    path = put(f"task,verdict,grade,{field},other\na,reject,fail,,\nb,approve,fail,untrusted,\n")
    if key := given.get("file"):
        mapping = read_mapping(put(f"{key}: {{{field}: ''}}", "m.yaml"))
    elif "model" in given.get("columns", {}):
        mapping = RecordMapping(columns={field: "other"})
    else:
        mapping = RecordMapping(**{name: {field: ""} for name in given})
    with pytest.raises(RecordError, match=f":1: a column of `{field}` that is left out"):
        read_dataset(path, mapping)
    assert len(read_dataset(path, RecordMapping(columns={field: field})).rows) == 2


def test_nor_is_one_that_only_later_records_have(put: Put) -> None:
    one = '{"task": "t", "verdict": "reject", "grade": "fail"}'
    for key in ("error", "Error", "trust"):
        more = one.replace("}", f', "{key}": "gone"}}').replace('"t"', '"u"')
        path = put([one, more], "r.jsonl")
        with pytest.raises(RecordError, match=f":2: a column of `{key.lower()}` that is left out"):
            read_dataset(path, RecordMapping(columns={key.lower(): ""}))


def test_words_that_are_read_as_no_error_are_named(put: Put) -> None:
    path = put("task,verdict,grade,error\na,reject,fail,0\nb,approve,fail,boom\n")
    found = read_dataset(path, read_mapping(values=["error:0=", "error:boom="]))
    assert "read as no error: 0, boom" in found.notes
    assert not any("no error" in note for note in read_dataset(path).notes)


@pytest.mark.parametrize("field", ["condition", "team", "task"])
def test_nothing_is_chosen_by_way_of_an_outcomes_column(put: Put, field: str) -> None:
    path = put("id,verdict,score,grade\na,reject,0,fail\n")
    columns = {"task": "id", field: "verdict"}
    with pytest.raises(RecordError, match=f"`{field}` is read from the column of the `verdict`"):
        read_dataset(path, RecordMapping(columns=columns))
    both = RecordMapping(
        columns={"task": "id", "grade": "score"}, values={"grade": {"0": "fail", "1": "pass"}}
    )
    (row,) = read_dataset(path, both).rows
    assert (row.grade, row.score) == ("fail", 0.0)
