"""Every point of the specification."""

import sys
from copy import deepcopy

sys.path.insert(0, "")
from settings import merge

CASES = [
    ({"a": 1, "b": 2}, {"b": 3}, {"a": 1, "b": 3}),
    (
        {"a": {"x": 1, "y": {"p": 1}}},
        {"a": {"y": {"q": 2}}},
        {"a": {"x": 1, "y": {"p": 1, "q": 2}}},
    ),
    ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
    ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
    ({"a": {"x": 1, "y": 2}}, {"a": {"x": None}}, {"a": {"y": 2}}),
    ({"a": 1}, {"zz": None}, {"a": 1}),
    ({}, {"a": {"b": None, "c": {"d": None}}}, {"a": {"c": {}}}),
    ({"a": 1}, {"a": {"x": None, "y": 1}}, {"a": {"y": 1}}),
    ({"a": {"x": 1}}, {"a": 5}, {"a": 5}),
    ({"a": {"x": 1}}, {"a": {}}, {"a": {"x": 1}}),
]
for base, over, wanted in CASES:
    before = deepcopy((base, over))
    found = merge(base, over)
    assert found == wanted, f"merge({base}, {over}) is {found} (1, 2, 3)"
    assert (base, over) == before, "an argument was changed (4)"
base, over = {"l": [1, [2]], "m": {"k": {}}, "n": {}}, {"o": [3], "p": {"q": [4]}, "n": {"r": [5]}}
before = deepcopy((base, over))
found = merge(base, over)
found["l"].append(0)
found["l"][1].append(0)
found["m"]["k"]["new"] = found["n"]["new"] = found["p"]["new"] = 0
for changed in (found["o"], found["p"]["q"], found["n"]["r"]):
    changed.append(0)
assert (base, over) == before, "the result shares something with an argument (4)"
kept = merge({"c": 1, "a": {"z": 1, "y": 2}, "b": 3}, {"d": 4, "a": {"x": 3, "z": 0}, "c": 5})
assert (list(kept), list(kept["a"])) == (["c", "a", "b", "d"], ["z", "y", "x"]), "another order (5)"
