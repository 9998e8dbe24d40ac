from copy import deepcopy

from settings import merge

BASE = {"db": {"host": "a", "pool": {"min": 1, "max": 5}}, "tags": ["x"], "level": 3}


def test_deep_merge():
    merged = merge(BASE, {"db": {"pool": {"max": 9}}})
    assert merged["db"] == {"host": "a", "pool": {"min": 1, "max": 9}}


def test_the_arguments_stay():
    base, over = deepcopy(BASE), {"db": {"pool": {"max": None}}, "tags": ["y"]}
    before = deepcopy(over)
    merge(base, over)
    assert (base, over) == (BASE, before)


def test_the_result_shares_nothing():
    base, over = deepcopy(BASE), {"new": {"list": [1]}, "tags": [{"k": []}]}
    merged = merge(base, over)
    merged["db"]["pool"]["min"] = 0
    merged["new"]["list"].append(2)
    merged["tags"][0]["k"].append(3)
    assert base == BASE
    assert over == {"new": {"list": [1]}, "tags": [{"k": []}]}


def test_none_removes_at_every_depth():
    assert merge(BASE, {"db": {"pool": {"max": None}}})["db"]["pool"] == {"min": 1}
    assert merge({}, {"a": {"b": None, "c": 1}}) == {"a": {"c": 1}}
    assert merge({"a": 1}, {"a": {"b": None}}) == {"a": {}}


def test_a_mapping_over_a_value_and_back():
    assert merge({"a": 1}, {"a": {"b": 2}}) == {"a": {"b": 2}}
    assert merge({"a": {"b": 2}}, {"a": 1}) == {"a": 1}


def test_order():
    assert list(merge({"b": 1, "a": 2}, {"z": 1, "a": 3, "c": 4})) == ["b", "a", "z", "c"]
