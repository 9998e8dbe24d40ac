"""Points 2 and 4 of the specification."""

import sys

sys.path.insert(0, "")
from settings import merge

base = {"list": [1]}
merge(base, {})["list"].append(2)
assert base == {"list": [1]}, "the result shares a list with its argument"
assert merge({}, {"a": {"b": None}}) == {"a": {}}, "None must remove at every depth"
