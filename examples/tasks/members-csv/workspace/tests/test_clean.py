import csv
import re
from pathlib import Path


def rows(name):
    with Path(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_no_address_occurs_twice():
    addresses = [row["email"] for row in rows("clean.csv")]
    assert len(addresses) == len(set(addresses)) == 4


def test_addresses_and_dates_are_normal():
    for row in rows("clean.csv"):
        assert row["email"] == row["email"].strip().lower() != ""
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", row["joined"])


def test_unusable_rows_are_set_aside():
    assert {row["id"] for row in rows("rejected.csv")} == {"4", "21"}
