"""Points 2 and 4 of the specification."""

import sys

sys.path.insert(0, "")
from consumer import read

assert read('{"id": "p", "amount": 19.99}').cents == 1999, "19.99 must be 1999 cents"
for text in ('{"v": 9, "id": "p", "amount_cents": 1, "currency": "EUR"}', '{"id": "p"}', "[1]"):
    try:
        read(text)
    except ValueError:
        continue
    raise AssertionError(f"must be refused: {text}")
