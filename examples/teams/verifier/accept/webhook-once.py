"""Every point of the specification."""

import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, "")
from ledger import Ledger


def refused(error, call, *arguments):
    try:
        call(*arguments)
    except error:
        return True
    return False


with tempfile.TemporaryDirectory() as made:
    path = Path(made, "l.db")
    first = Ledger(path)
    first.open_account("a")
    assert first.balance("a") == 0, "a new account is empty (5)"
    assert first.apply("e1", "a", 7) is True, "the first time is booked (1)"
    assert first.apply("e1", "a", 7) is False, "booked once (1)"
    assert first.balance("a") == 7, "the amount is booked (1)"
    again = Ledger(path)
    again.open_account("a")
    assert again.balance("a") == 7, "opened again, an account keeps its balance (2, 5)"
    assert again.apply("e1", "a", 7) is False, "booked again after a restart (2)"
    assert again.balance("a") == 7, "the balance is wrong after a restart (2)"
    assert refused(KeyError, first.apply, "e2", "b", 1), "an unknown account (3)"
    first.open_account("b")
    assert first.apply("e2", "b", 1) is True, "a booking that failed can be made later (3)"
    assert Ledger(path).balance("b") == 1, "it is made once (3)"
    assert refused(ValueError, first.apply, "e1", "a", 8), "another amount (4)"
    assert refused(ValueError, first.apply, "e1", "b", 7), "another account (4)"
    assert (first.balance("a"), first.balance("b")) == (7, 1), "and nothing is booked (4)"
    assert refused(KeyError, first.balance, "none"), "an unknown account has no balance"
    booked, together = [], threading.Barrier(4)

    def book():
        mine = Ledger(path)
        together.wait()
        booked.append(mine.apply("e3", "a", 5))

    threads = [threading.Thread(target=book) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(booked) == [False, False, False, True], f"at once: {booked} (2)"
    assert Ledger(path).balance("a") == 12, "booked once (2)"
