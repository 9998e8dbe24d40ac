"""Every point of the specification."""

import sys

sys.path.insert(0, "")
from usage import daily_totals

summer = daily_totals([("2024-06-30T22:30:00Z", 1)], "Mitte")
assert summer == [("2024-07-01", 1)], f"summer time is not observed (2): {summer}"
winter = daily_totals([("2024-01-01T22:30:00Z", 1), ("2024-01-01T23:30:00Z", 4)], "Mitte")
assert winter == [("2024-01-01", 1), ("2024-01-02", 4)], f"winter time (2): {winter}"
change = daily_totals([("2024-03-30T23:30:00Z", 1), ("2024-03-31T22:30:00Z", 2)], "Mitte")
assert change == [("2024-03-31", 1), ("2024-04-01", 2)], f"the day of the change (2): {change}"
island = daily_totals([("2024-05-01T09:00:00Z", 2), ("2024-05-01T10:00:00Z", 1)], "Island")
assert island == [("2024-04-30", 2), ("2024-05-01", 1)], f"west of Greenwich (2): {island}"
events = [("2024-05-01T01:30:00+05:00", 3), ("2024-05-01T01:00:00+02:00", 2)]
offsets = daily_totals(events, "Mitte")
assert offsets == [("2024-04-30", 3), ("2024-05-01", 2)], f"an event's own offset (1): {offsets}"
events = [("2024-01-04T12:00:00Z", 5), ("2024-01-01T12:00:00Z", 1), ("2024-01-01T13:00:00Z", 2)]
gap = daily_totals(events, "Mitte")
wanted = [("2024-01-01", 3), ("2024-01-02", 0), ("2024-01-03", 0), ("2024-01-04", 5)]
assert gap == wanted, f"sums, order, or a day without usage (3, 4): {gap}"
assert daily_totals([], "Mitte") == [], "no events, an empty list (4)"
assert isinstance(gap, list), "a list (4)"
try:
    daily_totals([("2024-01-01T12:00:00", 1)], "Mitte")
except ValueError:
    pass
else:
    raise AssertionError("a time without an offset must be refused (5)")
