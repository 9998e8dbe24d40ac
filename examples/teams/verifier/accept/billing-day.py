"""Points 2 and 3 of the specification."""

import sys

sys.path.insert(0, "")
from usage import daily_totals

summer = daily_totals([("2024-06-30T22:30:00Z", 1)], "Mitte")
assert summer == [("2024-07-01", 1)], f"summer time is not observed: {summer}"
gap = daily_totals([("2024-01-01T12:00:00Z", 1), ("2024-01-03T12:00:00Z", 1)], "Mitte")
assert ("2024-01-02", 0) in gap, "a day without usage is missing"
