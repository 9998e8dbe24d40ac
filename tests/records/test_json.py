"""JSON lines and arrays of another harness, and what is told apart from them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolewall.errors import RecordError, RolewallError
from rolewall.records import RecordMapping, read_dataset

if TYPE_CHECKING:
    from conftest import Put

ONE = {"task": "t", "verdict": "reject", "grade": "fail"}


def lines(*records: object) -> list[str]:
    return [json.dumps(record) for record in records]


def test_values_of_every_kind(put: Put) -> None:
    record = {**ONE, "trial": 2.0, "score": 0.5, "isolated": True, "error": None, "edits": 0}
    (row,) = read_dataset(put(lines(record))).rows
    assert (row.trial, row.score, row.isolated, row.error, row.edits) == (2, 0.5, True, None, 0)


def test_truth_values_and_numbers_are_words_too(put: Put) -> None:
    mapping = RecordMapping(
        columns={"grade": "passed", "verdict": "ok"},
        values={"grade": {"true": "pass", "false": "fail"},
                "verdict": {"1": "approve", "0": "reject", "": "missing"}},
    )  # fmt: skip
    path = put(
        lines(
            {"task": "a", "passed": True, "ok": 1},
            {"task": "b", "passed": False, "ok": 0.0},
            {"task": "c", "passed": False, "ok": None},
            {"task": "d", "passed": False},
        )
    )
    assert [(r.grade, r.verdict) for r in read_dataset(path, mapping).rows] == [
        ("pass", "approve"),
        ("fail", "reject"),
        ("fail", "missing"),
        ("fail", "missing"),
    ]


def test_a_path_reaches_into_objects_and_a_key_with_dots_stands_before_it(put: Put) -> None:
    mapping = RecordMapping(columns={"verdict": "judge.says.first", "grade": "a.b"})
    record = {"task": "t", "judge": {"says": {"first": "approve"}}, "a": {"b": "fail"}}
    path = put(lines(record, {**record, "task": "u", "a.b": "pass"}))
    rows = read_dataset(path, mapping).rows
    assert [(r.verdict, r.grade) for r in rows] == [("approve", "fail"), ("approve", "pass")]


def test_an_array_is_a_table_too(put: Put) -> None:
    found = read_dataset(put(json.dumps([ONE, {**ONE, "task": "u"}], indent=1), "r.json"))
    assert ([row.task for row in found.rows], found.origin) == (["t", "u"], "table")


def test_what_only_some_records_have(put: Put) -> None:
    path = put(lines({"task": "e", "error": "box lost", "note": [1]}, ONE, {**ONE, "task": "u"}))
    broken, *whole = read_dataset(path).rows
    assert (broken.error, broken.verdict, broken.grade) == ("box lost", "missing", "error")
    assert [row.error for row in whole] == [None, None]


def test_an_error_of_many_lines_is_known_by_the_first(put: Put) -> None:
    (row,) = read_dataset(put(lines({**ONE, "error": "502\n" + "x" * 5000}))).rows
    assert row.error == "502"


REFUSED: dict[str, tuple[Any, str]] = {
    "no JSON": (["{", "}x"], "not JSON"),
    "a broken line": ([*lines(ONE), '{"task": "u",'], ":2:.*not JSON"),
    "two in a line": ([*lines(ONE), json.dumps(ONE) * 2], ":2:.*not JSON: more than one value"),
    "no object": ([*lines(ONE), "[1]"], ":2: not a record"),
    "a key twice": ([*lines(ONE), '{"task": "u", "task": "v"}'], ":2:.*duplicate key 'task'"),
    "NaN": ([*lines(ONE), json.dumps({**ONE, "task": "u", "score": float("nan")})],
            ":2:.*NaN is no number"),
    "NaN in the first": (lines({**ONE, "score": float("nan")}), "NaN is no number"),
    "an overflow": ([json.dumps({**ONE, "score": 7}).replace("7", "1e999")],
                    ":1: `score` is no single value; got 'inf'"),
    "a huge number": ([json.dumps({**ONE, "trial": 7}).replace("7", "9" * 5000)], "digits"),
    "an object": (lines({**ONE, "verdict": {"a": 1}}), ":1: `verdict` is no single.*an object"),
    "an array": (lines({**ONE, "grade": ["fail"]}), ":1: `grade` is no single.*an array"),
    "half a pair": (lines({**ONE, "task": "\ud800"}), ":1: .*task.*surrogate"),
    "no text": ([json.dumps(ONE).encode() + b"\n\xff{}\n"], ":2: not text"),
    "a long line": (lines(ONE, {**ONE, "task": "u", "x": "y" * (1 << 20)}), ":2: too long a line"),
    "deep": ([*lines(ONE), "[" * 100_000], ":2: not acceptable JSON"),
    "no verdict": (lines(ONE, {"task": "u", "grade": "fail"}), ":2: no `verdict`"),
    "no key": (lines({"task": "t", "grade": "fail", "v": 1}),
               ":1: no column `verdict`; got 'task, grade, v'"),
    "a late condition": (lines(ONE, {**ONE, "task": "u", "condition": "solo"}),
                         ":2: a `condition`, which the first record has not"),
    "a lost condition": (lines({**ONE, "condition": "no-plan"}, {**ONE, "task": "u"}),
                         ":2: no `condition`"),
    "an episode twice": (lines(ONE, ONE), ":2: two records of one episode.*line 1"),
    "a document": (json.dumps({"a": 1, "b": []}, indent=1), "no records that are known.*keys a, b"),
    "a number": ("[1]", ":1: not a record"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_at_its_line(put: Put, name: str) -> None:
    content, words = REFUSED[name]
    if isinstance(content, list) and isinstance(content[0], bytes):
        content = content[0]
    with pytest.raises(RecordError, match=f"(?s)records.jsonl.*{words}") as refused:
        read_dataset(put(content, "records.jsonl"))
    assert refused.value.exit_code == 2
    assert len(str(refused.value)) < 600


def test_a_key_that_no_record_has_is_refused(put: Put) -> None:
    with pytest.raises(RecordError, match=r"no record has this key; got 'scroe'; expected task"):
        read_dataset(put(lines(ONE)), RecordMapping(columns={"score": "scroe"}))


def test_our_own_records_need_no_mapping(put: Put) -> None:
    with pytest.raises(RecordError, match="unknown schema version"):
        read_dataset(put(lines({**ONE, "schema_version": 7})))
    keys = ["key", "team", "condition", "trial", "seed", "backend", "image", "started", "ended",
            "status", "trust"]  # fmt: skip
    named = dict.fromkeys(keys, "x")
    with pytest.raises(RecordError, match="own records need no mapping"):
        read_dataset(put(lines({**ONE, **named})), RecordMapping(trials_by_order=True))


def test_a_version_of_theirs_is_theirs_where_a_mapping_says_so(put: Put) -> None:
    path = put(lines({**ONE, "schema_version": 7}))
    assert read_dataset(path, RecordMapping(constants={"condition": "no-plan"})).origin == "table"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["task", "verdict", "grade", "trial", "error", "runs", "eval", "x"]),
            st.one_of(
                st.none(), st.booleans(), st.integers(), st.floats(),
                st.sampled_from(["approve", "fail", "pass", "t", ""]), st.lists(st.none()),
            ),
        ),
        max_size=3,
    )
)  # fmt: skip
def test_any_objects_are_read_or_refused(put: Put, records: list[dict[str, Any]]) -> None:
    for content in (lines(*records), json.dumps(records)):
        try:
            read_dataset(put(content))
        except RolewallError as error:
            assert error.exit_code == 2
