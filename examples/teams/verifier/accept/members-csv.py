"""Points 3, 4 and 6 of the specification."""

import csv
from pathlib import Path

with Path("clean.csv").open(encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
by_email = {row["email"]: row for row in rows}
assert by_email["ana@example.org"]["id"] == "15", "the latest row of a member must be kept"
assert by_email["bo@example.org"]["joined"] == "2022-11-05", "05/11 is the fifth of November"
assert [int(row["id"]) for row in rows] == sorted(int(row["id"]) for row in rows), "not sorted"
