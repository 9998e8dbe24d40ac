"""Points 2, 3 and 5 of the specification."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, "")
from ledger import Ledger

with tempfile.TemporaryDirectory() as made:
    path = Path(made, "l.db")
    first = Ledger(path)
    first.open_account("a")
    try:
        first.apply("e0", "b", 1)
    except KeyError:
        pass
    else:
        raise AssertionError("an unknown account must be refused")
    assert first.apply("e1", "a", 7), "the first time must be booked"
    again = Ledger(path)
    again.open_account("a")
    assert not again.apply("e1", "a", 7), "booked again after a restart"
    assert again.balance("a") == 7, "the balance is wrong after a restart"
