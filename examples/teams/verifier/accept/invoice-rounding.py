"""Points 2 and 5 of the specification."""

import sys

sys.path.insert(0, "")
from invoice import total

assert total([("1.50", "3")] * 2) == "3.09", "tax must be rounded once for each rate"
assert total([]) == "0.00", "an empty invoice must total 0.00"
