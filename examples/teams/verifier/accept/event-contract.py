"""Every point of the specification."""

import json
import sys

sys.path.insert(0, "")
from consumer import Payment, read
from producer import message

made = json.loads(message("p1", 1999, "USD"))
assert made == {"v": 2, "id": "p1", "amount_cents": 1999, "currency": "USD"}, f"written: {made} (1)"
assert [type(made[key]) for key in ("v", "amount_cents")] == [int, int], "whole numbers (1)"
assert json.loads(message("p", -5))["currency"] == "EUR", "euros where nothing is said (1)"
for cents in (19.99, 5.0, True, "5", None):
    try:
        message("p", cents, "EUR")
    except ValueError:
        continue
    raise AssertionError(f"cents must be refused: {cents!r} (1)")
assert read(message("p2", 7, "CHF")) == Payment("p2", 7, "CHF"), "written and read again (2)"
for amount, cents in (("19.99", 1999), ("1.15", 115), ("0.29", 29), ("5", 500), ("-4.35", -435)):
    found = read(f'{{"id": "p", "amount": {amount}}}')
    assert found == Payment("p", cents, "EUR"), f"{amount} is {found} (2)"
    assert type(found.cents) is int, "whole cents (2)"
grown = '{"v": 2, "id": "p", "amount_cents": 1, "currency": "EUR", "new": {"a": []}}'
assert read(grown) == Payment("p", 1, "EUR"), "unknown fields are ignored (3)"
assert read('{"id": "p", "amount": 1, "note": "x"}').cents == 100, "unknown fields are ignored (3)"
for text in (
    '{"v": 9, "id": "p", "amount_cents": 1, "currency": "EUR"}',
    '{"v": "2", "id": "p", "amount_cents": 1, "currency": "EUR"}',
    '{"v": 3, "id": "p", "amount": 1}',
    '{"id": "p"}', '{"amount": 1}', '{"v": 2, "id": "p", "amount_cents": 1}',
    '{"v": 2, "id": "p", "currency": "EUR"}', '{"v": 2, "amount_cents": 1, "currency": "EUR"}',
    "[1]", "3", "null", '"text"', "no JSON", "",
):  # fmt: skip
    try:
        read(text)
    except ValueError:
        continue
    raise AssertionError(f"must be refused with ValueError: {text} (4)")
