"""Points 1, 2 and 3 of the specification."""

import sys

sys.path.insert(0, "")
from backoff import delays

assert delays(1, 1, 9) == [], "one attempt needs no wait"
assert delays(3, 8, 5) == [5, 5], "no wait may be above the cap"
try:
    delays(0, 1, 9)
except ValueError:
    pass
else:
    raise AssertionError("no attempt at all must be refused")
